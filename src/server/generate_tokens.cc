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

namespace quire {
namespace {

class GeneratedTokens : public PromptListener {
 public:
  GeneratedTokens(ApiCall call, ReplyHead head, FieldNames field_names, bool has_logprobs)
      : call_(std::move(call)),
        head_(std::move(head)),
        field_names_(std::move(field_names)),
        names_(call_.engine->has_tokenizer() ? &call_.engine->tokenizer() : nullptr, false),
        has_logprobs_(has_logprobs) {}

  bool Hear(std::size_t /*index*/, RequestOutput output) override {
    if (output.is_finished) output_ = std::move(output);
    return true;
  }

  void Finish() override {
    std::string out = R"({"request_id":)";
    AppendJsonString(out, head_.id);
    out += R"(,"choices":[)";
    for (const CompletionOutput& answer : output_.outputs) {
      if (out.back() == '}') out += ',';
      AppendChoice(out, answer);
    }
    out += R"(],"prompt_logprobs":)";
    if (output_.prompt_logprobs.empty()) {
      out += "null";
    } else {
      AppendPromptLogprobs(out, output_.prompt_logprobs, names_);
    }
    out += R"(,"kv_transfer_params":null})";
    SendJson(call_, std::move(out));
  }

  void Fail(const Status& error) override {
    call_.reply->Send(ErrorResponse(field_names_.Translate(error)));
  }

 private:
  void AppendChoice(std::string& out, const CompletionOutput& answer) const {
    out += R"({"index":)";
    AppendInt(out, answer.index);
    out += R"(,"logprobs":)";
    if (has_logprobs_) {
      std::string entries;
      AppendChatLogprobs(entries, answer.token_ids, answer.logprobs, names_);
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

  ApiCall call_;
  const ReplyHead head_;
  const FieldNames field_names_;
  const TokenNames names_;
  const bool has_logprobs_;
  RequestOutput output_;
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

  std::vector<PromptInput> inputs{InputOf(request.common, sampling.sampling)};
  inputs.front().token_ids = std::move(request.token_ids);
  ReplyHead head = MakeReplyHead(call, "generate-tokens-", request.common.request_id);
  const std::string id = head.id;
  const std::shared_ptr<HttpReply> reply = call.reply;
  const PromptPlace place{call.engine, &call.state.live_ids, reply.get()};
  PromptRun::Start(place, id, std::move(inputs),
                   std::make_unique<GeneratedTokens>(std::move(call), std::move(head),
                                                     std::move(names), *has_logprobs));
  return {};
}

}  // namespace quire
