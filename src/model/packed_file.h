// A file of packed weights: the bytes of one PackedImage, with checksums.
//
//   0    magic "QUIREPAK", version u32, bytes of a chunk u32
//   16   key, source: 16 bytes each; bytes of data u64
//   56   xxh3 of all before and of the table
//   64   stamp: 16 bytes, and the xxh3 of key and stamp: the only part that is ever written again
//   128  table: the xxh3 of each chunk of data, u64
//   then zeros up to a multiple of 4096, then the data, to the end of the file
//
// Little-endian. Nothing in it is believed before it has been checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/digest.h"
#include "platform/descriptor.h"
#include "platform/thread_pool.h"

namespace quire {

// What a file says of the checkpoint that its data was packed from.
struct PackedOrigin {
  Digest key;     // what was cheap to look at, and how it was packed
  Digest source;  // all bytes that were packed
  Digest stamp;   // of the files that were last seen to hold these bytes; zero: not known
};

// One that was opened; any thread.
class PackedFile {
 public:
  // Checks all but the data. kNotFound where there is none; another code for a file that is
  // damaged, of another layout or size, or that others than its reader and root may write.
  static Result<PackedFile> Open(const std::string& path, const Digest& key,
                                 std::size_t data_bytes);

  const PackedOrigin& origin() const { return origin_; }

  // Reads all data to `out`, on all threads; an error where a chunk is damaged or short, and then
  // what stands in `out` is of no use.
  Status Read(ThreadPool& pool, std::span<std::byte> out) const;

  // Writes another stamp, and the time of use. Nothing is lost where that is not possible.
  void SetStamp(const Digest& stamp) const;
  void MarkUsed() const;

 private:
  PackedFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}
  Status ReadHeader(const Digest& key, std::size_t data_bytes);

  std::string path_;
  Descriptor file_;
  PackedOrigin origin_;
  std::vector<std::uint64_t> checksums_;  // of chunks
};

// Puts a file in its place, whole or not at all. Asks `go_on` before each chunk; kCancelled once it
// says no.
Status WritePackedFile(const std::string& path, const PackedOrigin& origin,
                       std::span<const std::byte> data, const std::function<bool()>& go_on);

// Bytes that such a file takes.
std::uint64_t PackedFileBytes(std::size_t data_bytes);

}  // namespace quire
