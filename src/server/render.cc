#include "server/render.h"

#include <atomic>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/json_text.h"
#include "server/logprob_text.h"

namespace quire {
namespace {

void AppendSampling(std::string& out, const SamplingParams& sampling) {
  out += R"("sampling_params":{"n":)";
  AppendInt(out, sampling.n);
  out += R"(,"max_tokens":)";
  if (sampling.max_tokens) {
    AppendInt(out, *sampling.max_tokens);
  } else {
    out += "null";
  }
  out += R"(,"temperature":)" + Json(sampling.temperature).Dump();
  out += R"(,"top_p":)" + Json(sampling.top_p).Dump();
  out += R"(,"top_k":)" + Json(sampling.top_k).Dump() + "}";
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
  out += ',';
  AppendSampling(out, sampling);
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
