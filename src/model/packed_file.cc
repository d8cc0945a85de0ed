#include "model/packed_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include "base/strings.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

static_assert(std::endian::native == std::endian::little, "the file is written as it lies here");

constexpr std::array<char, 8> kMagic = {'Q', 'U', 'I', 'R', 'E', 'P', 'A', 'K'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kChunkBytes = std::size_t{1} << 20;  // what the second cache holds
constexpr std::size_t kTableStart = 128;
constexpr std::size_t kAlignment = 4096;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t chunk_bytes = kChunkBytes;
  Digest key;
  Digest source;
  std::uint64_t data_bytes = 0;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(Header) == 64);

struct StampRecord {
  Digest stamp;
  std::uint64_t checksum = 0;
};
static_assert(sizeof(StampRecord) == 24 && sizeof(Header) + sizeof(StampRecord) <= kTableStart);

std::size_t NumChunks(std::size_t data_bytes) {
  return (data_bytes + kChunkBytes - 1) / kChunkBytes;
}

std::size_t DataStart(std::size_t data_bytes) {
  const std::size_t end = kTableStart + NumChunks(data_bytes) * sizeof(std::uint64_t);
  return (end + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

std::uint64_t HeaderChecksum(Header header, const std::vector<std::uint64_t>& table) {
  header.checksum = 0;
  DigestBuilder all;
  all.Add(BytesOf(header));
  all.Add(std::as_bytes(std::span(table)));
  return all.Finish().low;
}

StampRecord RecordOf(const Digest& key, const Digest& stamp) {
  DigestBuilder both;
  both.AddValue(key);
  both.AddValue(stamp);
  return {stamp, both.Finish().low};
}

// Whether all of `out` could be read from `start` on.
bool ReadAt(int fd, std::span<std::byte> out, std::size_t start) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(start));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(got));
    start += static_cast<std::size_t>(got);
  }
  return true;
}

bool WriteAt(int fd, std::span<const std::byte> bytes, std::size_t start) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(start));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(put));
    start += static_cast<std::size_t>(put);
  }
  return true;
}

// For writing where that is allowed, else for reading; no link is followed and no pipe waited for.
Result<Descriptor> OpenCacheFile(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  int fd = ::open(path.c_str(), O_RDWR | kFlags);
  if (fd < 0 && errno != ENOENT) fd = ::open(path.c_str(), O_RDONLY | kFlags);
  if (fd < 0) return SystemError(path, "open");
  return Descriptor(fd);
}

// What decides a model's answers must be as hard to change as the model's own program.
Status CheckOwner(const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return DataLoss("is not a file");
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return DataLoss(StrCat("belongs to user ", status.st_uid));
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return DataLoss("may be written by others");
  return {};
}

}  // namespace

std::uint64_t PackedFileBytes(std::size_t data_bytes) { return DataStart(data_bytes) + data_bytes; }

Result<PackedFile> PackedFile::Open(const std::string& path, const Digest& key,
                                    std::size_t data_bytes) {
  QUIRE_ASSIGN_OR_RETURN(Descriptor descriptor, OpenCacheFile(path));
  PackedFile file(path, std::move(descriptor));
  QUIRE_RETURN_IF_ERROR(file.ReadHeader(key, data_bytes).With(path));
  return file;
}

// What must be there is known beforehand, so nothing that the file says is a size for anything.
Status PackedFile::ReadHeader(const Digest& key, std::size_t data_bytes) {
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0) return SystemError(path_, "examine");
  QUIRE_RETURN_IF_ERROR(CheckOwner(status));
  const std::uint64_t wanted = PackedFileBytes(data_bytes);
  if (static_cast<std::uint64_t>(status.st_size) != wanted) {
    return DataLoss(StrCat("has ", status.st_size, " bytes, must have ", wanted));
  }
  Header header;
  StampRecord record;
  checksums_.resize(NumChunks(data_bytes));
  if (!ReadAt(file_.get(), std::as_writable_bytes(std::span(&header, 1)), 0) ||
      !ReadAt(file_.get(), std::as_writable_bytes(std::span(&record, 1)), sizeof header) ||
      !ReadAt(file_.get(), std::as_writable_bytes(std::span(checksums_)), kTableStart)) {
    return DataLoss("cannot be read");
  }
  if (header.magic != kMagic || header.version != kVersion || header.chunk_bytes != kChunkBytes ||
      header.data_bytes != data_bytes || header.key != key) {
    return DataLoss("is another kind of file, or of another model");
  }
  if (header.checksum != HeaderChecksum(header, checksums_))
    return DataLoss("has a damaged header");
  origin_ = {.key = key, .source = header.source, .stamp = {}};
  if (record.checksum == RecordOf(key, record.stamp).checksum) origin_.stamp = record.stamp;
  return {};
}

