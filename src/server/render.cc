#include "server/render.h"

#include <atomic>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "config/options.h"
#include "server/api_error.h"
#include "server/json_text.h"
#include "server/logprob_text.h"

namespace quire {
namespace {

Json ConstraintOf(const StructuredOutputParams& params) {
  Json out;
  switch (params.kind) {
    case ConstraintKind::kJson:
      out["json"] = Json(params.text);
      break;
    case ConstraintKind::kJsonObject:
      out["json_object"] = Json(true);
      break;
    case ConstraintKind::kRegex:
      out["regex"] = Json(params.text);
      break;
    case ConstraintKind::kChoice:
      out["choice"] = Json(JsonArray(params.choices.begin(), params.choices.end()));
      break;
    case ConstraintKind::kGrammar:
      out["grammar"] = Json(params.text);
      break;
    case ConstraintKind::kStructuralTag:
      out["structural_tag"] = Json(params.text);
      break;
  }
  if (params.disable_any_whitespace) out["disable_any_whitespace"] = Json(true);
  if (params.disable_additional_properties) out["disable_additional_properties"] = Json(true);
  if (!params.whitespace_pattern.empty()) {
    out["whitespace_pattern"] = Json(params.whitespace_pattern);
  }
  return out;
}

// All that says how tokens are chosen, so that POST /inference/v1/generate chooses the same, also
// that of an engine that has no typical_p. max_tokens is there in any case: without it the answer
// would end at the default.
Json SamplingOf(const SamplingParams& sampling) {
  Json out = ToJson(sampling);
  std::erase_if(out.object(), [](const auto& member) {
    const auto& [name, value] = member;
    return (value.is_null() && name != "max_tokens") ||
           (name == "typical_p" && value == Json(1.0)) ||
           (value.is_array() && value.array().empty()) ||
           (value.is_object() && value.object().empty());
  });
  if (sampling.structured_outputs != nullptr) {
    out["structured_outputs"] = ConstraintOf(*sampling.structured_outputs);
  }
  return out;
}

}  // namespace

Status RunTokenizing(ApiCall call, std::size_t num_bytes, std::function<Status(ApiCall&)> work,
                     Refusal refusal) {
  if (num_bytes <= kMaxInlineBytes) return work(call);
  const auto is_gone = std::make_shared<std::atomic<bool>>(false);
  call.reply->OnClientGone([is_gone] { is_gone->store(true, std::memory_order_relaxed); });
  WorkPool& pool = *call.state.tokenizing;
  const auto shared = std::make_shared<ApiCall>(std::move(call));
  const auto run = [shared, is_gone, work = std::move(work)] {
    return is_gone->load(std::memory_order_relaxed) ? Status() : work(*shared);
  };
  if (pool.TryPost(Answering(shared->reply, run, refusal))) return {};
  return ResourceExhausted("too many long texts are waiting to be tokenized");
}

Result<std::vector<TokenId>> Tokenize(const ApiCall& call, const std::string& text,
                                      bool add_special_tokens, std::string_view field) {
  if (!call.engine->has_tokenizer()) {
    return InvalidArgument(StrCat(field, ": the model has no tokenizer"));
  }
  if (text.size() > kMaxTokenizedBytes) {
    return InvalidArgument(StrCat(field, ": must be at most ", kMaxTokenizedBytes,
                                  " bytes of text, got ", text.size()));
  }
  Result<std::vector<TokenId>> ids = call.engine->tokenizer().Encode(
      text, {.add_special_tokens = add_special_tokens, .parse_special = true});
  if (!ids.ok()) return ids.status().With(field);
  return ids;
}

void AppendRendered(std::string& out, const ReplyHead& head, const std::vector<TokenId>& ids,
                    const SamplingParams& sampling) {
  out += R"({"request_id":)";
  AppendJsonString(out, head.id);
  out += R"(,"model":)";
  AppendJsonString(out, head.model);
  out += R"(,"token_ids":)";
  AppendIds(out, ids);
  out += R"(,"sampling_params":)" + SamplingOf(sampling).Dump();
}

Status RenderChat(ApiCall call, ChatTask task, Refusal refusal) {
  const std::size_t num_bytes = call.request->body.size();
  const auto shared = std::make_shared<ChatTask>(std::move(task));
  return RunTokenizing(
      std::move(call), num_bytes,
      [shared](ApiCall& self) -> Status {
        const FieldNames& names = shared->job.names;
        const Result<std::string> text = self.state.templates.Render(std::move(shared->prompt));
        if (!text.ok()) return names.Translate(text.status());
        const auto ids = Tokenize(self, *text, shared->job.add_special_tokens, "prompt");
        if (!ids.ok()) return names.Translate(ids.status());
        std::string out;
        AppendRendered(out, shared->job.head, *ids, shared->input.sampling);
        out += R"(,"prompt_text":)";
        AppendJsonString(out, *text);
        out += '}';
        SendJson(self, std::move(out));
        return {};
      },
      refusal);
}

}  // namespace quire
