// GgufHeader: tensors that are accepted lie in the file, arrays decode to as many elements as they
// say, and look-ups of any type fail cleanly.
#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "formats/gguf.h"

namespace {

using quire::GgufArray;
using quire::GgufHeader;

void CheckArray(const GgufArray& array) {
  using Kind = GgufArray::Kind;
  const bool is_integer = array.kind == Kind::kSigned || array.kind == Kind::kUnsigned;
  const bool is_bool = array.kind == Kind::kBool;
  const auto want = [&](bool holds) { return holds ? array.count : 0; };
  QUIRE_CHECK(array.Integers().size() == want(is_integer || is_bool));
  QUIRE_CHECK(array.Floats().size() == want(is_integer || array.kind == Kind::kFloat));
  std::size_t bytes = 0;
  for (const std::string_view text : array.Strings()) bytes += 8 + text.size();
  if (array.kind == Kind::kString) QUIRE_CHECK(bytes == array.bytes.size());
  for (const GgufArray& inner : array.Arrays()) CheckArray(inner);
}

void CheckMetadata(const GgufHeader& header) {
  for (const auto& [key, value] : header.metadata()) {
    QUIRE_CHECK(quire::IsValidUtf8(key) && header.Find(key) == &value);
    const int typed = int{header.Int(key).ok()} + int{header.Bool(key).ok()} +
                      int{header.String(key).ok()} + int{header.Array(key) != nullptr};
    QUIRE_CHECK(typed == 1 || header.Number(key).ok());
    if (const GgufArray* array = header.Array(key)) CheckArray(*array);
  }
}

void CheckTensors(const GgufHeader& header, std::uint64_t file_bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const quire::TensorInfo& tensor : header.tensors()) {
    QUIRE_CHECK(quire::IsValidUtf8(tensor.name) && tensor.num_bytes > 0);
    QUIRE_CHECK(tensor.offset % header.alignment() == 0 && tensor.offset <= file_bytes);
    QUIRE_CHECK(tensor.num_bytes <= file_bytes - tensor.offset);
    ranges.emplace_back(tensor.offset, tensor.offset + tensor.num_bytes);
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    QUIRE_CHECK(ranges[i - 1].second <= ranges[i].first);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto header = GgufHeader::Parse(std::as_bytes(std::span(data, size)));
  if (header.ok()) {
    CheckMetadata(*header);
    CheckTensors(*header, size);
  } else {
    const std::string& message = header.status().message();
    QUIRE_CHECK(quire::IsValidUtf8(message) && message.size() < 1000);
  }
  return 0;
}