Status PackedFile::Read(ThreadPool& pool, std::span<std::byte> out) const {
  constexpr std::size_t kNone = ~std::size_t{0};
  // Relaxed: the end of ForEach orders what threads have stored.
  std::atomic<std::size_t> damaged = kNone;
  const std::size_t start = DataStart(out.size());
  pool.ForEach(static_cast<std::int64_t>(checksums_.size()), [&](std::int64_t idx, int) {
    const auto chunk = static_cast<std::size_t>(idx);
    const std::size_t begin = chunk * kChunkBytes;
    const auto bytes = out.subspan(begin, std::min(kChunkBytes, out.size() - begin));
    if (damaged.load(std::memory_order_relaxed) != kNone) return;
    if (!ReadAt(file_.get(), bytes, start + begin) || ChecksumOf(bytes) != checksums_[chunk]) {
      damaged.store(begin, std::memory_order_relaxed);
    }
  });
  if (damaged == kNone) return {};
  return DataLoss(StrCat(path_, ": is damaged or cannot be read at byte ", start + damaged));
}

void PackedFile::SetStamp(const Digest& stamp) const {
  WriteAt(file_.get(), BytesOf(RecordOf(origin_.key, stamp)), sizeof(Header));
}

void PackedFile::MarkUsed() const { ::futimens(file_.get(), nullptr); }

namespace {

// The file's bytes but for its data.
std::vector<std::byte> FrontOf(const PackedOrigin& origin, std::size_t data_bytes,
                               const std::vector<std::uint64_t>& table) {
  Header header = {.key = origin.key, .source = origin.source, .data_bytes = data_bytes};
  header.checksum = HeaderChecksum(header, table);
  const StampRecord record = RecordOf(origin.key, origin.stamp);
  std::vector<std::byte> front(DataStart(data_bytes));
  std::memcpy(front.data(), &header, sizeof header);
  std::memcpy(front.data() + sizeof header, &record, sizeof record);
  std::memcpy(front.data() + kTableStart, table.data(), table.size() * sizeof table[0]);
  return front;
}

// NewFile writes through what is a pipe or a device.
Status RemoveUnlessFile(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  return ::unlink(path.c_str()) == 0 ? Status() : SystemError(path, "replace");
}

// Fails at once where the disk is too full, not in the middle.
Status Reserve(const std::string& path, int fd, std::uint64_t num_bytes) {
  if (::fallocate(fd, 0, 0, static_cast<off_t>(num_bytes)) == 0) return {};
  if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
  return SystemError(path, "make room");
}

}  // namespace

Status WritePackedFile(const std::string& path, const PackedOrigin& origin,
                       std::span<const std::byte> data, const std::function<bool()>& go_on) {
  QUIRE_RETURN_IF_ERROR(RemoveUnlessFile(path));
  QUIRE_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path));
  if (::fchmod(file.fd(), S_IRUSR | S_IWUSR) != 0) return SystemError(path, "protect");
  QUIRE_RETURN_IF_ERROR(Reserve(path, file.fd(), PackedFileBytes(data.size())));
  const std::size_t start = DataStart(data.size());
  std::vector<std::uint64_t> table;
  for (std::size_t begin = 0; begin < data.size(); begin += kChunkBytes) {
    if (!go_on()) return Status(Code::kCancelled, StrCat(path, ": writing was cut off"));
    const auto chunk = data.subspan(begin, std::min(kChunkBytes, data.size() - begin));
    table.push_back(ChecksumOf(chunk));
    if (!WriteAt(file.fd(), chunk, start + begin)) return SystemError(path, "write");
  }
  if (!WriteAt(file.fd(), FrontOf(origin, data.size(), table), 0)) {
    return SystemError(path, "write");
  }
  // Not synced: what a crash of the machine leaves is checked like anything else.
  return file.Commit();
}

}  // namespace quire
