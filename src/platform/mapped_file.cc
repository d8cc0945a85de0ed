#include "platform/mapped_file.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strings.h"
#include "platform/descriptor.h"

namespace quire {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 20;

Result<Descriptor> OpenToRead(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | flags);
  if (fd < 0) return SystemError(path, "open");
  return Descriptor(fd);
}

std::string_view KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

FileStamp StampOf(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .num_bytes = static_cast<std::uint64_t>(status.st_size),
          .modified_ns = nanoseconds(status.st_mtim),
          .changed_ns = nanoseconds(status.st_ctim)};
}

// Of the open file, which must be a regular one with something in it.
Result<FileStamp> StampOfRegular(const std::string& path, int fd) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) return SystemError(path, "examine");
  if (!S_ISREG(status.st_mode)) {
    return InvalidArgument(
        StrCat(Printable(path, 4096), ": is ", KindOf(status.st_mode), ", not a file"));
  }
  if (status.st_size == 0) return InvalidArgument(StrCat(Printable(path, 4096), ": is empty"));
  return StampOf(status);
}

// Reads `size` bytes, in chunks so that one call never moves more than the kernel's 2 GiB.
Status ReadAll(const std::string& path, int fd, std::byte* out, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::read(fd, out + done, std::min(kChunkBytes, size - done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "read");
    if (got == 0) {
      return DataLoss(
          StrCat(Printable(path, 4096), ": ended after ", done, " of its ", size, " bytes"));
    }
    done += static_cast<std::size_t>(got);
  }
  return Status();
}

Status Lock(const std::string& path, const std::byte* data, std::size_t size) {
  if (::mlock(data, size) == 0) return Status();
  const int error = errno;
  rlimit limit = {};
  std::string allowed = "unknown";
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    allowed = limit.rlim_cur == RLIM_INFINITY ? "unlimited" : HumanBytes(limit.rlim_cur);
  }
  return ResourceExhausted(StrCat(Printable(path, 4096), ": cannot lock ", HumanBytes(size),
                                  " in memory: ", std::generic_category().message(error),
                                  " (the limit on locked memory is ", allowed,
                                  "; raise it with ulimit -l)"));
}

}  // namespace

Status SystemError(const std::string& path, std::string_view action) {
  const int error = errno;
  std::string message = StrCat(Printable(path, 4096), ": cannot ", action, ": ",
                               std::generic_category().message(error));
  if (error == ENOENT || error == ENOTDIR) return NotFound(std::move(message));
  if (error == ENOMEM || error == ENOSPC || error == EMFILE || error == ENFILE) {
    return ResourceExhausted(std::move(message));
  }
  return InvalidArgument(std::move(message));
}

Result<FileStamp> StampOf(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return SystemError(path, "examine");
  return StampOf(status);
}

Result<MappedFile> MappedFile::Open(const std::string& path, const MapOptions& options) {
  // Without O_NONBLOCK a pipe that nobody writes to would never open.
  QUIRE_ASSIGN_OR_RETURN(const Descriptor file, OpenToRead(path, O_NONBLOCK));
  QUIRE_ASSIGN_OR_RETURN(const FileStamp stamp, StampOfRegular(path, file.get()));
  const std::size_t size = stamp.num_bytes;
  MappedFile result;
  result.stamp_ = stamp;
  void* data = options.use_mmap ? ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0)
                                : ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return SystemError(path, options.use_mmap ? "map" : "make room for");
  result.data_ = static_cast<const std::byte*>(data);
  result.size_ = size;
  result.is_mapping_ = options.use_mmap;
  // Hints: where the kernel declines them nothing is lost.
  ::madvise(data, size, MADV_HUGEPAGE);
  if (!options.use_mmap) {
    QUIRE_RETURN_IF_ERROR(ReadAll(path, file.get(), static_cast<std::byte*>(data), size));
    ::mprotect(data, size, PROT_READ);
  }
  if (options.lock) QUIRE_RETURN_IF_ERROR(Lock(path, result.data_, size));
  return result;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : stamp_(other.stamp_),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      is_mapping_(std::exchange(other.is_mapping_, false)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  MappedFile taken(std::move(other));
  stamp_ = taken.stamp_;
  std::swap(data_, taken.data_);
  std::swap(size_, taken.size_);
  std::swap(is_mapping_, taken.is_mapping_);
  return *this;  // what was ours goes with `taken`
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::Prefetch(std::size_t begin, std::size_t count) const {
  if (!is_mapping_ || begin >= size_) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t first = begin / page * page;
  const std::size_t end = begin + std::min(count, size_ - begin);
  ::madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_WILLNEED);
}

