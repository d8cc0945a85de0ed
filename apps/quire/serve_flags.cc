#include "apps/quire/serve_flags.h"

#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "apps/quire/io.h"
#include "apps/quire/vllm_flags.h"
#include "base/strings.h"
#include "config/field_value.h"
#include "config/options.h"
#include "formats/yaml.h"

namespace quire {

namespace {

constexpr std::string_view kDefaultModelName = "SmolLM2-135M-Instruct";

// Other names of options; the first of each pair is the option's own.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kAliases = {
    {{"io-threads", "api-server-count,asc"},
     {"log-level", "uvicorn-log-level"},
     {"max-num-queued-reqs", "max-waiting"},
     {"disable-uvicorn-access-log", "disable-access-log"}}};

std::string WithAliases(std::string_view name) {
  for (const auto& [option, others] : kAliases) {
    if (option == name) return StrCat(name, ",", others);
  }
  return std::string(name);
}

// What web pages may do is one item here, and a JSON list of them in vLLM.
template <typename Set>
Status SetItems(std::string_view name, std::string_view text, const Set& set) {
  if (!name.starts_with("allowed-") || !text.starts_with('[')) return set(text);
  std::vector<std::string> items;
  QUIRE_ASSIGN_OR_RETURN(const Json list, ParseJson(text));
  QUIRE_RETURN_IF_ERROR(FieldFromJson(list, items).With(name));
  for (const std::string& item : items) QUIRE_RETURN_IF_ERROR(set(item));
  return {};
}

template <typename Config>
void AddOptions(FlagSet& flags, std::vector<OptionDescription> options, Config& config,
                Status (*set)(Config&, std::string_view, std::string_view)) {
  const Json defaults = ToJson(config);
  for (OptionDescription& option : options) {
    if (const Json* value = defaults.Find(option.name); value != nullptr && value->is_string()) {
      option.default_text = value->string();
    }
    flags.Group(option.group);
    Flag flag = FlagFor(option, [&config, set](std::string_view name, std::string_view text) {
      return SetItems(name, text, [&](std::string_view item) { return set(config, name, item); });
    });
    flag.takes_many = option.is_repeatable;
    flags.AddFlag(WithAliases(option.name), std::move(flag));
  }
}

std::string Environment(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread starts
  return value == nullptr ? "" : value;
}

// Keys given in the environment stand beside those of flags.
void AddKeysOfEnvironment(AccessOptions& access) {
  for (const char* name : {"QUIRE_API_KEY", "VLLM_API_KEY"}) {
    if (std::string key = Environment(name); !key.empty())
      access.api_keys.push_back(std::move(key));
  }
  if (access.enable_admin && access.admin_key.empty()) {
    access.admin_key = Environment("QUIRE_ADMIN_KEY");
  }
}

// What the command line has besides options of engine and server.
struct OwnFlags {
  std::optional<std::string> config_file;
  bool print_config = false;
};

FlagSet MakeFlags(ServeConfig& config, OwnFlags& own) {
  FlagSet flags("serve [MODEL] [flags]",
                "Serves a model over HTTP: OpenAI's and Anthropic's interfaces, and vLLM's own. "
                "Flags have vLLM's names. --help=groups lists the groups of flags, --help=GROUP "
                "shows one, --help=WORD all flags that have the word in them.");
  flags.Group("Configuration");
  flags.Add("config", own.config_file,
            "YAML file of flags by their names, without dashes; the command line goes before it",
            "FILE");
  flags.Add("print-config", own.print_config,
            "Print all options as such a file, without keys, and end");
  AddOptions(flags, DescribeServerOptions(), config.server, SetServerFlag);
  AddOptions(flags, DescribeEngineOptions(), config.engine, SetEngineFlag);
  AddVllmFlags(flags);
  flags.AddExample("quire serve");
  flags.AddExample("quire serve ./Qwen3-0.6B --host 0.0.0.0 --api-key-file keys.txt");
  flags.AddExample("quire serve model.gguf --uds /run/quire.sock --max-num-seqs 64");
  flags.AddExample("quire serve --config server.yaml --port 8001");
  return flags;
}

Result<Json> ReadConfigFile(const std::string& path) {
  constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
  QUIRE_ASSIGN_OR_RETURN(const std::string text, ReadInput(path, kMaxBytes));
  return ParseYaml(text);
}

// MODEL of the command line goes before the file's, under either of its names.
Status ApplyConfigFile(const std::string& path, FlagSet& flags, EngineConfig& engine) {
  Result<Json> read = ReadConfigFile(path);
  if (!read.ok()) return read.status().With(StrCat("--config ", Printable(path)));
  Json values = *std::move(read);
  if (values.Find("config") != nullptr) {
    return InvalidArgument(StrCat("--config ", Printable(path),
                                  ": config: a file of flags cannot name a further one"));
  }
  if (values.is_object()) {
    std::erase_if(values.object(), [&](const auto& member) {
      const bool is_model =
          member.first == "model_tag" || member.first == "model-tag" || member.first == "model";
      if (!is_model) return false;
      const bool is_given = flags.is_set("model") || !flags.positionals().empty();
      if (!is_given && member.second.is_string()) engine.model.model = member.second.string();
      return is_given || member.second.is_string();
    });
  }
  return flags.SetOthers(values, StrCat("--config ", Printable(path)));
}

// A line an option that has a value; what JSON writes, YAML reads. Keys are left out.
std::string ConfigText(const ServeConfig& config) {
  std::string out;
  for (const Json& options : {ToJson(config.server), ToJson(config.engine)}) {
    for (const auto& [name, value] : options.object()) {
      if (value.is_null() || name == "api-key" || name == "admin-key") continue;
      if (value.is_array() && value.array().empty()) continue;
      out += StrCat(name, ": ", value.Dump(), "\n");
    }
  }
  return out;
}

Status TakeModelName(const FlagSet& flags, ServeConfig& config) {
  const std::vector<std::string>& positionals = flags.positionals();
  if (positionals.size() > 1) {
    return InvalidArgument(
        StrCat("one model is wanted, got ", positionals.size(), ": ", Join(positionals, ", ")));
  }
  if (!positionals.empty()) {
    QUIRE_RETURN_IF_ERROR(TakeModel(flags, positionals[0], config.engine));
  }
  const std::string& model = config.engine.model.model;
  config.model_name = model.empty() ? std::string(kDefaultModelName) : model;
  return {};
}

// --structured-outputs-config may name the parser that --reasoning-parser names otherwise.
Status TakeReasoningParser(const FlagSet& flags, ServeConfig& config) {
  const std::string named = config.engine.structured.reasoning_parser();
  std::string& parser = config.server.routes.reasoning_parser;
  if (named.empty() || named == parser) return {};
  if (flags.is_set("reasoning-parser")) {
    return InvalidArgument(StrCat("two reasoning parsers are named: ", Printable(named),
                                  " in --structured-outputs-config and --reasoning-parser ",
                                  Printable(parser)));
  }
  parser = named;
  return {};
}

}  // namespace

Result<bool> ReadServeFlags(Args args, ServeConfig& config) {
  OwnFlags own;
  FlagSet flags = MakeFlags(config, own);
  QUIRE_ASSIGN_OR_RETURN(const bool runs, flags.Parse(args));
  if (!runs) return false;
  if (own.config_file) {
    QUIRE_RETURN_IF_ERROR(ApplyConfigFile(*own.config_file, flags, config.engine));
  }
  QUIRE_RETURN_IF_ERROR(TakeModelName(flags, config));
  AddKeysOfEnvironment(config.server.access);
  const AccessOptions& access = config.server.access;
  config.needs_key = !access.api_keys.empty() || !access.api_key_file.empty();
  config.version = QUIRE_VERSION;
  QUIRE_RETURN_IF_ERROR(TakeReasoningParser(flags, config));
  QUIRE_RETURN_IF_ERROR(config.server.Validate());
  QUIRE_RETURN_IF_ERROR(config.engine.Validate());
  if (!own.print_config) return true;
  QUIRE_RETURN_IF_ERROR(PrintToStdout(ConfigText(config)));
  return false;
}

}  // namespace quire
