#include "apps/quire/serve_flags.h"

#include <cstdlib>

#include "apps/quire/engine_flags.h"
#include "apps/quire/flags.h"
#include "base/strings.h"
#include "config/options.h"

namespace quire {

namespace {

constexpr std::string_view kDefaultModelName = "SmolLM2-135M-Instruct";

void AddServerFlags(FlagSet& flags, ServerConfig& config) {
  const Json defaults = ToJson(config);
  for (const OptionDescription& option : DescribeServerOptions()) {
    flags.Group(option.group);
    flags.AddFlag(option.name,
                  FlagFor(option, [&config](std::string_view name, std::string_view text) {
                    return SetServerFlag(config, name, text);
                  }));
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

}  // namespace

Result<bool> ReadServeFlags(Args args, ServeConfig& config) {
  FlagSet flags("serve [MODEL] [flags]",
                "Serves a model over HTTP: OpenAI's and Anthropic's interfaces, and vLLM's own.");
  AddServerFlags(flags, config.server);
  AddEngineFlags(flags, config.engine);
  QUIRE_ASSIGN_OR_RETURN(const bool runs, flags.Parse(args));
  if (!runs) return false;
  if (flags.positionals().size() > 1) {
    return InvalidArgument(StrCat("one model is wanted, got ", flags.positionals().size(), ": ",
                                  Printable(flags.positionals()[1])));
  }
  if (!flags.positionals().empty()) {
    QUIRE_RETURN_IF_ERROR(TakeModel(flags, flags.positionals()[0], config.engine));
  }
  config.model_name = config.engine.model.model.empty() ? std::string(kDefaultModelName)
                                                        : config.engine.model.model;
  AddKeysOfEnvironment(config.server.access);
  config.needs_key =
      !config.server.access.api_keys.empty() || !config.server.access.api_key_file.empty();
  config.version = QUIRE_VERSION;
  QUIRE_RETURN_IF_ERROR(config.server.Validate());
  QUIRE_RETURN_IF_ERROR(config.engine.Validate());
  return true;
}

}  // namespace quire
