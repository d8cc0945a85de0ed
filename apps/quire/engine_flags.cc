#include "apps/quire/engine_flags.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

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

std::string DefaultText(const Json* value) {
  if (value == nullptr || value->is_null() || value->is_object()) return "";
  return value->is_string() ? value->string() : value->Dump();
}

}  // namespace

void AddEngineFlags(FlagSet& flags, EngineConfig& config, std::span<const std::string_view> only) {
  const Json defaults = ToJson(config);
  for (OptionDescription& option : DescribeEngineOptions()) {
    if (!only.empty() && std::find(only.begin(), only.end(), option.name) == only.end()) continue;
    option.default_text = DefaultText(defaults.Find(option.name));
    flags.Group(option.group);
    flags.AddFlag(option.name,
                  FlagFor(option, [&config](std::string_view name, std::string_view text) {
                    return SetEngineFlag(config, name, text);
                  }));
  }
}

void SamplingFlags::AddTo(FlagSet& flags) {
  for (const OptionDescription& option : DescribeSamplingParams()) {
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

Result<std::string> FindModel(const std::string& name) {
  const ModelPlaces places{.home = Environment("HOME"),
                           .quire_cache = Environment("QUIRE_CACHE"),
                           .hf_home = Environment("HF_HOME"),
                           .hf_hub_cache = Environment("HF_HUB_CACHE")};
  return LocateModel(name, places);
}

Status TakeModel(const FlagSet& flags, const std::string& positional, EngineConfig& config) {
  if (flags.is_set("model") && config.model.model != positional) {
    return InvalidArgument(StrCat("two models are named: ", Printable(positional), " and --model ",
                                  Printable(config.model.model)));
  }
  config.model.model = positional;
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
  QUIRE_ASSIGN_OR_RETURN(config.model.model, FindModel(config.model.model));
  return Llm::Create(config, MakeLoadBar());
}

}  // namespace quire
