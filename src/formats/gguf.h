// The GGUF format, versions 2 and 3, little endian: metadata, tensor list, tensor bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "formats/tensor_info.h"

namespace quire {

struct GgufArray;

// A metadata value. Integers of every width are widened to 64 bits; strings are views of the file
// and need not be UTF-8, because vocabularies hold pieces of characters.
using GgufValue =
    std::variant<std::int64_t, std::uint64_t, double, bool, std::string_view, GgufArray>;

// An array keeps its elements in the file's bytes; typed access decodes them.
struct GgufArray {
  enum class Kind : std::uint8_t { kSigned, kUnsigned, kFloat, kBool, kString, kArray };
  Kind kind = Kind::kSigned;
  int element_bytes = 0;  // 0 for strings and arrays
  std::uint64_t count = 0;
  std::span<const std::byte> bytes;  // of the elements

  std::vector<std::int64_t> Integers() const;     // kSigned, kUnsigned, kBool; else empty
  std::vector<float> Floats() const;              // any numeric kind; else empty
  std::vector<std::string_view> Strings() const;  // kString; else empty
  std::vector<GgufArray> Arrays() const;          // kArray; else empty
};

// A parsed header; borrows the bytes it was parsed from.
class GgufHeader {
 public:
  // kDataLoss naming key or tensor and reason: bad magic or version, big endian, counts or lengths
  // past the end of the file, empty, overlong or duplicate keys or tensor names or such that are
  // not UTF-8, unknown types, dimensions of zero, overflowing shapes, rows that are no whole number
  // of blocks, misaligned, overlapping or out-of-range tensors, nesting of arrays past 4. Gaps
  // between tensors are allowed.
  static Result<GgufHeader> Parse(std::span<const std::byte> file);

  std::uint32_t version() const { return version_; }
  std::uint64_t alignment() const { return alignment_; }
  const std::vector<std::pair<std::string_view, GgufValue>>& metadata() const { return metadata_; }
  // In the order of the file's list; file_idx is 0.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }

  const GgufValue* Find(std::string_view key) const;  // null: absent
  // Typed look-ups: nullopt when absent, an error that names the key when of another type.
  Result<std::optional<std::int64_t>> Int(std::string_view key) const;
  Result<std::optional<double>> Number(std::string_view key) const;
  Result<std::optional<bool>> Bool(std::string_view key) const;
  Result<std::optional<std::string_view>> String(std::string_view key) const;
  const GgufArray* Array(std::string_view key) const;  // null: absent or no array

 private:
  std::uint32_t version_ = 0;
  std::uint64_t alignment_ = 32;
  std::vector<std::pair<std::string_view, GgufValue>> metadata_;
  std::vector<TensorInfo> tensors_;
};

// "…-00002-of-00005.gguf" as its parts; nullopt for a name that is not of a split file. The prefix
// keeps the folder where `file_name` has one.
struct GgufSplitName {
  std::string prefix;
  int index;  // from 1
  int count;
};
std::optional<GgufSplitName> ParseGgufSplitName(std::string_view file_name);

// The name of part `index` of the same split.
std::string GgufSplitFileName(const GgufSplitName& name, int index);

}  // namespace quire