void MappedFile::Release(std::size_t begin, std::size_t count) const {
  // Memory of our own would lose its bytes, and a page that is only partly named may be in use.
  if (!is_mapping_ || begin >= size_) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = count >= size_ - begin ? size_ : begin + count;
  const std::size_t first = (begin + page - 1) / page * page;
  const std::size_t last = end == size_ ? end : end / page * page;
  if (first < last) {
    ::madvise(const_cast<std::byte*>(data_) + first, last - first, MADV_DONTNEED);
  }
}

Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  QUIRE_ASSIGN_OR_RETURN(const Descriptor file, OpenToRead(path, 0));
  struct stat status = {};
  if (::fstat(file.get(), &status) != 0) return SystemError(path, "examine");
  if (S_ISDIR(status.st_mode)) {
    return InvalidArgument(StrCat(Printable(path, 4096), ": is a folder, not a file"));
  }
  constexpr std::size_t kFirstBytes = 64 << 10;
  std::string text;
  // Pipes and the files of /proc have no size that could be asked for, so the end is found by
  // reading; one byte more than is known to be there finds it at once.
  std::size_t room = std::max(kFirstBytes, static_cast<std::size_t>(status.st_size) + 1);
  for (;;) {
    const std::size_t begin = text.size();
    if (begin > max_bytes) {
      return InvalidArgument(
          StrCat(Printable(path, 4096), ": is longer than the ", max_bytes, " bytes allowed"));
    }
    text.resize(begin + std::min({room, max_bytes - begin + 1, kChunkBytes}));
    const ssize_t got = ::read(file.get(), text.data() + begin, text.size() - begin);
    const int error = errno;
    text.resize(begin + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return text;
    errno = error;
    if (got < 0 && error != EINTR) return SystemError(path, "read");
    room = std::max(kFirstBytes, text.size());
  }
}

namespace {

Status WriteAll(const std::string& path, int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), std::min(kChunkBytes, bytes.size()));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return SystemError(path, "write");
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return Status();
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == path.npos ? "." : path.substr(0, slash + 1);
}

std::string NameOfDescriptor(int fd) { return StrCat("/proc/self/fd/", fd); }

// A file without a name in the folder of `path`; -1 where there can be none, or where /proc, by
// which it is named later, is absent.
int OpenNameless(const std::string& path, mode_t mode) {
  const int fd = ::open(FolderOf(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
  if (fd >= 0 && ::access(NameOfDescriptor(fd).c_str(), F_OK) == 0) return fd;
  if (fd >= 0) ::close(fd);
  return -1;
}

// Makes the rename itself last; some file systems cannot, and then it is as lasting as they make
// it.
void SyncFolderOf(const std::string& path) {
  const Descriptor file(::open(FolderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (file.get() >= 0) ::fsync(file.get());
}

}  // namespace

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      kind_(other.kind_),
      fd_(std::exchange(other.fd_, -1)) {}

NewFile::~NewFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  if (kind_ == Kind::kTemporary) ::unlink(temporary_.c_str());
}

Result<NewFile> NewFile::Create(const std::string& path) {
  static std::atomic<std::uint64_t> counter = 0;
  NewFile file(path, StrCat(path, ".", static_cast<std::int64_t>(::getpid()), "-",
                            counter.fetch_add(1), ".tmp"));
  struct stat status = {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    file.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd_ < 0) return SystemError(path, "write");
    return file;
  }
  const mode_t mode = exists ? status.st_mode & 0777 : 0666;
  file.kind_ = Kind::kNameless;
  file.fd_ = OpenNameless(path, mode);
  if (file.fd_ >= 0) return file;
  file.kind_ = Kind::kTemporary;
  file.fd_ = ::open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  if (file.fd_ < 0) return SystemError(path, "create");
  return file;
}

// rename() replaces what is there and linkat() does not, so a nameless file is named twice.
Status NewFile::GiveName() {
  if (kind_ == Kind::kNameless && ::linkat(AT_FDCWD, NameOfDescriptor(fd_).c_str(), AT_FDCWD,
                                           temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return SystemError(path_, "create");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) == 0) return Status();
  Status failed = SystemError(path_, "write");
  ::unlink(temporary_.c_str());
  return failed;
}

Status NewFile::Commit() {
  Status named = kind_ == Kind::kDirect ? Status() : GiveName();
  const int closed = ::close(std::exchange(fd_, -1));
  if (!named.ok()) return named;
  return closed == 0 ? Status() : SystemError(path_, "close");
}

Status WriteFile(const std::string& path, std::span<const std::byte> bytes) {
  QUIRE_ASSIGN_OR_RETURN(NewFile file, NewFile::Create(path));
  QUIRE_RETURN_IF_ERROR(WriteAll(path, file.fd(), bytes));
  struct stat status = {};
  const bool is_regular = ::fstat(file.fd(), &status) == 0 && S_ISREG(status.st_mode);
  if (is_regular && ::fsync(file.fd()) != 0) return SystemError(path, "sync");
  QUIRE_RETURN_IF_ERROR(file.Commit());
  if (is_regular) SyncFolderOf(path);
  return Status();
}

}  // namespace quire
