// The safetensors format: a JSON header that names tensors, then their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/tensor_info.h"

namespace quire {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;                            // in order of offset
  std::vector<std::pair<std::string, std::string>> metadata;  // "__metadata__"
};

// Reads the header of a file of `file_bytes` bytes, whose first bytes (at least the header) are
// `bytes`; normally the whole mapped file. Offsets of the result count from the start of the file;
// the format does not align them. A shape may hold a 0, and its tensor then has no bytes.
//
// kDataLoss, naming the tensor and the reason, for what the format forbids: header truncated or
// longer than 100 MB, no object, duplicate names, unknown dtype, negative or overflowing shape,
// a size that is not shape times dtype, ranges that overlap, leave gaps or pass the end.
// Members of a tensor that the format does not know are passed over.
Result<SafetensorsHeader> ParseSafetensors(std::span<const std::byte> bytes,
                                           std::uint64_t file_bytes);

// The weight map of a sharded checkpoint's model.safetensors.index.json: tensor name to file name.
// File names must be plain names without a slash, so that none leads out of the folder; kDataLoss
// otherwise, and where there is no weight map or it is empty.
Result<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view json);

struct NamedArray {
  std::string name;
  std::vector<std::int64_t> shape;
  std::span<const float> values;
};

// The bytes of a safetensors file that holds `arrays` in their order as F32, little endian; the
// data begins at a multiple of 8. Each array has as many values as its shape says, and a name of
// its own.
std::vector<std::byte> SerializeSafetensors(std::span<const NamedArray> arrays);

}  // namespace quire
