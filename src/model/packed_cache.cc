#include "model/packed_cache.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rng.h"
#include "base/strings.h"
#include "ops/linear.h"
#include "platform/cpu.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".packed";
constexpr std::size_t kKeyDigits = 32;
constexpr std::size_t kMaxFilesInFolder = 10'000;
constexpr std::uint64_t kSpareBytes = std::uint64_t{256} << 20;  // left free on the disk
constexpr std::chrono::hours kLeftoverAge{24};  // of files that a killed writer has left
constexpr std::chrono::seconds kGrace{1};
constexpr int kRestPerWork = 3;
// A file that has just changed may change again without another stamp.
constexpr std::chrono::seconds kSettled{2};
constexpr std::size_t kPieceBytes = std::size_t{4} << 20;
constexpr std::size_t kSampleBytes = 64;
// Of the blocks that tell a layout: whole tiles and a part of one, blocks of every type.
constexpr std::int64_t kProbeRows = 37;
constexpr std::int64_t kProbeDepth = 512;

std::span<const std::byte> BytesIn(ConstTensorView view) {
  const std::uint64_t row_bytes = *BytesOf(view.dtype(), view.dim(1));
  return {view.data(), static_cast<std::size_t>(row_bytes) * static_cast<std::size_t>(view.dim(0))};
}

// ---- The key ----

// What this ISA makes of known blocks of a type.
Digest LayoutProbe(ops::OpContext& ctx, DType type) {
  std::vector<std::byte> blocks(*BytesOf(type, kProbeRows * kProbeDepth));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    blocks[i] = static_cast<std::byte>(Philox({static_cast<std::uint32_t>(i), 0, 0, 0}, {0, 0})[0]);
  }
  const ConstTensorView source = {blocks.data(), type, {kProbeRows, kProbeDepth}};
  constexpr auto kPrecision = ops::MatmulPrecision::kFast;
  const std::size_t num_bytes = ops::LinearWeight::PackedBytes(ctx, source, kPrecision);
  Result<Buffer> buffer = Buffer::Allocate(num_bytes);
  if (!buffer.ok()) return {};
  const auto packed = std::make_shared<Buffer>(*std::move(buffer));
  const auto weight =
      ops::LinearWeight::Create(ctx, source, kPrecision, {{packed, packed->data()}, false});
  QUIRE_CHECK(weight.ok()) << weight.status().message();
  return DigestOf({packed->data(), num_bytes});
}

Digest KeyOf(ops::OpContext& ctx, const PackedImage& image) {
  DigestBuilder all;
  all.AddText(ops::IsaName(ctx));
  std::set<DType> types;
  for (const PackedMatrix& matrix : image.matrices) {
    const std::span<const std::byte> bytes = BytesIn(matrix.source);
    all.AddText(matrix.name);
    all.AddValue(matrix.source.dtype());
    all.AddValue(matrix.source.dim(0));
    all.AddValue(matrix.source.dim(1));
    all.AddValue(matrix.num_bytes);
    all.AddValue(matrix.start);
    const std::size_t sample = std::min(bytes.size(), kSampleBytes);
    all.Add(bytes.subspan((bytes.size() - sample) / 2, sample));
    types.insert(matrix.source.dtype());
  }
  for (const DType type : types) all.AddValue(LayoutProbe(ctx, type));
  return all.Finish();
}

Digest DigestOfStamps(const std::vector<FileStamp>& stamps) {
  DigestBuilder all;
  for (const FileStamp& stamp : stamps) all.AddValue(stamp);
  return all.Finish();
}

// Whether any further change of the files will have another stamp.
bool AreSettled(const std::vector<FileStamp>& stamps) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto latest = std::chrono::duration_cast<std::chrono::nanoseconds>(now - kSettled).count();
  return std::all_of(stamps.begin(), stamps.end(),
                     [&](const FileStamp& stamp) { return stamp.changed_ns < latest; });
}

// ---- The folder ----

bool IsCacheFile(std::string_view name) {
  return name.size() > kKeyDigits && name.ends_with(kSuffix) && name[kKeyDigits] == '-' &&
         name.substr(0, kKeyDigits).find_first_not_of("0123456789abcdef") == name.npos;
}

bool IsLeftover(std::string_view name) {
  const std::size_t suffix = name.rfind(StrCat(kSuffix, "."));
  return suffix != name.npos && name.ends_with(".tmp") &&
         IsCacheFile(name.substr(0, suffix + kSuffix.size()));
}

