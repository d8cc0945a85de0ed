// For the tests of models: folders that go away, small checkpoints in them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>

#include "formats/safetensors.h"

namespace quire {

// An empty folder, removed with all that is in it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "quire_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() { std::filesystem::remove_all(path_); }

  std::string Path(std::string_view name = "") const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

  // Writes a file, making the folders above it; gives back its path.
  std::string Write(std::string_view name, std::string_view text) const {
    const std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

 private:
  std::filesystem::path path_;
};

struct TestTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  float value = 0.0F;  // of all elements
};

// The bytes of a safetensors file of f32 tensors.
inline std::string SafetensorsOf(const std::vector<TestTensor>& tensors) {
  std::vector<std::vector<float>> values;
  std::vector<NamedArray> arrays;
  for (const TestTensor& tensor : tensors) {
    std::size_t size = 1;
    for (const std::int64_t dim : tensor.shape) size *= static_cast<std::size_t>(dim);
    values.emplace_back(size, tensor.value);
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    arrays.push_back({tensors[i].name, tensors[i].shape, values[i]});
  }
  const std::vector<std::byte> bytes = SerializeSafetensors(arrays);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace quire
