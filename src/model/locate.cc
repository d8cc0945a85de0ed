#include "model/locate.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "base/file_kind.h"
#include "base/strings.h"
#include "formats/gguf.h"
#include "platform/mapped_file.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kGguf = ".gguf";
constexpr std::string_view kRepoPrefix = "models--";
constexpr std::string_view kNoHome =
    "there is no home folder to look for models in; set HOME or QUIRE_CACHE";
constexpr std::size_t kMaxRefBytes = 256;
constexpr std::size_t kLeastAbbreviation = 3;  // bytes that say which name is meant
constexpr std::size_t kMaxEntries = 10'000;    // of a folder that are looked at

bool IsFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool IsFile(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// Names in a folder, sorted; none for what is no folder.
std::vector<std::string> Entries(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (names.size() == kMaxEntries) break;
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string WithoutGguf(std::string name) {
  if (name.ends_with(kGguf)) name.resize(name.size() - kGguf.size());
  return name;
}

// Empty where the environment names no place; so with the next one.
fs::path OwnCache(const ModelPlaces& places, const char* folder) {
  if (!places.quire_cache.empty()) return fs::path(places.quire_cache) / folder;
  if (places.home.empty()) return {};
  return fs::path(places.home) / ".cache/quire" / folder;
}

fs::path ModelCache(const ModelPlaces& places) { return OwnCache(places, "models"); }

fs::path HubCache(const ModelPlaces& places) {
  if (!places.hf_hub_cache.empty()) return places.hf_hub_cache;
  if (!places.hf_home.empty()) return fs::path(places.hf_home) / "hub";
  if (places.home.empty()) return {};
  return fs::path(places.home) / ".cache/huggingface/hub";
}

// GGUF files of a folder that are models of their own: later parts of a split do not count.
std::vector<std::string> GgufModels(const fs::path& folder) {
  std::vector<std::string> models;
  for (const std::string& name : Entries(folder)) {
    if (!name.ends_with(kGguf) || !IsFile(folder / name)) continue;
    const std::optional<GgufSplitName> split = ParseGgufSplitName(name);
    if (!split || split->index == 1) models.push_back(name);
  }
  return models;
}

bool HasSafetensors(const fs::path& folder) {
  const std::vector<std::string> names = Entries(folder);
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.ends_with(".safetensors"); });
}

Result<std::string> ModelInFolder(const fs::path& folder) {
  const std::vector<std::string> ggufs = GgufModels(folder);
  QUIRE_ASSIGN_OR_RETURN(const bool has_config, HasFile((folder / "config.json").string()));
  if (has_config && (HasSafetensors(folder) || ggufs.empty())) return folder.string();
  if (ggufs.size() == 1) return (folder / ggufs[0]).string();
  if (ggufs.empty()) {
    return InvalidArgument(
        StrCat(folder.string(), ": the folder has neither config.json nor a ", "GGUF file"));
  }
  return InvalidArgument(StrCat(folder.string(), ": the folder has ", ggufs.size(),
                                " GGUF files; name one of them, for example ",
                                (folder / ggufs[0]).string()));
}

// The snapshot that refs/main names.
std::optional<fs::path> MainSnapshot(const fs::path& repo) {
  const fs::path main = repo / "refs/main";
  if (!IsFile(main)) return std::nullopt;
  Result<std::string> ref = ReadFile(main.string(), kMaxRefBytes);
  if (!ref.ok()) return std::nullopt;
  std::string revision = *std::move(ref);
  while (!revision.empty() && (revision.back() == '\n' || revision.back() == ' ')) {
    revision.pop_back();
  }
  const bool is_plain = !revision.empty() && revision.find('/') == std::string::npos &&
                        revision != "." && revision != "..";
  if (!is_plain || !IsFolder(repo / "snapshots" / revision)) return std::nullopt;
  return repo / "snapshots" / revision;
}

// The newest snapshot that holds a model, or where none does the newest.
std::optional<fs::path> NewestSnapshot(const fs::path& repo) {
  std::optional<fs::path> best;
  std::pair<bool, fs::file_time_type> best_rank;
  for (const std::string& name : Entries(repo / "snapshots")) {
    const fs::path snapshot = repo / "snapshots" / name;
    std::error_code error;
    const fs::file_time_type time = fs::last_write_time(snapshot, error);
    if (error || !IsFolder(snapshot)) continue;
    const std::pair rank(ModelInFolder(snapshot).ok(), time);
    if (best && rank <= best_rank) continue;
    best = snapshot;
    best_rank = rank;
  }
  return best;
}

// Of a folder of the Hugging Face cache, models--org--name.
Result<std::string> ModelInRepo(const fs::path& repo) {
  std::optional<fs::path> snapshot = MainSnapshot(repo);
  if (!snapshot) snapshot = NewestSnapshot(repo);
  if (snapshot) return ModelInFolder(*snapshot);
  return NotFound(StrCat(repo.string(), ": has no snapshot"));
}

bool IsRepo(const fs::path& folder) {
  const fs::path named = folder.has_filename() ? folder : folder.parent_path();
  return named.filename().string().starts_with(kRepoPrefix) && IsFolder(folder / "snapshots");
}

