// ParseSafetensors and ParseSafetensorsIndex: tensors that are accepted lie in the file, apart
// from each other, with as many bytes as their shapes say.
#include <cstdint>
#include <span>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "formats/safetensors.h"

namespace {

using quire::TensorInfo;

void CheckTensors(const quire::SafetensorsHeader& header, std::uint64_t file_bytes) {
  std::uint64_t end = 0;
  for (const TensorInfo& tensor : header.tensors) {
    QUIRE_CHECK(tensor.offset >= end && tensor.offset <= file_bytes);
    QUIRE_CHECK(tensor.num_bytes <= file_bytes - tensor.offset);
    end = tensor.offset + tensor.num_bytes;
    std::int64_t values = 1;
    for (const std::int64_t dim : tensor.shape) values *= dim;
    QUIRE_CHECK(quire::BytesOf(tensor.type, values) == tensor.num_bytes);
  }
}

void CheckMessage(const quire::Status& status) {
  QUIRE_CHECK(quire::IsValidUtf8(status.message()) && status.message().size() < 1000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto header = quire::ParseSafetensors(std::as_bytes(std::span(data, size)), size);
  if (header.ok()) {
    CheckTensors(*header, size);
  } else {
    CheckMessage(header.status());
  }
  const auto index = quire::ParseSafetensorsIndex({reinterpret_cast<const char*>(data), size});
  if (index.ok()) {
    for (const auto& [tensor, file] : *index) QUIRE_CHECK(file.find('/') == file.npos);
  } else {
    CheckMessage(index.status());
  }
  return 0;
}
