// The reader of GGUF's metadata values; for gguf.cc alone.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/status.h"
#include "formats/gguf.h"

namespace quire {

static_assert(std::endian::native == std::endian::little, "values are copied out of the file");

// Takes values from the front of the file; each Read says no when too few bytes are left.
class GgufReader {
 public:
  explicit GgufReader(std::span<const std::byte> bytes) : all_(bytes) {}

  std::size_t position() const { return at_; }
  std::size_t remaining() const { return all_.size() - at_; }
  std::span<const std::byte> Since(std::size_t begin) const {
    return all_.subspan(begin, at_ - begin);
  }

  template <typename T>
  bool Read(T& out) {
    if (remaining() < sizeof(T)) return false;
    std::memcpy(&out, all_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return true;
  }

  bool Skip(std::uint64_t count) {
    if (remaining() < count) return false;
    at_ += count;
    return true;
  }

  bool ReadString(std::string_view& out) {
    std::uint64_t length = 0;
    if (!Read(length) || remaining() < length) return false;
    out = {reinterpret_cast<const char*>(all_.data() + at_), static_cast<std::size_t>(length)};
    at_ += length;
    return true;
  }

 private:
  std::span<const std::byte> all_;
  std::size_t at_ = 0;
};

// "the file ends inside WHAT".
Status GgufTruncated(std::string_view what);

// The type and the value of a metadata entry whose key has been read. All of an array's elements
// are checked here, so that whoever decodes them later need not.
Result<GgufValue> ReadGgufValue(GgufReader& reader);

}  // namespace quire
