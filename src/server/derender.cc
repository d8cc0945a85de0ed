#include "server/derender.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/strings.h"
#include "engine/completion.h"
#include "server/api_error.h"
#include "server/field_reader.h"
#include "server/request_fields.h"

namespace quire {
namespace {

// What is unknown in these was noted with the whole request.
struct GeneratedFields {
  std::optional<std::string> request_id;
  JsonFieldOf<AnySchema> choices;
  JsonFieldOf<AnySchema> prompt_logprobs;
};

template <typename Visitor>
void VisitFields(GeneratedFields& r, Visitor&& visit) {
  visit("request_id", r.request_id, "");
  visit("choices", r.choices, "");
  visit("prompt_logprobs", r.prompt_logprobs, "");
}

struct ChoiceFields {
  std::optional<int> index;
  std::optional<std::string> finish_reason;
  std::vector<TokenId> token_ids;
  JsonFieldOf<AnySchema> logprobs;
};

template <typename Visitor>
void VisitFields(ChoiceFields& r, Visitor&& visit) {
  visit("index", r.index, "");
  visit("finish_reason", r.finish_reason, "");
  visit("token_ids", r.token_ids, "");
  visit("logprobs", r.logprobs, "");
}

template <typename Fields>
Status ReadUnder(std::string_view path, Json& value, Fields& fields) {
  if (!value.is_object()) {
    return InvalidArgument(StrCat(path, ": must be an object, got ", value.kind()));
  }
  const auto notes = ReadFields(value, fields);
  return notes.ok() ? Status() : UnderPath(path, notes.status());
}

Status CheckId(const ApiCall& call, std::int64_t id, std::string_view path) {
  if (id >= 0 && id < call.engine->facts().vocab_size) return {};
  return InvalidArgument(StrCat(path, ": id ", id, " is outside the vocabulary"));
}

Result<FinishReason> ReadFinishReason(const std::optional<std::string>& name,
                                      std::string_view path) {
  if (!name) return FinishReason::kStop;
  for (const FinishReason reason :
       {FinishReason::kStop, FinishReason::kLength, FinishReason::kAbort, FinishReason::kError,
        FinishReason::kRepetition}) {
    if (*name == ToString(reason)) return reason;
  }
  return InvalidArgument(
      StrCat(path, ".finish_reason: must be stop, length, abort, error or repetition, got ",
             Printable(*name)));
}

// {"token": "token_id:7", "logprob": -0.5, …}
Result<TokenLogprob> ReadCandidate(const ApiCall& call, const Json& value, std::string_view path) {
  constexpr std::string_view kPrefix = "token_id:";
  const Json* token = value.Find("token");
  const Json* logprob = value.Find("logprob");
  if (logprob == nullptr || !logprob->is_number()) {
    return InvalidArgument(StrCat(path, ".logprob: must be a number"));
  }
  std::optional<TokenId> id;
  if (token != nullptr && token->is_string() && token->string().starts_with(kPrefix)) {
    id = ParseNumber<TokenId>(std::string_view(token->string()).substr(kPrefix.size()));
  }
  if (!id) return InvalidArgument(StrCat(path, ".token: must be ", kPrefix, "N"));
  QUIRE_RETURN_IF_ERROR(CheckId(call, *id, StrCat(path, ".token")));
  return TokenLogprob{.token = *id, .logprob = static_cast<float>(logprob->number())};
}

Result<PositionLogprobs> ReadPosition(const ApiCall& call, const Json& value,
                                      std::string_view path) {
  PositionLogprobs position;
  QUIRE_ASSIGN_OR_RETURN(const TokenLogprob own, ReadCandidate(call, value, path));
  position.entries.push_back(own);
  const Json* top = value.Find("top_logprobs");
  if (top == nullptr || !top->is_array()) return position;
  for (std::size_t i = 0; i < top->array().size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(
        const TokenLogprob one,
        ReadCandidate(call, top->array()[i], StrCat(path, ".top_logprobs[", i, "]")));
    position.entries.push_back(one);
  }
  return position;
}

// {"content": […]}, one position a token.
Result<std::vector<PositionLogprobs>> ReadLogprobsOf(const ApiCall& call, const Json& value,
                                                     std::size_t num_tokens,
                                                     std::string_view path) {
  const Json* content = value.Find("content");
  const bool has_all =
      content != nullptr && content->is_array() && content->array().size() == num_tokens;
  if (!has_all) {
    return InvalidArgument(StrCat(path, ".content: must be a list as long as token_ids"));
  }
  std::vector<PositionLogprobs> logprobs;
  logprobs.reserve(num_tokens);
  for (std::size_t i = 0; i < num_tokens; ++i) {
    QUIRE_ASSIGN_OR_RETURN(
        PositionLogprobs position,
        ReadPosition(call, content->array()[i], StrCat(path, ".content[", i, "]")));
    logprobs.push_back(std::move(position));
  }
  return logprobs;
}

// {"7": {"logprob": -0.5, "rank": 1}, …}, or null.
Result<PositionLogprobs> ReadPromptPosition(const ApiCall& call, const Json& value,
                                            const std::string& path) {
  PositionLogprobs position;
  if (value.is_null()) return position;
  if (!value.is_object()) {
    return InvalidArgument(StrCat(path, ": must be an object or null, got ", value.kind()));
  }
  for (const auto& [name, entry] : value.object()) {
    const std::optional<TokenId> id = ParseNumber<TokenId>(name);
    const Json* logprob = entry.Find("logprob");
    if (!id || logprob == nullptr || !logprob->is_number()) {
      return InvalidArgument(StrCat(path, ": must map token ids to a logprob and its rank"));
    }
    QUIRE_RETURN_IF_ERROR(CheckId(call, *id, path));
    const Json* rank = entry.Find("rank");
    const bool has_rank = rank != nullptr && rank->is_int() && std::in_range<int>(rank->integer());
    position.entries.push_back({.token = *id,
                                .logprob = static_cast<float>(logprob->number()),
                                .rank = has_rank ? static_cast<int>(rank->integer()) : 0});
  }
  return position;
}

Status ReadPromptLogprobs(const ApiCall& call, const Json& value, std::string_view path,
                          RequestOutput& output) {
  if (value.is_null()) return {};
  if (!value.is_array()) {
    return InvalidArgument(StrCat(path, ".prompt_logprobs: must be a list, got ", value.kind()));
  }
  for (std::size_t i = 0; i < value.array().size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(
        PositionLogprobs position,
        ReadPromptPosition(call, value.array()[i], StrCat(path, ".prompt_logprobs[", i, "]")));
    output.prompt_logprobs.push_back(std::move(position));
  }
  return {};
}

// The text of `made`, as an answer to a request with `sampling` and `prompt`.
Result<CompletionOutput> WithText(const ApiCall& call, EngineCoreOutput made,
                                  const EngineRequest& request, int index) {
  QUIRE_ASSIGN_OR_RETURN(Completion completion,
                         Completion::Create(&call.engine->tokenizer(), request, index));
  const SamplingParams& sampling = request.sampling;
  const bool is_stop = made.finish_reason == FinishReason::kStop && !made.new_tokens.empty();
  const TokenId last = is_stop ? made.new_tokens.back() : TokenId{-1};
  const bool is_end =
      is_stop && !sampling.ignore_eos && std::ranges::count(call.engine->eos_token_ids(), last) > 0;
  if (is_end) {
    completion.Append(made);
    return completion.so_far();
  }
  if (is_stop && std::ranges::count(sampling.stop_token_ids, last) > 0) made.stop_reason = last;
  // A stop string that ends with the last token is looked for before the end is told.
  EngineCoreOutput end{.finish_reason = std::exchange(made.finish_reason, std::nullopt),
                       .stop_reason = std::exchange(made.stop_reason, StopReason())};
  completion.Append(made);
  if (!completion.is_finished()) completion.Append(end);
  return completion.so_far();
}

Result<CompletionOutput> ReadChoice(const ApiCall& call, Json& value, const std::string& path,
                                    const EngineRequest& request, int index) {
  ChoiceFields fields;
  QUIRE_RETURN_IF_ERROR(ReadUnder(path, value, fields));
  if (fields.index.value_or(index) != index) {
    return InvalidArgument(
        StrCat(path, ".index: must be ", index, ", its place, got ", *fields.index));
  }
  const auto longest = static_cast<std::size_t>(call.engine->decisions().plan.max_model_len);
  if (fields.token_ids.size() > longest) {
    return InvalidArgument(StrCat(path, ".token_ids: must be at most max_model_len, which is ",
                                  longest, ", got ", fields.token_ids.size()));
  }
  for (const TokenId id : fields.token_ids) {
    QUIRE_RETURN_IF_ERROR(CheckId(call, id, StrCat(path, ".token_ids")));
  }
  EngineCoreOutput made;
  QUIRE_ASSIGN_OR_RETURN(made.finish_reason, ReadFinishReason(fields.finish_reason, path));
  if (fields.logprobs.is_given()) {
    QUIRE_ASSIGN_OR_RETURN(made.new_logprobs,
                           ReadLogprobsOf(call, fields.logprobs.value, fields.token_ids.size(),
                                          StrCat(path, ".logprobs")));
  }
  made.new_tokens = std::move(fields.token_ids);
  return WithText(call, std::move(made), request, index);
}

Status CheckChoices(const Json& choices, std::string_view path) {
  const bool is_sound = choices.is_array() && !choices.array().empty() &&
                        choices.array().size() <= static_cast<std::size_t>(kMaxOutputs);
  if (is_sound) return {};
  return InvalidArgument(StrCat(path, ".choices: must be a list of 1 to ", kMaxOutputs));
}

}  // namespace

Result<Generated> ReadGenerated(const ApiCall& call, Json& value, std::string_view path,
                                const SamplingParams& sampling, std::vector<TokenId> prompt) {
  GeneratedFields fields;
  QUIRE_RETURN_IF_ERROR(ReadUnder(path, value, fields));
  QUIRE_RETURN_IF_ERROR(CheckChoices(fields.choices.value, path));
  Generated generated;
  generated.request_id = std::move(fields.request_id).value_or("");
  RequestOutput& output = generated.output;
  QUIRE_RETURN_IF_ERROR(ReadPromptLogprobs(call, fields.prompt_logprobs.value, path, output));
  EngineRequest request;
  request.sampling = sampling;
  request.sampling.detokenize = true;
  request.prompt = std::move(prompt);
  JsonArray& choices = fields.choices.value.array();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Json* logprobs = choices[i].Find("logprobs");
    generated.has_logprobs |= logprobs != nullptr && !logprobs->is_null();
    QUIRE_ASSIGN_OR_RETURN(CompletionOutput answer,
                           ReadChoice(call, choices[i], StrCat(path, ".choices[", i, "]"), request,
                                      static_cast<int>(i)));
    output.outputs.push_back(std::move(answer));
  }
  output.prompt_token_ids = std::move(request.prompt);
  output.is_finished = true;
  return generated;
}

Status CheckDerender(const ApiCall& call, const std::vector<TokenId>& prompt) {
  if (!call.engine->has_tokenizer()) {
    return InvalidArgument("generate_response: the model has no tokenizer");
  }
  QUIRE_RETURN_IF_ERROR(CheckPromptTokens(call, static_cast<std::int64_t>(prompt.size())));
  for (const TokenId id : prompt) QUIRE_RETURN_IF_ERROR(CheckId(call, id, "prompt_token_ids"));
  return {};
}

Status CheckPromptTokens(const ApiCall& call, std::int64_t count) {
  const std::int64_t longest = call.engine->decisions().plan.max_model_len;
  if (count >= 0 && count <= longest) return {};
  return InvalidArgument(StrCat("prompt_tokens: must be in [0, ", longest, "], got ", count));
}

}  // namespace quire
