#include "server/openai_completions.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/beam_run.h"
#include "server/common_request.h"
#include "server/completion_listeners.h"
#include "server/completion_prompts.h"
#include "server/completion_request.h"
#include "server/derender.h"
#include "server/derender_request.h"
#include "server/render.h"
#include "server/reply_parts.h"

namespace quire {
namespace {

// max_tokens 0 is an echo alone; the engine makes a token all the same.
Status SetEcho(CompletionRequest& request, CompletionJob& job) {
  job.echo = request.echo;
  if (request.sampling.max_tokens == 0 && request.echo) {
    job.is_echo_only = true;
    request.sampling.max_tokens = 1;
  }
  if (request.echo && job.has_logprobs) {
    request.sampling.prompt_logprobs = request.sampling.logprobs.value_or(0);
  }
  return {};
}

Status SetBestOf(CompletionRequest& request, const CompletionJob& job) {
  if (!request.best_of || *request.best_of == request.sampling.n) return {};
  if (request.common.use_beam_search) {
    return InvalidArgument("best_of: excludes use_beam_search");
  }
  if (*request.best_of < request.sampling.n || *request.best_of > kMaxOutputs) {
    return InvalidArgument(StrCat("best_of: must be in [n, ", kMaxOutputs, "], n is ",
                                  request.sampling.n, ", got ", *request.best_of));
  }
  if (job.delivery.is_stream) {
    return InvalidArgument("best_of: cannot be had with stream: true");
  }
  if (request.sampling.is_greedy()) return {};  // all would be equal
  request.sampling.n = *request.best_of;
  if (!request.sampling.logprobs) request.sampling.logprobs = 0;
  return {};
}

std::vector<PromptInput> MakeInputs(const ApiState& state, const CompletionRequest& request,
                                    std::vector<CompletionPrompt> prompts, CompletionJob& job) {
  const bool keeps_texts = request.echo && !request.sampling.truncate_prompt_tokens;
  std::vector<PromptInput> inputs;
  inputs.reserve(prompts.size());
  job.prompt_texts.resize(prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    if (keeps_texts) job.prompt_texts[i] = prompts[i].text;
    PromptInput input = InputOf(state, request.common, request.sampling);
    input.text = std::move(prompts[i].text);
    input.token_ids = std::move(prompts[i].ids);
    input.add_special_tokens = request.add_special_tokens;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

// Choices are counted before the engine sees them, as each has its state here.
Status CheckNumChoices(std::size_t num_prompts, int n) {
  if (n < 1 || num_prompts * static_cast<std::size_t>(n) <= kMaxOutputs) return {};
  return InvalidArgument(StrCat("n: ", num_prompts, " prompts of ", n,
                                " outputs are more than the ", kMaxOutputs, " of a request"));
}

// A request that has been read.
struct Completion {
  CompletionRequest request;
  CompletionJob job;
  std::vector<CompletionPrompt> prompts;
};

// Reads and checks a request.
Status ReadCompletion(ApiCall& call, Json& body, Completion& completion) {
  CompletionRequest& request = completion.request;
  CompletionJob& job = completion.job;
  request.sampling = call.engine->sampling_defaults();
  request.sampling.max_tokens = SamplingParams().max_tokens;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  QUIRE_ASSIGN_OR_RETURN(job.delivery,
                         ReadCommon(call, request.common, request.sampling, job.field_names));
  QUIRE_ASSIGN_OR_RETURN(job.has_logprobs, ReadLogprobs(request.sampling));
  QUIRE_RETURN_IF_ERROR(SetEcho(request, job));
  QUIRE_ASSIGN_OR_RETURN(completion.prompts, ReadPrompts(request.prompt.value));
  QUIRE_RETURN_IF_ERROR(CheckNumChoices(completion.prompts.size(), request.sampling.n));
  job.num_choices = static_cast<std::size_t>(std::max(1, request.sampling.n));
  QUIRE_RETURN_IF_ERROR(SetBestOf(request, job));
  job.head = MakeReplyHead(call, "cmpl-", request.common.request_id);
  return {};
}

// Answers with the prompts as the engine would get them.
Status SendPrompts(ApiCall& call, Completion& completion) {
  std::string out = "[";
  for (CompletionPrompt& prompt : completion.prompts) {
    if (!prompt.ids) {
      QUIRE_ASSIGN_OR_RETURN(
          prompt.ids, Tokenize(call, prompt.text, completion.request.add_special_tokens, "prompt"));
    }
    if (out.back() == '}') out += ',';
    AppendRendered(out, completion.job.head, *prompt.ids, completion.request.sampling);
    out += '}';
  }
  out += ']';
  SendJson(call, std::move(out));
  return {};
}

// The request that was rendered, or what stands for it where that is not told.
Status ReadRenderedCompletion(ApiCall& call, DerenderCompletionRequest& request,
                              Completion& completion) {
  CompletionJob& job = completion.job;
  if (!request.completion_request.is_given()) {
    job.head = MakeReplyHead(call, "cmpl-", std::nullopt);
    return {};
  }
  const Status read = ReadCompletion(call, request.completion_request.value, completion);
  if (!read.ok()) return UnderPath("completion_request", job.field_names.Translate(read));
  const Status valid = completion.request.sampling.Validate(
      static_cast<int>(call.engine->facts().vocab_size), kAllLogprobs);
  if (!valid.ok()) return UnderPath("completion_request", job.field_names.Translate(valid));
  job.delivery.is_stream = false;
  return {};
}

// The answers of the prompts, one after the other.
Result<std::vector<Generated>> ReadAnswers(const ApiCall& call, Json& list,
                                           Completion& completion) {
  constexpr std::string_view kField = "generate_responses";
  if (!list.is_array() || list.array().empty() || list.array().size() > kMaxPrompts) {
    return InvalidArgument(StrCat(kField, ": must be a list of 1 to ", kMaxPrompts));
  }
  JsonArray& items = list.array();
  const std::size_t num_asked = completion.prompts.size();
  if (num_asked > 0 && num_asked != items.size()) {
    return InvalidArgument(
        StrCat(kField, ": must be ", num_asked, ", one a prompt, got ", items.size()));
  }
  std::vector<Generated> answers;
  std::size_t num_outputs = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<TokenId> prompt;
    if (num_asked > 0 && completion.prompts[i].ids) prompt = *completion.prompts[i].ids;
    QUIRE_RETURN_IF_ERROR(CheckDerender(call, prompt));
    QUIRE_ASSIGN_OR_RETURN(Generated answer,
                           ReadGenerated(call, items[i], StrCat(kField, "[", i, "]"),
                                         completion.request.sampling, std::move(prompt)));
    num_outputs += answer.output.outputs.size();
    if (num_outputs > static_cast<std::size_t>(kMaxOutputs)) {
      return InvalidArgument(
          StrCat(kField, ": must hold at most ", kMaxOutputs, " choices together"));
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

// Prompts that are known as ids are counted by these.
Status CountPromptTokens(const ApiCall& call, const std::optional<std::vector<TokenId>>& counts,
                         const std::vector<Generated>& answers, CompletionJob& job) {
  if (!counts) return {};
  if (counts->size() != answers.size()) {
    return InvalidArgument(StrCat("prompt_tokens: must be ", answers.size(),
                                  ", one a generate_response, got ", counts->size()));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(CheckPromptTokens(call, (*counts)[i]));
    if (answers[i].output.prompt_token_ids.empty()) job.num_prompt_tokens += (*counts)[i];
  }
  return {};
}

void SetUp(const ApiCall& call, CompletionJob& job) {
  job.fingerprint = call.state.fingerprint;
  job.has_details = call.state.options.enable_prompt_tokens_details;
  job.tokenizer = call.engine->has_tokenizer() ? &call.engine->tokenizer() : nullptr;
  job.names = TokenNames(job.tokenizer, job.delivery.tokens_as_ids);
}

Status DerenderCompletion(ApiCall& call, DerenderCompletionRequest& request) {
  Completion completion;
  CompletionJob& job = completion.job;
  QUIRE_RETURN_IF_ERROR(ReadRenderedCompletion(call, request, completion));
  QUIRE_ASSIGN_OR_RETURN(std::vector<Generated> answers,
                         ReadAnswers(call, request.generate_responses.value, completion));
  QUIRE_RETURN_IF_ERROR(CountPromptTokens(call, request.prompt_tokens, answers, job));
  job.prompt_texts.resize(answers.size());
  for (std::size_t i = 0; i < completion.prompts.size(); ++i) {
    if (job.echo) job.prompt_texts[i] = std::move(completion.prompts[i].text);
  }
  const bool keeps_best = completion.request.best_of.has_value();
  for (const Generated& answer : answers) {
    if (!keeps_best) job.num_choices = std::max(job.num_choices, answer.output.outputs.size());
    if (completion.prompts.empty()) job.has_logprobs |= answer.has_logprobs;
  }
  if (!answers[0].request_id.empty()) job.head.id = answers[0].request_id;
  SetUp(call, job);
  const auto listener = MakeCompletionListener(std::move(call), std::move(job), answers.size());
  for (std::size_t i = 0; i < answers.size(); ++i) listener->Hear(i, std::move(answers[i].output));
  listener->Finish();
  return {};
}

}  // namespace

Status HandleCompletion(ApiCall call, Json body) {
  Completion completion;
  QUIRE_RETURN_IF_ERROR(ReadCompletion(call, body, completion));
  CompletionJob& job = completion.job;
  SetUp(call, job);
  std::vector<PromptInput> inputs =
      MakeInputs(call.state, completion.request, std::move(completion.prompts), job);
  const std::string id = job.head.id;
  const std::size_t num_prompts = inputs.size();
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  StartPrompts(place, completion.request.common, id, std::move(inputs),
               MakeCompletionListener(std::move(call), std::move(job), num_prompts));
  return {};
}

Status HandleCompletionRender(ApiCall call, Json body) {
  const auto completion = std::make_shared<Completion>();
  QUIRE_RETURN_IF_ERROR(ReadCompletion(call, body, *completion));
  std::size_t num_bytes = 0;
  for (const CompletionPrompt& prompt : completion->prompts) num_bytes += prompt.text.size();
  if (num_bytes > kMaxTokenizedBytes) {
    return InvalidArgument(
        StrCat("prompt: must be at most ", kMaxTokenizedBytes, " bytes of text, got ", num_bytes));
  }
  return RunTokenizing(
      std::move(call), num_bytes,
      [completion](ApiCall& self) { return SendPrompts(self, *completion); }, ErrorResponse);
}

Status HandleCompletionDerender(ApiCall call, Json body) {
  const auto request = std::make_shared<DerenderCompletionRequest>();
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, *request));
  QUIRE_RETURN_IF_ERROR(CheckModel(call.state, request->model));
  const std::size_t num_bytes = call.request->body.size();
  return RunTokenizing(
      std::move(call), num_bytes,
      [request](ApiCall& self) { return DerenderCompletion(self, *request); }, ErrorResponse);
}

}  // namespace quire
