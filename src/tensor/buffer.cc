#include <string>

#include <sys/mman.h>

#include "base/strings.h"
#include "tensor/tensor.h"

namespace quire {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kHugeFrom = 2 * kHugePage;  // smaller ones would waste too large a share

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

// A mapping of `num_bytes` that starts at a multiple of `alignment`, or null.
std::byte* Map(std::size_t num_bytes, std::size_t alignment) {
  const std::size_t slack = alignment > kPage ? alignment : 0;
  void* mapping = mmap(nullptr, num_bytes + slack, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(mapping);
  const auto address = reinterpret_cast<std::uintptr_t>(mapping);
  const std::size_t before = RoundUp(address, alignment) - address;
  if (before > 0) munmap(begin, before);
  if (slack > before) munmap(begin + before + num_bytes, slack - before);
  return begin + before;
}

}  // namespace

Result<Buffer> Buffer::Allocate(std::size_t num_bytes) {
  Buffer buffer;
  buffer.size_ = num_bytes;
  if (num_bytes == 0) return buffer;
  const bool is_huge = num_bytes >= kHugeFrom;
  const std::size_t alignment = is_huge ? kHugePage : kPage;
  const std::size_t mapped_bytes = RoundUp(num_bytes, alignment);
  std::byte* data = mapped_bytes < num_bytes ? nullptr : Map(mapped_bytes, alignment);
  if (data == nullptr) {
    return ResourceExhausted(StrCat("no room for ", HumanBytes(num_bytes), " of tensor memory"));
  }
  if (is_huge) madvise(data, mapped_bytes, MADV_HUGEPAGE);  // advice: either answer is right
  buffer.data_ = {data, Unmap{mapped_bytes}};
  return buffer;
}

void Buffer::Unmap::operator()(std::byte* data) const { munmap(data, num_bytes); }

}  // namespace quire