struct FolderEntry {
  fs::path path;
  std::uint64_t num_bytes;
  std::int64_t used_at;  // seconds since 1970
};

// The files of the cache, that which was not used for longest first; takes leftovers away.
std::vector<FolderEntry> ListFolder(const fs::path& folder) {
  std::vector<FolderEntry> entries;
  const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  constexpr std::int64_t kLeftoverSeconds = std::chrono::seconds(kLeftoverAge).count();
  std::error_code error;
  std::size_t num_seen = 0;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (++num_seen > kMaxFilesInFolder) break;
    const std::string name = it->path().filename().string();
    struct stat status = {};
    if (::lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    if (IsLeftover(name) && now - status.st_mtime > kLeftoverSeconds) {
      ::unlink(it->path().c_str());
    } else if (IsCacheFile(name)) {
      entries.push_back({it->path(), static_cast<std::uint64_t>(status.st_size), status.st_mtime});
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const FolderEntry& a, const FolderEntry& b) { return a.used_at < b.used_at; });
  return entries;
}

// Removes files until one more of `num_bytes` at `path` keeps the folder within its bound. Who
// reads a removed file goes on undisturbed.
Status MakeRoom(const PackedCacheOptions& options, const std::string& path,
                std::uint64_t num_bytes) {
  if (num_bytes > options.max_bytes) {
    return ResourceExhausted(StrCat(path, ": would take ", HumanBytes(num_bytes),
                                    ", more than packed-cache-bytes allows"));
  }
  std::uint64_t total = num_bytes;
  std::vector<FolderEntry> entries = ListFolder(options.folder);
  std::erase_if(entries, [&](const FolderEntry& entry) { return entry.path == path; });
  for (const FolderEntry& entry : entries) total += entry.num_bytes;
  for (const FolderEntry& entry : entries) {
    if (total <= options.max_bytes) break;
    if (::unlink(entry.path.c_str()) == 0) total -= entry.num_bytes;
  }
  struct statvfs disk = {};
  if (::statvfs(options.folder.c_str(), &disk) != 0) return {};
  const std::uint64_t free = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  if (free >= num_bytes + kSpareBytes) return {};
  return ResourceExhausted(StrCat(options.folder, ": the disk has ", HumanBytes(free), " free; ",
                                  HumanBytes(num_bytes), " are wanted and ",
                                  HumanBytes(kSpareBytes), " to spare"));
}

// ---- The thread that writes ----

// Takes the calling thread off the core of the one that started it, and off its priority where
// that is of the kind that never yields. Hints: where the system declines them nothing is lost.
void StepBack() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : UsableCores()) CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);
  const sched_param no_priority = {};
  ::sched_setscheduler(0, SCHED_BATCH, &no_priority);
}

// No signal is this thread's to handle, and SIGXFSZ becomes an error of the write.
void BlockSignals(sigset_t* before) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, before);
}

Status Write(const PackedCacheOptions& options, const std::string& path, const PackedOrigin& origin,
             std::span<const std::byte> data, const std::function<bool()>& go_on) {
  std::error_code error;
  if (fs::create_directories(options.folder, error)) {
    fs::permissions(options.folder, fs::perms::owner_all, error);
  }
  if (!fs::is_directory(options.folder, error)) {
    return InvalidArgument(StrCat(options.folder, ": cannot be made: ", error.message()));
  }
  QUIRE_RETURN_IF_ERROR(MakeRoom(options, path, PackedFileBytes(data.size())));
  return WritePackedFile(path, origin, data, go_on);
}

void WriteAndTell(const PackedCacheOptions& options, const std::string& path,
                  const PackedOrigin& origin, std::span<const std::byte> data,
                  const std::function<bool()>& go_on) try {
  const Status status = Write(options, path, origin, data, go_on);
  if (status.ok()) {
    QUIRE_LOG(kInfo) << HumanBytes(data.size()) << " of packed weights are kept in " << path
                     << " for the next start";
  } else if (status.code() != Code::kCancelled) {
    QUIRE_LOG(kWarning) << "packed weights are not kept: " << status.message();
  }
} catch (const std::exception& exception) {
  QUIRE_LOG(kWarning) << "packed weights are not kept: " << exception.what();
}

}  // namespace

