// For the tests of formats and of those who need small files in them: files built byte by byte,
// right or wrong.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quire {

inline std::span<const std::byte> ViewBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// The bytes of a file; empty where it cannot be read.
inline std::string FileBytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A safetensors file of this header text and `data_bytes` zeros.
inline std::string SafetensorsFile(std::string_view header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(data_bytes, '\0');
  return file;
}

// Writes GGUF piece by piece; nothing is checked, so that tests can write what is wrong.
class GgufWriter {
 public:
  template <typename T>
  requires std::integral<T> || std::floating_point<T> GgufWriter& Put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  GgufWriter& Text(std::string_view text) {
    Put(std::uint64_t{text.size()});
    text_ += text;
    return *this;
  }

  GgufWriter& Preamble(std::uint64_t num_tensors, std::uint64_t num_metadata,
                       std::uint32_t version = 3) {
    text_ += "GGUF";
    return Put(version).Put(num_tensors).Put(num_metadata);
  }

  // One metadata entry of a plain type; `type` is the format's number.
  template <typename T>
  GgufWriter& Entry(std::string_view key, std::uint32_t type, T value) {
    return Text(key).Put(type).Put(value);
  }
  GgufWriter& StringEntry(std::string_view key, std::string_view value) {
    return Text(key).Put(std::uint32_t{8}).Text(value);
  }
  // The start of an array entry; its elements follow.
  GgufWriter& ArrayEntry(std::string_view key, std::uint32_t element_type, std::uint64_t count) {
    return Text(key).Put(std::uint32_t{9}).Put(element_type).Put(count);
  }

  // One entry of the tensor list; the dimensions are innermost first, as in the file.
  GgufWriter& Tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                     std::uint32_t type, std::uint64_t offset) {
    Text(name).Put(static_cast<std::uint32_t>(dims.size()));
    for (const std::uint64_t dim : dims) Put(dim);
    return Put(type).Put(offset);
  }

  // Zeros up to a multiple of `alignment`, then `data_bytes` more of them.
  GgufWriter& Data(std::size_t data_bytes, std::size_t alignment = 32) {
    text_.resize((text_.size() + alignment - 1) / alignment * alignment + data_bytes);
    return *this;
  }

  const std::string& text() const { return text_; }
  std::span<const std::byte> bytes() const { return ViewBytes(text_); }

 private:
  std::string text_;
};

}  // namespace quire
