#include "apps/quire/request_log.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "config/options.h"
#include "formats/json.h"

namespace quire {

namespace {

constexpr std::int64_t kDefaultLimit = 2048;
constexpr std::size_t kMaxParameterBytes = 2048;  // a grammar or a list of biases may be long

Json ParametersOf(const SamplingParams& sampling) {
  Json parameters = ToJson(sampling);
  const Json defaults = ToJson(SamplingParams());
  if (!parameters.is_object()) return parameters;
  std::erase_if(parameters.object(), [&](const auto& member) {
    const Json* usual = defaults.Find(member.first);
    return usual != nullptr && *usual == member.second;
  });
  return parameters;
}

}  // namespace

std::string RequestLine(const std::string& id, const EngineRequest& request) {
  return StrCat("request ", Printable(id, 160), ": ", request.prompt.size(), " prompt tokens, ",
                Printable(ParametersOf(request.sampling).Dump(), kMaxParameterBytes));
}

std::string PromptLine(const std::string& id, const EngineRequest& request,
                       const Tokenizer* tokenizer, std::size_t limit) {
  // A token may have no text at all, but few have none.
  const std::size_t num_ids = std::min(request.prompt.size(), limit);
  const std::span<const TokenId> shown(request.prompt.data(), num_ids);
  std::string line = StrCat("request ", Printable(id, 160), ": prompt: ");
  if (tokenizer != nullptr && limit > 0) {
    line += StrCat("\"", Printable(tokenizer->Decode(shown, {.skip_special_tokens = false}), limit),
                   "\", ");
  }
  std::vector<std::string> ids;
  ids.reserve(num_ids);
  for (const TokenId token : shown) ids.push_back(std::to_string(token));
  if (num_ids < request.prompt.size()) ids.emplace_back("…");
  return line + "ids: " + Join(ids, ", ");
}

void LogRequest(const std::string& id, const EngineRequest& request, const Tokenizer* tokenizer,
                std::optional<std::int64_t> max_log_len) {
  QUIRE_LOG(kInfo) << RequestLine(id, request);
  if (GetLogLevel() > LogLevel::kDebug) return;
  const auto limit = static_cast<std::size_t>(max_log_len.value_or(kDefaultLimit));
  QUIRE_LOG(kDebug) << PromptLine(id, request, tokenizer, limit);
}

}  // namespace quire