BackgroundWrite::BackgroundWrite(const PackedCacheOptions& options, const std::string& path,
                                 const PackedOrigin& origin,
                                 const std::shared_ptr<const Buffer>& memory) {
  std::promise<void> promise;
  done_ = promise.get_future();
  sigset_t before;
  BlockSignals(&before);
  resumed_at_ = std::chrono::steady_clock::now();
  thread_ = std::jthread([=, this, done = std::move(promise)](const std::stop_token& stop) mutable {
    StepBack();
    WriteAndTell(options, path, origin, {memory->data(), memory->size()},
                 [&] { return GoOn(stop); });
    done.set_value();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BackgroundWrite::~BackgroundWrite() {
  {
    const MutexLock lock(mutex_);
    is_hurried_ = true;
  }
  hurried_.notify_one();
  done_.wait_for(kGrace);
}

bool BackgroundWrite::GoOn(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  const auto now = Clock::now();
  const auto until = now + kRestPerWork * (now - resumed_at_);
  {
    const MutexLock lock(mutex_);
    while (!is_hurried_ && Clock::now() < until) hurried_.wait_until(mutex_, until);
  }
  resumed_at_ = Clock::now();
  return !stop.stop_requested();
}

PackedCache::PackedCache(ops::OpContext& ctx, const Checkpoint& checkpoint,
                         const PackedImage& image, PackedCacheOptions options)
    : ctx_(ctx),
      checkpoint_(checkpoint),
      image_(image),
      options_(std::move(options)),
      is_enabled_(!options_.folder.empty() && image.memory != nullptr &&
                  image.memory->size() >= options_.min_image_bytes) {
  if (!is_enabled_) return;
  origin_.key = KeyOf(ctx_, image_);
  stamp_ = DigestOfStamps(checkpoint_.stamps());
  path_ =
      fs::path(options_.folder) / StrCat(ToString(origin_.key), "-", ops::IsaName(ctx_), kSuffix);
}

// Before anything is packed: what changes from here on changes the stamp too.
void PackedCache::ReadSource() {
  const std::vector<FileStamp> stamps = checkpoint_.stamps();
  if (AreSettled(stamps)) origin_.stamp = stamp_;
  std::vector<std::span<const std::byte>> pieces;
  for (const PackedMatrix& matrix : image_.matrices) {
    checkpoint_.Prefetch(*matrix.tensor);
    const std::span<const std::byte> bytes = BytesIn(matrix.source);
    for (std::size_t begin = 0; begin < bytes.size(); begin += kPieceBytes) {
      pieces.push_back(bytes.subspan(begin, std::min(kPieceBytes, bytes.size() - begin)));
    }
  }
  std::vector<Digest> digests(pieces.size());
  ctx_.pool->ForEach(static_cast<std::int64_t>(pieces.size()), [&](std::int64_t idx, int) {
    const auto i = static_cast<std::size_t>(idx);
    digests[i] = DigestOf(pieces[i]);
  });
  origin_.source = DigestOf(std::as_bytes(std::span(digests)));
}

Status PackedCache::FillFrom(const PackedFile& file) {
  const bool is_known = file.origin().stamp == stamp_;
  if (!is_known) {
    ReadSource();
    if (origin_.source != file.origin().source) {
      return DataLoss(StrCat(path_, ": was packed from other weights"));
    }
  }
  QUIRE_RETURN_IF_ERROR(file.Read(*ctx_.pool, {image_.memory->data(), image_.memory->size()}));
  file.MarkUsed();
  if (!is_known) file.SetStamp(origin_.stamp);
  return {};
}

bool PackedCache::Fill() {
  if (!is_enabled_) return false;
  const Result<PackedFile> file = PackedFile::Open(path_, origin_.key, image_.memory->size());
  const Status status = file.ok() ? FillFrom(*file) : file.status();
  if (status.ok()) return true;
  if (status.code() != Code::kNotFound) {
    QUIRE_LOG(kWarning) << "packed weights are made anew: " << status.message();
  }
  if (origin_.source == Digest()) ReadSource();  // else FillFrom did
  return false;
}

std::unique_ptr<BackgroundWrite> PackedCache::Keep() const {
  if (!is_enabled_) return nullptr;
  std::vector<FileStamp> now;
  for (const std::string& path : checkpoint_.files()) {
    const Result<FileStamp> stamp = StampOf(path);
    if (stamp.ok()) now.push_back(*stamp);
  }
  if (DigestOfStamps(now) != stamp_) {
    QUIRE_LOG(kWarning) << "packed weights are not kept: " << checkpoint_.path()
                        << " has changed since it was opened";
    return nullptr;
  }
  return std::make_unique<BackgroundWrite>(options_, path_, origin_, image_.memory);
}

}  // namespace quire
