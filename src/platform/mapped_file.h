// A file's bytes in memory: mapped, or read whole where mapping is not wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"

namespace quire {

struct MapOptions {
  bool use_mmap = true;  // false: read into memory of our own (--no-mmap)
  bool lock = false;     // keep the bytes in RAM (--mlock); an error where the limit forbids it
};

// Which file a path leads to and in which state, as the file system tells: it changes when the
// file's bytes do, but for changes within one tick of the file system's clock, a few milliseconds.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t num_bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970; a program may set it
  std::int64_t changed_ns = 0;   // likewise; no program may

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
Result<FileStamp> StampOf(const std::string& path);

// Owns the bytes until it is destroyed; a moved-from one is empty. Read-only, so any thread.
// A file that shrinks under a mapping would fault: the length is checked at open only, as every
// mapping program does.
class MappedFile {
 public:
  // kNotFound; kInvalidArgument for what is no regular file, is empty or may not be read;
  // kResourceExhausted where memory or the limit on locked memory does not suffice. Messages name
  // the path.
  static Result<MappedFile> Open(const std::string& path, const MapOptions& options = {});

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  const FileStamp& stamp() const { return stamp_; }  // when it was opened

  // Asks the kernel to read bytes [begin, begin + count) ahead.
  void Prefetch(std::size_t begin, std::size_t count) const;

  // Tells the kernel that bytes [begin, begin + count) will not be read again soon; they stay
  // readable.
  void Release(std::size_t begin, std::size_t count) const;

 private:
  FileStamp stamp_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool is_mapping_ = false;
};

// The whole of a small file, or of a pipe; a longer one than `max_bytes` is an error. kNotFound, or
// kInvalidArgument for a folder and the like; messages name the path.
Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes = 1U << 30);

// A file that gets its name only once it is whole: where the file system can, it has none until
// Commit(), so that not even a killed program leaves a part of it; else it is a temporary one
// beside it, which goes away with this object. What is there already and no regular file (a pipe,
// /dev/stdout) is written to as it is and never replaced; a symbolic link to a regular file is
// replaced.
class NewFile {
 public:
  // kNotFound, or kInvalidArgument for a folder and the like; messages name the path.
  static Result<NewFile> Create(const std::string& path);

  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  int fd() const { return fd_; }  // open for writing until Commit()

  // All bytes are written: puts the file in its place. Nothing remains where it fails.
  Status Commit();

 private:
  enum class Kind { kDirect, kNameless, kTemporary };

  NewFile(std::string path, std::string temporary) noexcept
      : path_(std::move(path)), temporary_(std::move(temporary)) {}
  Status GiveName();

  std::string path_;
  std::string temporary_;
  Kind kind_ = Kind::kDirect;
  int fd_ = -1;
};

// Writes a NewFile and syncs it, so that nobody ever sees half a file.
Status WriteFile(const std::string& path, std::span<const std::byte> bytes);

}  // namespace quire
