// What the tests of kernels share: which tables to try, and values to try them on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "base/strings.h"
#include "kernels/table.h"

namespace quire::kernels {

// The ISA under test: that of QUIRE_CPU_ISA, or the fastest.
inline CpuIsa IsaUnderTest() {
  const char* wish = std::getenv("QUIRE_CPU_ISA");
  return *ChooseIsa(wish != nullptr ? std::optional<std::string_view>(wish) : std::nullopt);
}

inline const CpuTable& TableUnderTest() {
  static const CpuTable table = MakeTable(IsaUnderTest());
  return table;
}
inline const CpuTable& PortableTable() {
  static const CpuTable table = MakeTable(CpuIsa::kPortable);
  return table;
}

// Reproducible values, uniform in [-scale, scale).
inline std::vector<float> RandomFloats(std::int64_t count, std::uint64_t seed, float scale = 1.0F) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(2.0 * UniformDraw(seed, i, 0) - 1.0) * scale;
  }
  return values;
}

inline std::vector<std::byte> RandomBytes(std::size_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; i += 16) {
    const auto words =
        Philox({static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i >> 32), 0, 0},
               {static_cast<std::uint32_t>(seed), 1});
    std::memcpy(bytes.data() + i, words.data(), std::min<std::size_t>(16, count - i));
  }
  return bytes;
}

// Blocks of `type` with random codes and scales of moderate size: every f16 field is made finite.
inline std::vector<std::byte> RandomBlocks(DType type, std::int64_t num_blocks,
                                           std::uint64_t seed) {
  const int bytes = LayoutOf(type).block_bytes;
  std::vector<std::byte> blocks = RandomBytes(static_cast<std::size_t>(num_blocks * bytes), seed);
  std::vector<int> halves = {0};
  if (type == DType::kQ4_1 || type == DType::kQ5_1) halves = {0, 2};
  if (type == DType::kQ4_K || type == DType::kQ5_K) halves = {0, 2};
  if (type == DType::kQ2_K) halves = {80, 82};
  if (type == DType::kQ3_K) halves = {108};
  if (type == DType::kQ6_K) halves = {208};
  if (type == DType::kTQ1_0) halves = {52};
  if (type == DType::kTQ2_0) halves = {64};
  if (type == DType::kNVFP4) halves = {};
  for (std::int64_t b = 0; b < num_blocks; ++b) {
    std::byte* block = blocks.data() + b * bytes;
    // The high byte of a half: sign and exponent bits; 0x20 to 0x2B is about 2^-7 to 2^-4.
    for (const int at : halves) {
      if (type != DType::kMXFP4) {
        block[at + 1] = (block[at + 1] & std::byte{0x8B}) | std::byte{0x20};
      } else {
        block[at] = (block[at] & std::byte{7}) | std::byte{120};
      }
    }
  }
  return blocks;
}

// Whether both have the same bits, any NaN being equal to any other.
inline bool SameBits(float a, float b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
}
inline ::testing::AssertionResult SameBits(const std::vector<float>& a,
                                           const std::vector<float>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!SameBits(a[i], b[i])) {
      return ::testing::AssertionFailure() << "at " << i << ": " << a[i] << " and " << b[i];
    }
  }
  return ::testing::AssertionSuccess();
}

// Quantized types that have a product with int8 activations.
inline std::vector<DType> QuantTypes() {
  std::vector<DType> types;
  for (int i = 0; i < kNumDTypes; ++i) {
    if (PortableTable().quant[i].matmul != nullptr) types.push_back(static_cast<DType>(i));
  }
  return types;
}

// The folder of reference data, or nothing.
inline std::optional<std::filesystem::path> ReferenceData() {
  const char* given = std::getenv("QUIRE_TEST_DATA");
  std::filesystem::path path = given != nullptr && *given != 0 ? given : "";
  if (path.empty()) {
    const char* source = std::getenv("QUIRE_SOURCE_DIR");
    const std::filesystem::path root =
        source != nullptr
            ? source
            : std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
    path = root / ".." / "shared" / "data";
  }
  if (!std::filesystem::is_directory(path)) return std::nullopt;
  return path;
}

// The tensors of a well-formed safetensors file, as bytes: enough for reference data.
inline std::map<std::string, std::vector<std::byte>> ReadTensors(
    const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t header_bytes = 0;
  file.read(reinterpret_cast<char*>(&header_bytes), sizeof header_bytes);
  std::string header(header_bytes, ' ');
  file.read(header.data(), static_cast<std::streamsize>(header_bytes));
  const std::vector<char> data((std::istreambuf_iterator<char>(file)),
                               std::istreambuf_iterator<char>());
  std::map<std::string, std::vector<std::byte>> tensors;
  // Entries look like "name":{"dtype":…,"data_offsets":[begin,end]}.
  const std::string key = "\"data_offsets\":[";
  for (std::size_t at = header.find(key); at != std::string::npos; at = header.find(key, at + 1)) {
    const std::size_t open = header.rfind('{', at);
    const std::size_t name_end = header.rfind('"', open);
    const std::size_t name_begin = header.rfind('"', name_end - 1) + 1;
    std::size_t used = 0;
    const std::string numbers = header.substr(at + key.size());
    const std::size_t begin = std::stoull(numbers, &used);
    const std::size_t end = std::stoull(numbers.substr(used + 1));
    std::vector<std::byte>& bytes = tensors[header.substr(name_begin, name_end - name_begin)];
    bytes.resize(end - begin);
    std::memcpy(bytes.data(), data.data() + begin, end - begin);
  }
  return tensors;
}

}  // namespace quire::kernels
