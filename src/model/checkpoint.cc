#include "model/checkpoint.h"

#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "base/file_kind.h"
#include "base/strings.h"
#include "formats/safetensors.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxIndexBytes = std::size_t{256} << 20;
constexpr std::int64_t kMaxParts = 10'000;
constexpr std::size_t kMaxNamed = 5;  // names that one message lists

std::string FileName(const std::string& path) { return fs::path(path).filename().string(); }

std::string InFolder(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

// A large file that was checked out without Git LFS is a short text that says so.
bool IsLfsPointer(std::span<const std::byte> bytes) {
  constexpr std::string_view kStart = "version https://git-lfs";
  return bytes.size() >= kStart.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), kStart.size()) == kStart;
}

// The first few of `names` for a message.
std::string ListNames(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() == kMaxNamed) break;
    shown.push_back(Printable(name));
  }
  const std::size_t rest = names.size() - shown.size();
  return rest == 0 ? Join(shown, ", ") : StrCat(Join(shown, ", "), " and ", rest, " more");
}

std::vector<std::string> FilesWithSuffix(const std::string& folder, std::string_view suffix) {
  std::set<std::string> sorted;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix) && entry.is_regular_file(error)) sorted.insert(name);
  }
  return {sorted.begin(), sorted.end()};
}

// The file of a folder that has no index and no model.safetensors.
Result<std::string> OnlySafetensors(const std::string& folder) {
  const std::vector<std::string> found = FilesWithSuffix(folder, ".safetensors");
  if (found.size() == 1) return InFolder(folder, found[0]);
  if (found.size() > 1) {
    return InvalidArgument(StrCat(folder, ": holds several *.safetensors (", ListNames(found),
                                  ") but no model.safetensors.index.json"));
  }
  const bool has_pickle = !FilesWithSuffix(folder, ".bin").empty();
  return NotFound(StrCat(folder, ": has no *.safetensors",
                         has_pickle ? "; *.bin (pickle) weights are not read" : ""));
}

Result<std::string> ReadGenerationConfig(const std::string& folder) {
  const std::string path = InFolder(folder, "generation_config.json");
  QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path));
  return is_there ? ReadFile(path, kMaxConfigBytes) : std::string();
}

Result<Json> ReadConfig(const std::string& folder) {
  const std::string path = InFolder(folder, "config.json");
  QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path));
  if (!is_there) return NotFound(StrCat(folder, ": has no config.json"));
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  Result<Json> config = ParseJson(text, {.python_literals = true});
  if (!config.ok()) return config.status().With(path);
  if (!config->is_object()) return DataLoss(StrCat(path, ": must be an object"));
  return config;
}

// Names that the index and the shards do not agree on.
Status CheckIndex(const std::map<std::string, std::string>& index,
                  const std::vector<TensorInfo>& tensors, const std::vector<std::string>& files) {
  std::map<std::string_view, std::string> held;
  for (const TensorInfo& tensor : tensors) {
    held.emplace(tensor.name, FileName(files[static_cast<std::size_t>(tensor.file_idx)]));
  }
  std::vector<std::string> absent, unlisted;
  for (const auto& [name, file] : index) {
    const auto found = held.find(name);
    if (found == held.end() || found->second != file) absent.push_back(StrCat(name, " in ", file));
  }
  for (const auto& [name, file] : held) {
    if (index.find(std::string(name)) == index.end())
      unlisted.push_back(StrCat(name, " in ", file));
  }
  if (!absent.empty()) {
    return DataLoss(StrCat("the index names ", absent.size(),
                           " tensors that their file does not hold: ", ListNames(absent)));
  }
  if (!unlisted.empty()) {
    return DataLoss(StrCat("the files hold ", unlisted.size(),
                           " tensors that the index does not name: ", ListNames(unlisted)));
  }
  return {};
}

// The files of a split GGUF in order; one file when the name is of no split.
Result<std::vector<std::string>> GgufParts(const std::string& path) {
  const std::optional<GgufSplitName> split = ParseGgufSplitName(FileName(path));
  if (!split) return std::vector<std::string>{path};
  if (split->count < 1 || split->count > kMaxParts) {
    return InvalidArgument(
        StrCat(path, ": a split of ", split->count, " parts; at most ", kMaxParts, " are read"));
  }
  std::vector<std::string> parts;
  for (int index = 1; index <= split->count; ++index) {
    const std::string folder = fs::path(path).parent_path().string();
    parts.push_back(InFolder(folder, GgufSplitFileName(*split, index)));
    QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(parts.back()));
    if (!is_there) {
      return NotFound(StrCat(parts.back(), ": part ", index, " of ", split->count, " is absent"));
    }
  }
  return parts;
}

