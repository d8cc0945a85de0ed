#include "server/generate_tokens.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/common_request.h"
#include "server/generate_request.h"
#include "server/json_text.h"
#include "server/logprob_text.h"
#include "server/prompt_run.h"
#include "server/reply_parts.h"
#include "server/sse.h"

namespace quire {
namespace {

// What the two ways of answering have in common.
struct Job {
  ReplyHead head;
  Delivery delivery;
  FieldNames field_names;  // of the client
  TokenNames names;
  bool has_logprobs = false;
  bool has_details = false;
};

// One choice, or what a chunk tells of it.
void AppendChoice(std::string& out, const Job& job, const CompletionOutput& answer) {
  out += R"({"index":)";
  AppendInt(out, answer.index);
  out += R"(,"logprobs":)";
  if (job.has_logprobs) {
    std::string entries;
    AppendChatLogprobs(entries, answer.token_ids, answer.logprobs, job.names);
    out += R"({"content":[)" + entries + "]}";
  } else {
    out += "null";
  }
  out += R"(,"finish_reason":)";
  AppendFinishReason(out, answer.finish_reason);
  out += R"(,"token_ids":)";
  AppendIds(out, answer.token_ids);
  out += '}';
}

void AppendRequestId(std::string& out, const Job& job) {
  out += R"({"request_id":)";
  AppendJsonString(out, job.head.id);
}

// One answer with everything in it.
class GatheredTokens : public PromptListener {
 public:
  GatheredTokens(ApiCall call, Job job) : call_(std::move(call)), job_(std::move(job)) {}

  bool Hear(std::size_t /*index*/, RequestOutput output) override {
    if (output.is_finished) output_ = std::move(output);
    return true;
  }

  void Finish() override {
    std::string out;
    AppendRequestId(out, job_);
    out += R"(,"model":)";
    AppendJsonString(out, job_.head.model);
    out += R"(,"created":)";
    AppendInt(out, job_.head.created);
    out += R"(,"choices":[)";
    Usage usage{.prompt_tokens = static_cast<std::int64_t>(output_.prompt_token_ids.size()),
                .cached_tokens = output_.num_cached_tokens};
    for (const CompletionOutput& answer : output_.outputs) {
      if (out.back() == '}') out += ',';
      AppendChoice(out, job_, answer);
      usage.completion_tokens += static_cast<std::int64_t>(answer.token_ids.size());
    }
    out += "],";
    AppendUsage(out, usage, job_.has_details);
    out += R"(,"prompt_logprobs":)";
    if (output_.prompt_logprobs.empty()) {
      out += "null";
    } else {
      AppendPromptLogprobs(out, output_.prompt_logprobs, job_.names);
    }
    out += R"(,"kv_transfer_params":null})";
    SendJson(call_, std::move(out));
  }

  void Fail(const Status& error) override {
    call_.reply->Send(ErrorResponse(job_.field_names.Translate(error)));
  }

 private:
  ApiCall call_;
  const Job job_;
  RequestOutput output_;
};

// The answer in chunks, one of them for all that a step brought to a choice.
class StreamedTokens : public PromptListener {
 public:
  StreamedTokens(ApiCall call, Job job)
      : job_(std::move(job)), stream_(call.reply, std::move(call.warnings)) {}

  bool Hear(std::size_t /*index*/, RequestOutput output) override {
    if (!output.prompt_token_ids.empty()) {
      usage_.prompt_tokens = static_cast<std::int64_t>(output.prompt_token_ids.size());
      usage_.cached_tokens = output.num_cached_tokens;
    }
    events_.clear();
    for (const CompletionOutput& answer : output.outputs) {
      if (answer.token_ids.empty() && !answer.finish_reason) continue;
      usage_.completion_tokens += static_cast<std::int64_t>(answer.token_ids.size());
      BeginChunk();
      AppendChoice(events_, job_, answer);
      EndChunk(job_.delivery.has_usage_in_chunks, false);
    }
    return events_.empty() || stream_.Write(events_);
  }

