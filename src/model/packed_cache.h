// Packed weights kept from one start to the next, so that loading reads instead of repacking.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "model/checkpoint.h"
#include "model/digest.h"
#include "model/packed_file.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace quire {

struct PackedCacheOptions {
  std::string folder = {};                              // made when needed; empty: no cache
  std::uint64_t max_bytes = std::uint64_t{16} << 30;    // of all files in it
  std::size_t min_image_bytes = std::size_t{16} << 20;  // smaller ones pack in no time
};

// One matrix of an image.
struct PackedMatrix {
  std::string name;
  const TensorInfo* tensor;
  ConstTensorView source;     // its rows of the tensor
  std::size_t num_bytes = 0;  // packed
  std::size_t start = 0;      // in the image, a multiple of 64
};

// All packed matrices of a model, one after another in one piece of memory.
struct PackedImage {
  std::vector<PackedMatrix> matrices;
  std::shared_ptr<Buffer> memory;  // null for none
};

// A file that a thread writes, a little at a time, so that it is not noticed beside those that
// compute. Destruction gives it a second to end without such regard, then takes away what it has.
class BackgroundWrite {
 public:
  // Writes all of `memory`, which it keeps alive.
  BackgroundWrite(const PackedCacheOptions& options, const std::string& path,
                  const PackedOrigin& origin, const std::shared_ptr<const Buffer>& memory);
  ~BackgroundWrite();
  BackgroundWrite(const BackgroundWrite&) = delete;
  BackgroundWrite& operator=(const BackgroundWrite&) = delete;

 private:
  // Before each chunk: whether there shall be another one; waits as long as the last one took,
  // several times over.
  bool GoOn(const std::stop_token& stop) QUIRE_EXCLUDES(mutex_);

  Mutex mutex_;
  CondVar hurried_;
  bool is_hurried_ QUIRE_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point resumed_at_;  // the writing thread's
  std::future<void> done_;
  std::jthread thread_;
};

// The cache's file for one image on one ISA. A file is used only when its key fits, when all bytes
// that the checkpoint would pack are those that the file was made of, and when each chunk has its
// checksum; else it is passed over with a log line and written anew. Whether the bytes are the same
// is known without reading them where the checkpoint's files are, by their stamps, those that were
// read before.
//
// The key holds names, types and shapes, a sample of each matrix's bytes, the ISA's name, and what
// the ISA's kernels make of known blocks: another layout has another key.
class PackedCache {
 public:
  // `checkpoint` and `image` must outlive it.
  PackedCache(ops::OpContext& ctx, const Checkpoint& checkpoint, const PackedImage& image,
              PackedCacheOptions options);

  // Fills the image's memory from the file; false where it must be packed.
  bool Fill();

  // Once it has been packed: starts to write the file. Null where there is no use in it.
  std::unique_ptr<BackgroundWrite> Keep() const;

 private:
  Status FillFrom(const PackedFile& file);
  void ReadSource();

  ops::OpContext& ctx_;
  const Checkpoint& checkpoint_;
  const PackedImage& image_;
  PackedCacheOptions options_;
  bool is_enabled_;
  std::string path_;
  Digest stamp_;         // of the checkpoint's files
  PackedOrigin origin_;  // the key; source and stamp once ReadSource has looked
};

}  // namespace quire
