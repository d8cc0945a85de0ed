#include "apps/quire/generation.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "apps/quire/json_lines.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"

namespace quire {

namespace {

// JSON has no infinity; vLLM's servers clamp at the same place.
constexpr double kLowestLogprob = -9999.0;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

double JsonLogprob(double logprob) {
  return std::isfinite(logprob) ? std::max(logprob, kLowestLogprob) : kLowestLogprob;
}

// As vLLM writes them: for each position an object from token id to what is known of it, null for
// a prompt's first token.
Json LogprobsToJson(const Tokenizer* tokenizer, const std::vector<PositionLogprobs>& positions) {
  JsonArray list;
  list.reserve(positions.size());
  for (const PositionLogprobs& position : positions) {
    if (position.entries.empty()) {
      list.emplace_back();
      continue;
    }
    JsonObject tokens;
    std::vector<TokenId> seen;
    for (const TokenLogprob& entry : position.entries) {
      if (std::find(seen.begin(), seen.end(), entry.token) != seen.end()) continue;
      seen.push_back(entry.token);
      JsonObject known{{"logprob", JsonLogprob(double{entry.logprob})}, {"rank", entry.rank}};
      if (tokenizer != nullptr) {
        known.emplace_back("decoded_token", ToValidUtf8(tokenizer->TokenBytes(entry.token)));
      }
      tokens.emplace_back(StrCat(entry.token), std::move(known));
    }
    list.emplace_back(std::move(tokens));
  }
  return Json(std::move(list));
}

Json StopReasonToJson(const StopReason& reason) {
  if (const auto* id = std::get_if<TokenId>(&reason)) return Json(*id);
  if (const auto* text = std::get_if<std::string>(&reason)) return Json(*text);
  return {};
}

JsonObject AnswerToJson(const CompletionOutput& answer, const Tokenizer* tokenizer,
                        const SamplingParams& sampling) {
  JsonObject object;
  object.emplace_back("text", answer.text);
  object.emplace_back("token_ids", JsonArray(answer.token_ids.begin(), answer.token_ids.end()));
  object.emplace_back("finish_reason",
                      answer.finish_reason ? Json(ToString(*answer.finish_reason)) : Json());
  object.emplace_back("stop_reason", StopReasonToJson(answer.stop_reason));
  if (sampling.logprobs || !sampling.logprob_token_ids.empty()) {
    object.emplace_back("cumulative_logprob", JsonLogprob(answer.cumulative_logprob));
    object.emplace_back("logprobs", LogprobsToJson(tokenizer, answer.logprobs));
  }
  return object;
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

void Generation::Add(const RequestOutput& output) {
  last_output_ = Clock::now();
  if (!output.prompt_token_ids.empty()) {
    num_prompt_tokens_ = static_cast<std::int64_t>(output.prompt_token_ids.size());
    prompt_token_ids_ = output.prompt_token_ids;
  }
  if (!output.prompt_logprobs.empty()) prompt_logprobs_ = output.prompt_logprobs;
  num_cached_tokens_ = std::max(num_cached_tokens_, output.num_cached_tokens);
  for (const CompletionOutput& delta : output.outputs) {
    const auto idx = static_cast<std::size_t>(delta.index);
    while (answers_.size() <= idx) {
      const auto next = static_cast<int>(answers_.size());
      answers_.emplace_back().index = next;
    }
    CompletionOutput& answer = answers_[idx];
    if (num_tokens() == 0 && !delta.token_ids.empty()) first_token_ = last_output_;
    answer.text += delta.text;
    Append(answer.token_ids, delta.token_ids);
    Append(answer.logprobs, delta.logprobs);
    answer.cumulative_logprob = delta.cumulative_logprob;
    if (delta.finish_reason) answer.finish_reason = delta.finish_reason;
    if (delta.stop_reason.index() != 0) answer.stop_reason = delta.stop_reason;
  }
  if (!output.error.ok()) status_ = output.error;
  is_finished_ = is_finished_ || output.is_finished;
}

void Generation::Fail(Status status) {
  last_output_ = Clock::now();
  status_ = std::move(status);
  is_finished_ = true;
}

std::int64_t Generation::num_tokens() const {
  std::int64_t count = 0;
  for (const CompletionOutput& answer : answers_) {
    count += static_cast<std::int64_t>(answer.token_ids.size());
  }
  return count;
}

double Generation::seconds_to_first_token() const {
  return num_tokens() == 0 ? 0.0 : Seconds(first_token_ - start_);
}

double Generation::seconds() const { return Seconds(last_output_ - start_); }

double Generation::tokens_per_second() const {
  const double decoding = Seconds(last_output_ - first_token_);
  const std::int64_t count = num_tokens();
  if (count > 1 && decoding > 0) return static_cast<double>(count - 1) / decoding;
  return count == 1 && seconds() > 0 ? 1.0 / seconds() : 0.0;
}

Json Generation::ToJson(const Tokenizer* tokenizer, const SamplingParams& sampling) const {
  if (!status_.ok()) return Json(JsonObject{{"error", ToValidUtf8(status_.message())}});
  JsonObject object =
      answers_.empty() ? JsonObject() : AnswerToJson(answers_.front(), tokenizer, sampling);
  if (answers_.size() > 1) {
    JsonArray outputs;
    for (const CompletionOutput& answer : answers_) {
      JsonObject entry = AnswerToJson(answer, tokenizer, sampling);
      entry.insert(entry.begin(), {"index", Json(answer.index)});
      outputs.emplace_back(std::move(entry));
    }
    object.emplace_back("outputs", std::move(outputs));
  }
  object.emplace_back("prompt_token_ids",
                      JsonArray(prompt_token_ids_.begin(), prompt_token_ids_.end()));
  if (sampling.prompt_logprobs) {
    object.emplace_back("prompt_logprobs", LogprobsToJson(tokenizer, prompt_logprobs_));
  }
  object.emplace_back("usage", JsonObject{{"prompt_tokens", num_prompt_tokens_},
                                          {"completion_tokens", num_tokens()},
                                          {"total_tokens", num_prompt_tokens_ + num_tokens()},
                                          {"cached_tokens", num_cached_tokens_}});
  object.emplace_back("timings", JsonObject{{"first_token_seconds", seconds_to_first_token()},
                                            {"total_seconds", seconds()},
                                            {"tokens_per_second", tokens_per_second()}});
  return Json(std::move(object));
}

std::string Generation::SpeedLine() const {
  const bool is_cut = std::any_of(answers_.begin(), answers_.end(), [](const auto& answer) {
    return answer.finish_reason == FinishReason::kLength;
  });
  return StrCat(
      Plural(num_prompt_tokens_, "prompt token"), ", ", Plural(num_tokens(), "generated token"),
      is_cut ? " (cut by max_tokens or the context)" : "", ", ", Fixed(tokens_per_second(), 1),
      " tokens/s, first token after ", Fixed(seconds_to_first_token(), 2), " s");
}

}  // namespace quire
