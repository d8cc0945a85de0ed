#include "apps/quire/request_log.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "config/options.h"
#include "formats/json.h"

namespace quire {

namespace {

constexpr std::int64_t kDefaultLimit = 2048;
constexpr std::size_t kMaxIdBytes = 160;
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

// Of each line.
std::string BeginningOf(std::string_view id) {
  return StrCat("request ", Printable(id, kMaxIdBytes), ": ");
}

std::size_t LimitOf(std::optional<std::int64_t> max_log_len) {
  return static_cast<std::size_t>(max_log_len.value_or(kDefaultLimit));
}

// "1, 2, …" where there are more than `ids`.
std::string IdsText(std::span<const TokenId> ids, bool has_more) {
  std::vector<std::string> texts;
  texts.reserve(ids.size() + 1);
  for (const TokenId token : ids) texts.push_back(std::to_string(token));
  if (has_more) texts.emplace_back("…");
  return Join(texts, ", ");
}

}  // namespace

std::string RequestLine(const std::string& id, const EngineRequest& request) {
  return StrCat(BeginningOf(id), request.prompt.size(), " prompt tokens, ",
                Printable(ParametersOf(request.sampling).Dump(), kMaxParameterBytes));
}

std::string PromptLine(const std::string& id, const EngineRequest& request,
                       const Tokenizer* tokenizer, std::size_t limit) {
  // A token may have no text at all, but few have none.
  const std::size_t num_ids = std::min(request.prompt.size(), limit);
  const std::span<const TokenId> shown(request.prompt.data(), num_ids);
  std::string line = BeginningOf(id) + "prompt: ";
  if (tokenizer != nullptr && limit > 0) {
    line += StrCat("\"", Printable(tokenizer->Decode(shown, {.skip_special_tokens = false}), limit),
                   "\", ");
  }
  return line + "ids: " + IdsText(shown, num_ids < request.prompt.size());
}

void LogRequest(const std::string& id, const EngineRequest& request, const Tokenizer* tokenizer,
                std::optional<std::int64_t> max_log_len) {
  QUIRE_LOG(kInfo) << RequestLine(id, request);
  if (GetLogLevel() > LogLevel::kDebug) return;
  QUIRE_LOG(kDebug) << PromptLine(id, request, tokenizer, LimitOf(max_log_len));
}

AnswerLog::AnswerLog(std::optional<std::int64_t> max_log_len) : limit_(LimitOf(max_log_len)) {}

std::vector<std::string> AnswerLog::Hear(const RequestOutput& output) {
  std::vector<std::string> lines;
  MutexLock lock(mutex_);
  Answers& answers = live_[output.request_id];
  for (const CompletionOutput& delta : output.outputs) {
    Answer& answer = answers[delta.index];
    Take(delta, answer);
    if (!delta.finish_reason) continue;
    lines.push_back(Line(output.request_id, delta, answer));
    answers.erase(delta.index);
  }
  if (!output.is_finished) return lines;
  live_.erase(output.request_id);
  if (!output.error.ok()) {
    lines.push_back(StrCat(BeginningOf(output.request_id), "ended with an error: ",
                           Printable(output.error.message(), kMaxParameterBytes)));
  }
  return lines;
}

void AnswerLog::Take(const CompletionOutput& delta, Answer& answer) const {
  answer.num_text_bytes += delta.text.size();
  answer.num_ids += delta.token_ids.size();
  answer.text += delta.text.substr(0, limit_ - std::min(limit_, answer.text.size()));
  const std::size_t num_kept =
      std::min(delta.token_ids.size(), limit_ - std::min(limit_, answer.ids.size()));
  answer.ids.insert(answer.ids.end(), delta.token_ids.begin(),
                    delta.token_ids.begin() + static_cast<std::ptrdiff_t>(num_kept));
}

std::string AnswerLog::Line(const std::string& id, const CompletionOutput& last,
                            const Answer& answer) const {
  const char* const cut = answer.num_text_bytes > answer.text.size() ? "…" : "";
  return StrCat(BeginningOf(id), "answer ", last.index, ": \"", Printable(answer.text, limit_), cut,
                "\", ids: ", IdsText(answer.ids, answer.num_ids > answer.ids.size()), "; ",
                answer.num_ids, " tokens, ", ToString(*last.finish_reason));
}

}  // namespace quire
