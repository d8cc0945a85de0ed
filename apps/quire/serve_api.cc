#include "apps/quire/serve_api.h"

#include <utility>

#include "apps/quire/command.h"
#include "apps/quire/tokenizer_source.h"

namespace quire {
namespace {

std::string_view NameOf(ContentFormat format) {
  for (const auto& [name, value] : EnumNames<ContentFormat>::kNames) {
    if (value == format) return name;
  }
  return "auto";
}

}  // namespace

Result<std::unique_ptr<Api>> MakeApi(const ServeConfig& config, const AsyncEngine& engine,
                                     EngineSource source) {
  const RouteOptions& routes = config.server.routes;
  ApiOptions options;
  options.served_model_names = routes.served_model_names;
  if (options.served_model_names.empty()) options.served_model_names = {config.model_name};
  options.model_root = config.model_name;
  options.version = config.version;
  const std::string& chosen = config.engine.model.chat_template;
  if (!chosen.empty() && engine.has_tokenizer()) {
    QUIRE_ASSIGN_OR_RETURN(const ChatTemplate chat_template,
                           ChooseChatTemplate(chosen, engine.tokenizer()));
    options.chat_template = chat_template.source();
  }
  options.chat_template_content_format = NameOf(routes.chat_template_content_format);
  options.trust_request_chat_template = routes.trust_request_chat_template;
  options.default_chat_template_kwargs = routes.default_chat_template_kwargs;
  options.response_role = routes.response_role;
  options.tool_call_parser = routes.enable_auto_tool_choice ? routes.tool_call_parser : "";
  options.exclude_tools_when_tool_choice_none = routes.exclude_tools_when_tool_choice_none;
  options.reasoning_parser = routes.reasoning_parser;
  options.strict_fields = routes.strict_fields;
  options.return_tokens_as_token_ids = routes.return_tokens_as_token_ids;
  options.enable_prompt_tokens_details = routes.enable_prompt_tokens_details;
  options.enable_force_include_usage = routes.enable_force_include_usage;
  options.enable_docs = !routes.disable_docs;
  options.allow_priority = config.engine.scheduler.policy == SchedulingPolicy::kPriority;
  options.max_body_bytes = static_cast<std::size_t>(config.server.limits.max_body_bytes);
  return Api::Create(std::move(options), std::move(source));
}

}  // namespace quire