// What part `part_idx` of `num_parts` says of itself against what the file name says.
Status CheckSplit(const GgufHeader& header, std::int64_t part_idx, std::int64_t num_parts) {
  QUIRE_ASSIGN_OR_RETURN(const auto count, header.Int("split.count"));
  QUIRE_ASSIGN_OR_RETURN(const auto number, header.Int("split.no"));
  if (num_parts == 1 && count.value_or(1) <= 1) return {};
  if (num_parts == 1) {
    return InvalidArgument(StrCat("is part ", number.value_or(0) + 1, " of ", *count,
                                  " by split.count; the parts of a split file must keep their "
                                  "names, …-00001-of-0000N.gguf"));
  }
  if (count != num_parts) {
    return DataLoss(
        StrCat("split.count is ", count.value_or(0), ", the file name says ", num_parts));
  }
  if (number != part_idx) {
    return DataLoss(StrCat("split.no is ", number.value_or(-1), ", the file name says ", part_idx));
  }
  return {};
}

Status CheckSplitTotal(const GgufHeader& first, std::size_t num_tensors) {
  QUIRE_ASSIGN_OR_RETURN(const auto total, first.Int("split.tensors.count"));
  if (!total || *total == static_cast<std::int64_t>(num_tensors)) return {};
  return DataLoss(
      StrCat("split.tensors.count is ", *total, ", the parts hold ", num_tensors, " tensors"));
}

}  // namespace

Result<std::shared_ptr<const Checkpoint>> Checkpoint::Open(const std::string& path,
                                                           const MapOptions& options) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint());
  checkpoint->path_ = path;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    QUIRE_RETURN_IF_ERROR(checkpoint->OpenFolder(options));
  } else {
    QUIRE_RETURN_IF_ERROR(checkpoint->OpenGguf(options));
  }
  QUIRE_RETURN_IF_ERROR(checkpoint->IndexNames());
  return std::shared_ptr<const Checkpoint>(std::move(checkpoint));
}

Status Checkpoint::OpenFolder(const MapOptions& options) {
  format_ = CheckpointFormat::kSafetensors;
  QUIRE_ASSIGN_OR_RETURN(config_json_, ReadConfig(path_));
  QUIRE_ASSIGN_OR_RETURN(generation_config_, ReadGenerationConfig(path_));
  const std::string single = InFolder(path_, "model.safetensors");
  QUIRE_ASSIGN_OR_RETURN(const bool has_single, HasFile(single));
  if (has_single) return AddSafetensors(single, options);
  const std::string index = InFolder(path_, "model.safetensors.index.json");
  QUIRE_ASSIGN_OR_RETURN(const bool has_index, HasFile(index));
  if (has_index) return OpenShards(index, options);
  QUIRE_ASSIGN_OR_RETURN(const std::string only, OnlySafetensors(path_));
  return AddSafetensors(only, options);
}

Status Checkpoint::OpenShards(const std::string& index_path, const MapOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadFile(index_path, kMaxIndexBytes));
  const auto index = ParseSafetensorsIndex(text);
  if (!index.ok()) return index.status().With(index_path);
  std::set<std::string> files;
  for (const auto& [name, file] : *index) files.insert(file);
  if (files.empty()) return DataLoss(StrCat(index_path, ": names no tensor"));
  if (files.size() > kMaxParts) {
    return InvalidArgument(
        StrCat(index_path, ": names ", files.size(), " files; at most ", kMaxParts, " are read"));
  }
  for (const std::string& file : files) {
    const std::string path = InFolder(path_, file);
    QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path));
    if (!is_there) {
      return NotFound(StrCat(path, ": absent, but ", FileName(index_path), " names it"));
    }
    QUIRE_RETURN_IF_ERROR(AddSafetensors(path, options));
  }
  return CheckIndex(*index, tensors_, file_names_).With(index_path);
}