// What a path that exists stands for.
Result<std::string> ModelAtPath(const fs::path& path) {
  if (IsRepo(path)) return ModelInRepo(path);
  if (IsFolder(path)) return ModelInFolder(path);
  if (!IsFile(path)) {
    return InvalidArgument(StrCat(path.string(), ": is neither a file nor a folder"));
  }
  if (path.extension() == ".safetensors" || path.filename() == "config.json") {
    return InvalidArgument(
        StrCat(path.string(), ": is one file of a model; name the folder that holds it"));
  }
  return path.string();
}

// "org/name" as the Hugging Face cache calls its folder, which is a name too.
std::string RepoFolder(std::string_view model) {
  if (model.starts_with(kRepoPrefix)) return std::string(model);
  std::string folder(kRepoPrefix);
  for (const char letter : model) {
    if (letter == '/') {
      folder += "--";
    } else {
      folder += letter;
    }
  }
  return folder;
}

// Whether `model` can be a name: no part that climbs out of the folder it is looked up in.
bool IsName(std::string_view model) {
  if (model.empty() || model.front() == '/' || model.back() == '/') return false;
  for (const std::string_view part : Split(model, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
  }
  return true;
}

// Everything that could have been meant.
std::vector<std::string> KnownNames(const ModelPlaces& places) {
  std::vector<std::string> names;
  for (std::string& name : Entries(ModelCache(places))) names.push_back(WithoutGguf(name));
  for (const std::string& folder : Entries(HubCache(places))) {
    if (!folder.starts_with(kRepoPrefix)) continue;
    std::string name = folder.substr(kRepoPrefix.size());
    if (const std::size_t dashes = name.find("--"); dashes != std::string::npos) {
      name.replace(dashes, 2, "/");
    }
    names.push_back(std::move(name));
  }
  return names;
}

// What is in the folder that `model`'s path names, as it would be written.
std::vector<std::string> Siblings(const std::string& model) {
  const fs::path parent = fs::path(model).parent_path();
  std::vector<std::string> paths;
  for (const std::string& name : Entries(parent.empty() ? fs::path(".") : parent)) {
    paths.push_back((parent / name).string());
  }
  return paths;
}

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return text;
}

// The shortest name that holds `model`, whatever the case: "smollm2" for a long file name.
std::optional<std::string> AbbreviatedName(const std::string& model,
                                           const std::vector<std::string>& names) {
  const std::string wanted = Lower(model);
  std::optional<std::string> best;
  for (const std::string& name : names) {
    const bool holds = Lower(name).find(wanted) != std::string::npos;
    if (holds && (!best || name.size() < best->size())) best = name;
  }
  return best;
}

Status NoSuchModel(const std::string& model, const ModelPlaces& places) {
  std::error_code error;
  if (fs::exists(model, error)) {
    return InvalidArgument(StrCat(Printable(model, 200), ": is neither a file nor a folder"));
  }
  const bool is_path = model.starts_with('/') || model.starts_with('.') || model.starts_with('~') ||
                       model.ends_with(kGguf);
  const std::vector<std::string> names = KnownNames(places);
  std::optional<std::string> nearest = NearestName(WithoutGguf(model), names);
  if (!nearest && !is_path && model.size() >= kLeastAbbreviation) {
    nearest = AbbreviatedName(model, names);
  }
  if (!nearest) nearest = NearestName(model, Siblings(model));
  const std::string hint = nearest ? StrCat("; did you mean ", Printable(*nearest), "?") : "";
  const std::string shown = Printable(model, 200);
  if (is_path) return NotFound(StrCat(shown, ": no such file or folder", hint));
  std::string where;
  for (const fs::path& cache : {ModelCache(places), HubCache(places)}) {
    if (!cache.empty()) where += StrCat(where.empty() ? " in " : " or ", cache.string());
  }
  if (where.empty()) where = StrCat("; ", kNoHome);
  return NotFound(
      StrCat(shown, ": no such file or folder, and no model of this name", where, hint));
}

Result<std::string> DefaultModel(const ModelPlaces& places) {
  if (ModelCache(places).empty()) return NotFound(StrCat("no model is named; ", kNoHome));
  const fs::path path = ModelCache(places) / kDefaultModelFile;
  if (IsFile(path)) return path.string();
  return NotFound(StrCat("no model is named and the default one is not at ", path.string(),
                         "; `make model` fetches it"));
}

}  // namespace

Result<std::string> LocateModel(const std::string& model, const ModelPlaces& places) {
  if (model.empty()) return DefaultModel(places);
  if (IsFile(model) || IsFolder(model)) return ModelAtPath(model);
  if (!IsName(model)) return NoSuchModel(model, places);
  if (const fs::path cache = ModelCache(places); !cache.empty()) {
    const fs::path cached = cache / model;
    const fs::path with_suffix = cached.string() + std::string(kGguf);
    if (IsFile(with_suffix)) return with_suffix.string();
    if (IsFile(cached) || IsFolder(cached)) return ModelAtPath(cached);
  }
  const fs::path hub = HubCache(places);
  const fs::path repo = hub / RepoFolder(model);
  if (!hub.empty() && IsFolder(repo)) return ModelInRepo(repo);
  return NoSuchModel(model, places);
}

std::string PackedCacheFolder(const ModelPlaces& places) {
  return OwnCache(places, "packed").string();
}

}  // namespace quire