  void Finish() override {
    events_.clear();
    if (job_.delivery.has_usage_chunk) {
      BeginChunk();
      EndChunk(true, job_.has_details);
    }
    stream_.Finish(std::move(events_));
  }

  void Fail(const Status& failure) override { stream_.Fail(job_.field_names.Translate(failure)); }

 private:
  void BeginChunk() {
    events_ += "data: ";
    AppendRequestId(events_, job_);
    events_ += R"(,"choices":[)";
  }

  void EndChunk(bool has_usage, bool has_details) {
    events_ += "],";
    if (has_usage) {
      AppendUsage(events_, usage_, has_details);
    } else {
      events_ += R"("usage":null)";
    }
    events_ += "}\n\n";
  }

  const Job job_;
  SseStream stream_;
  std::string events_;  // of the call under way
  Usage usage_;
};

// What the engine says of sampling is said of sampling_params.
void AddNames(FieldNames& names) {
  GenerateSampling sampling;
  NameCollector inner;
  VisitFields(sampling, inner);
  for (const std::string& name : inner.names()) names.Add(name, "sampling_params." + name);
  names.Add("prompt", "token_ids");
}

// Reads sampling_params.
Status ReadSampling(ApiCall& call, GenerateRequest& request, GenerateSampling& sampling) {
  constexpr std::string_view kField = "sampling_params";
  if (!request.sampling_params.value.is_object()) {
    return InvalidArgument(
        StrCat(kField, ": must be an object, got ", request.sampling_params.value.kind()));
  }
  auto notes = ReadFields(request.sampling_params.value, sampling);
  if (!notes.ok()) return UnderPath(kField, notes.status());
  for (std::string& name : notes->unknown) name = StrCat(kField, ".", name);
  request.common.stream_interval = sampling.stream_interval;
  request.common.constraint.structured_outputs = std::move(sampling.structured_outputs);
  return notes->is_empty() ? Status() : WarnOf(call, *notes, {});
}

}  // namespace

Status HandleGenerate(ApiCall call, Json body) {
  GenerateRequest request;
  QUIRE_RETURN_IF_ERROR(ReadRequest(call, body, request));
  GenerateSampling sampling;
  sampling.sampling = call.engine->sampling_defaults();
  QUIRE_RETURN_IF_ERROR(ReadSampling(call, request, sampling));
  FieldNames names;
  AddNames(names);
  const auto delivery = ReadCommon(call, request.common, sampling.sampling, names);
  if (!delivery.ok()) return names.Translate(delivery.status());
  const auto has_logprobs = ReadLogprobs(sampling.sampling);
  if (!has_logprobs.ok()) return names.Translate(has_logprobs.status());
  sampling.sampling.detokenize = sampling.sampling.detokenize && !sampling.sampling.stop.empty();

  std::vector<PromptInput> inputs{InputOf(call.state, request.common, sampling.sampling)};
  inputs.front().token_ids = std::move(request.token_ids);
  const Tokenizer* tokenizer = call.engine->has_tokenizer() ? &call.engine->tokenizer() : nullptr;
  Job job{.head = MakeReplyHead(call, "generate-tokens-", request.common.request_id),
          .delivery = *delivery,
          .field_names = std::move(names),
          .names = TokenNames(tokenizer, true),
          .has_logprobs = *has_logprobs,
          .has_details = call.state.options.enable_prompt_tokens_details};
  const std::string id = job.head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  std::unique_ptr<PromptListener> listener;
  if (job.delivery.is_stream) {
    listener = std::make_unique<StreamedTokens>(std::move(call), std::move(job));
  } else {
    listener = std::make_unique<GatheredTokens>(std::move(call), std::move(job));
  }
  PromptRun::Start(place, id, std::move(inputs), std::move(listener));
  return {};
}

}  // namespace quire