Status Checkpoint::OpenGguf(const MapOptions& options) {
  format_ = CheckpointFormat::kGguf;
  QUIRE_ASSIGN_OR_RETURN(const bool is_there, HasFile(path_));
  if (!is_there) return NotFound(StrCat(path_, ": no such file or folder"));
  if (path_.ends_with(".safetensors")) {
    return InvalidArgument(
        StrCat(path_, ": a safetensors file alone is no model; name its folder"));
  }
  QUIRE_ASSIGN_OR_RETURN(const std::vector<std::string> parts, GgufParts(path_));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(AddGgufPart(parts[i], parts.size(), options));
  }
  return CheckSplitTotal(*gguf_, tensors_.size()).With(parts[0]);
}

Result<std::span<const std::byte>> Checkpoint::Map(const std::string& path,
                                                   const MapOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(MappedFile file, MappedFile::Open(path, options));
  if (IsLfsPointer(file.bytes())) {
    return DataLoss(StrCat(path, ": is a Git LFS pointer, not the file itself"));
  }
  file_names_.push_back(path);
  files_.push_back(std::move(file));
  return files_.back().bytes();
}

Status Checkpoint::AddSafetensors(const std::string& path, const MapOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, Map(path, options));
  Result<SafetensorsHeader> header = ParseSafetensors(bytes, bytes.size());
  if (!header.ok()) return header.status().With(path);
  for (TensorInfo& tensor : header->tensors) {
    tensor.file_idx = static_cast<int>(files_.size()) - 1;
    tensors_.push_back(std::move(tensor));
  }
  return {};
}

Status Checkpoint::AddGgufPart(const std::string& path, std::size_t num_parts,
                               const MapOptions& options) {
  QUIRE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, Map(path, options));
  Result<GgufHeader> header = GgufHeader::Parse(bytes);
  if (!header.ok()) return header.status().With(path);
  const int part_idx = static_cast<int>(files_.size()) - 1;
  QUIRE_RETURN_IF_ERROR(
      CheckSplit(*header, part_idx, static_cast<std::int64_t>(num_parts)).With(path));
  for (TensorInfo tensor : header->tensors()) {
    tensor.file_idx = part_idx;
    tensors_.push_back(std::move(tensor));
  }
  if (part_idx == 0) gguf_ = *std::move(header);
  return {};
}

Status Checkpoint::IndexNames() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const auto [place, is_new] = by_name_.emplace(tensors_[i].name, i);
    if (is_new) continue;
    const auto file = [&](std::size_t idx) {
      return FileName(file_names_[static_cast<std::size_t>(tensors_[idx].file_idx)]);
    };
    return DataLoss(StrCat(path_, ": tensor ", Printable(tensors_[i].name), " stands in ",
                           file(place->second), " and in ", file(i)));
  }
  return {};
}

const TensorInfo* Checkpoint::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

std::vector<FileStamp> Checkpoint::stamps() const {
  std::vector<FileStamp> stamps;
  for (const MappedFile& file : files_) stamps.push_back(file.stamp());
  return stamps;
}

void Checkpoint::Prefetch(const TensorInfo& tensor) const {
  files_[static_cast<std::size_t>(tensor.file_idx)].Prefetch(tensor.offset, tensor.num_bytes);
}

void Checkpoint::Release(const TensorInfo& tensor) const {
  files_[static_cast<std::size_t>(tensor.file_idx)].Release(tensor.offset, tensor.num_bytes);
}

Result<ConstTensorView> Checkpoint::View(const TensorInfo& tensor) const {
  const auto context = [&] {
    return StrCat(file_names_[static_cast<std::size_t>(tensor.file_idx)], ": tensor ",
                  Printable(tensor.name));
  };
  const std::vector<std::int64_t>& dims = tensor.shape;
  if (dims.size() > kMaxRank) {
    return DataLoss(
        StrCat(context(), ": has ", dims.size(), " dimensions, at most ", kMaxRank, " are known"));
  }
  const std::span<const std::byte> bytes =
      files_[static_cast<std::size_t>(tensor.file_idx)].bytes();
  if (tensor.offset > bytes.size() || tensor.num_bytes > bytes.size() - tensor.offset) {
    return DataLoss(StrCat(context(), ": its bytes pass the end of the file"));
  }
  Shape shape;
  switch (dims.size()) {
    case 0:
      shape = {1};
      break;
    case 1:
      shape = {dims[0]};
      break;
    case 2:
      shape = {dims[0], dims[1]};
      break;
    case 3:
      shape = {dims[0], dims[1], dims[2]};
      break;
    default:
      shape = {dims[0], dims[1], dims[2], dims[3]};
  }
  return ConstTensorView(bytes.data() + tensor.offset, tensor.type, shape);
}

}  // namespace quire
