#include "apps/quire/engine_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include <pwd.h>
#include <unistd.h>

#include "apps/quire/terminal.h"
#include "base/strings.h"
#include "config/options.h"
#include "engine/llm.h"
#include "model/locate.h"

namespace quire {

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return value == nullptr ? "" : value;
}

// HOME, or what the system knows of this user.
std::string HomeFolder() {
  std::string home = Environment("HOME");
  if (!home.empty()) return home;
  std::vector<char> buffer(std::size_t{16} << 10);
  struct passwd entry {};
  struct passwd* found = nullptr;
  getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr || found->pw_dir == nullptr ? std::string() : found->pw_dir;
}

ModelPlaces PlacesOfEnvironment() {
  return {.home = HomeFolder(),
          .quire_cache = Environment("QUIRE_CACHE"),
          .hf_home = Environment("HF_HOME"),
          .hf_hub_cache = Environment("HF_HUB_CACHE")};
}

std::string DefaultText(const Json* value) {
  if (value == nullptr || value->is_null() || value->is_object()) return "";
  return value->is_string() ? value->string() : value->Dump();
}

}  // namespace

void AddEngineFlags(FlagSet& flags, EngineConfig& config, std::span<const std::string_view> only) {
  const Json defaults = ToJson(config);
  for (OptionDescription& option : DescribeEngineOptions()) {
    if (!only.empty() && std::find(only.begin(), only.end(), option.name) == only.end()) continue;
    // What the command already has under the name is what a person means by it: --seed of a prompt.
    if (flags.has(option.name)) continue;
    option.default_text = DefaultText(defaults.Find(option.name));
    flags.Group(option.group);
    flags.AddFlag(option.name,
                  FlagFor(option, [&config](std::string_view name, std::string_view text) {
                    return SetEngineFlag(config, name, text);
                  }));
  }
}

void SamplingFlags::AddTo(FlagSet& flags, std::string_view left_out) {
  for (const OptionDescription& option : DescribeSamplingParams()) {
    if (option.name == left_out) continue;
    flags.Group(option.group);
    Flag flag = FlagFor(option, [this](std::string_view name, std::string_view text) {
      given_.emplace_back(name, text);
      return SetSamplingFlag(checked_, name, text);
    });
    flags.AddFlag(option.name, std::move(flag));
  }
}

Status SamplingFlags::Apply(SamplingParams& params) const {
  for (const auto& [name, text] : given_) {
    QUIRE_RETURN_IF_ERROR(SetSamplingFlag(params, name, text));
  }
  return {};
}

std::set<std::string> SamplingFlags::names() const {
  std::set<std::string> names;
  for (const auto& [name, text] : given_) {
    std::string field = name;
    std::replace(field.begin(), field.end(), '-', '_');
    names.insert(std::move(field));
  }
  return names;
}

JsonObject SamplingFields(const SamplingParams& params, const std::set<std::string>& names) {
  JsonObject fields;
  for (const auto& [name, value] : ToJson(params).object()) {
    if (names.contains(name)) fields.emplace_back(name, value);
  }
  return fields;
}

Result<std::string> FindModel(const std::string& name) {
  return LocateModel(name, PlacesOfEnvironment());
}

Status LocateFiles(EngineConfig& config) {
  QUIRE_ASSIGN_OR_RETURN(config.model.model, FindModel(config.model.model));
  const std::string folder = PackedCacheFolder(PlacesOfEnvironment());
  if (config.model.packed_cache == "auto" && !folder.empty()) config.model.packed_cache = folder;
  return {};
}

Status TakeModel(const FlagSet& flags, const std::string& positional, EngineConfig& config) {
  if (flags.is_set("model") && config.model.model != positional) {
    return InvalidArgument(StrCat("two models are named: ", Printable(positional), " and --model ",
                                  Printable(config.model.model)));
  }
  config.model.model = positional;
  return {};
}

Status TakeOnlyModel(const FlagSet& flags, EngineConfig& config, std::string_view hint) {
  const std::vector<std::string>& positionals = flags.positionals();
  if (positionals.size() > 1) {
    return InvalidArgument(StrCat("one argument too many: ", Printable(positionals[1]),
                                  hint.empty() ? "" : "; ", hint));
  }
  return positionals.empty() ? Status() : TakeModel(flags, positionals[0], config);
}

Status RefuseEngineFlags(const FlagSet& flags) {
  for (const OptionDescription& option : DescribeEngineOptions()) {
    if (option.name == "model" || !flags.is_set(option.name)) continue;
    return InvalidArgument(
        StrCat("--", option.name, ": says how an engine runs, and with --url the server's does"));
  }
  return {};
}

LoadProgress MakeLoadBar() {
  const auto line = std::make_shared<ProgressLine>(std::chrono::seconds(1));
  return [line](std::uint64_t done, std::uint64_t total) {
    if (done >= total) return line->Clear();
    if (!line->is_due()) return;
    line->Show(ProgressBar("loading", static_cast<double>(done) / static_cast<double>(total),
                           StrCat(HumanBytes(done), " of ", HumanBytes(total))));
  };
}

Result<std::unique_ptr<Llm>> LoadLlm(EngineConfig config) {
  QUIRE_RETURN_IF_ERROR(config.Validate());
  QUIRE_RETURN_IF_ERROR(LocateFiles(config));
  return Llm::Create(config, MakeLoadBar());
}

}  // namespace quire
