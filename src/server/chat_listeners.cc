#include "server/chat_listeners.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/json_text.h"
#include "server/logprob_text.h"
#include "server/sse.h"

namespace quire {
namespace {

TokenNames NamesOf(const ApiCall& call, const ChatAnswerShape& shape) {
  return {call.engine->has_tokenizer() ? &call.engine->tokenizer() : nullptr,
          shape.delivery.tokens_as_ids};
}

// Both names under which clients read the reasoning.
void AppendReasoning(std::string& out, std::string_view text) {
  out += R"("reasoning":)";
  AppendJsonString(out, text);
  out += R"(,"reasoning_content":)";
  AppendJsonString(out, text);
}

// An answer that is told when it is whole.
class GatheredChat : public ChatListener {
 public:
  GatheredChat(ApiCall call, ChatJob job, ChatAnswerShape shape)
      : ChatListener(call, std::move(job), shape.num_choices),
        names_(NamesOf(call, shape)),
        call_(std::move(call)),
        shape_(std::move(shape)),
        messages_(shape_.num_choices * this->job().num_prompts()) {}

  void Finish() override {
    std::string out;
    AppendHead(out, job().head, "chat.completion");
    out += R"(,"choices":[)";
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (i > 0) out += ',';
      AppendChoice(out, i);
    }
    out += R"(],"service_tier":null,"system_fingerprint":)";
    AppendJsonString(out, state().fingerprint);
    out += ',';
    AppendWholeUsage(out, usage(), state().options.enable_prompt_tokens_details);
    out += R"(,"prompt_logprobs":)" + prompt_logprobs_;
    out += R"(,"prompt_token_ids":)" + prompt_ids_;
    out += R"(,"prompt_text":)";
    if (job().wants_prompt_text) {
      AppendJsonString(out, job().rendered->prompt_text);
    } else {
      out += "null";
    }
    out += R"(,"kv_transfer_params":null,"ec_transfer_params":null,"metrics":null})";
    SendJson(call_, std::move(out));
  }

  void Refuse(const Status& error) override { call_.reply->Send(ErrorResponse(error)); }

 protected:
  void HearPrompt(const RequestOutput& output) override {
    if (job().num_prompts() > 1) return;
    if (!output.prompt_logprobs.empty()) {
      prompt_logprobs_.clear();
      AppendPromptLogprobs(prompt_logprobs_, output.prompt_logprobs, names_);
    }
    if (shape_.delivery.return_token_ids) {
      prompt_ids_.clear();
      AppendIds(prompt_ids_, output.prompt_token_ids);
    }
  }

  void HearAnswer(std::size_t choice, const std::vector<AnswerEvent>& events,
                  const CompletionOutput& answer) override {
    Message& message = messages_[choice];
    for (const AnswerEvent& event : events) {
      switch (event.kind) {
        case AnswerEventKind::kReasoning:
          message.reasoning += event.text;
          break;
        case AnswerEventKind::kContent:
          message.content += event.text;
          break;
        case AnswerEventKind::kCallBegin:
          message.calls.push_back({.id = event.id, .name = event.name, .arguments = ""});
          break;
        case AnswerEventKind::kArguments:
          message.calls.back().arguments += event.text;
          break;
      }
    }
    message.answer = answer;
  }

  bool EndNews() override { return true; }

 private:
  struct Call {
    std::string id, name, arguments;
  };
  struct Message {
    std::string reasoning, content;
    std::vector<Call> calls;
    CompletionOutput answer;
  };

  void AppendMessage(std::string& out, const Message& message) const {
    out += R"({"role":)";
    AppendJsonString(out, shape_.role);
    out += R"(,"content":)";
    if (message.content.empty() && !message.calls.empty()) {
      out += "null";
    } else {
      AppendJsonString(out, shape_.echoed + message.content);
    }
    out += R"(,"refusal":null,"annotations":null,"audio":null,"function_call":null)";
    if (!message.calls.empty()) {
      out += R"(,"tool_calls":[)";
      for (const Call& call : message.calls) {
        if (out.back() == '}') out += ',';
        out += R"({"id":)";
        AppendJsonString(out, call.id);
        out += R"(,"type":"function","function":{"name":)";
        AppendJsonString(out, call.name);
        out += R"(,"arguments":)";
        AppendJsonString(out, call.arguments);
        out += "}}";
      }
      out += ']';
    }
    out += ',';
    if (message.reasoning.empty()) {
      out += R"("reasoning":null,"reasoning_content":null)";
    } else {
      AppendReasoning(out, message.reasoning);
    }
    out += '}';
  }

  void AppendChoice(std::string& out, std::size_t i) const {
    const Message& message = messages_[i];
    out += R"({"index":)";
    AppendInt(out, static_cast<std::int64_t>(i));
    out += R"(,"message":)";
    AppendMessage(out, message);
    out += R"(,"logprobs":)";
    if (shape_.has_logprobs) {
      std::string entries;
      AppendChatLogprobs(entries, message.answer.token_ids, message.answer.logprobs, names_);
      out += R"({"content":[)" + entries + "]}";
    } else {
      out += "null";
    }
    out += R"(,"finish_reason":")";
    out += FinishReasonOf(i, message.answer);
    out += R"(","stop_reason":)";
    AppendStopReason(out, message.answer.stop_reason);
    out += R"(,"token_ids":)";
    if (shape_.delivery.return_token_ids) {
      AppendIds(out, message.answer.token_ids);
    } else {
      out += "null";
    }
    out += R"(,"routed_experts":null})";
  }

  const TokenNames names_;
  ApiCall call_;
  const ChatAnswerShape shape_;
  std::vector<Message> messages_;
  std::string prompt_logprobs_ = "null";
  std::string prompt_ids_ = "null";
};

// An answer in chunks; all that one step brought goes out in one write.
class StreamedChat : public ChatListener {
 public:
  StreamedChat(ApiCall call, ChatJob job, ChatAnswerShape shape)
      : ChatListener(call, std::move(job), shape.num_choices),
        names_(NamesOf(call, shape)),
        stream_(call.reply, std::move(call.warnings)),
        shape_(std::move(shape)),
        waiting_(shape_.num_choices) {
    before_ = "data: ";
    AppendHead(before_, this->job().head, "chat.completion.chunk");
    before_ += R"(,"choices":[)";
  }

  void Finish() override {
    events_.clear();
    if (shape_.delivery.has_usage_chunk) {
      events_ += before_;
      events_ += "],";
      AppendUsage(events_, usage(), state().options.enable_prompt_tokens_details);
      AppendFingerprint();
      events_ += "}\n\n";
    }
    stream_.Finish(std::move(events_));
  }

  void Refuse(const Status& error) override { stream_.Fail(error); }

 protected:
  // One chunk a choice says whose words follow.
  void HearPrompt(const RequestOutput& output) override {
    for (std::size_t i = 0; i < shape_.num_choices; ++i) {
      BeginChunk(i);
      events_ += R"("role":)";
      AppendJsonString(events_, shape_.role);
      events_ += R"(,"content":)";
      AppendJsonString(events_, shape_.echoed);
      events_ += R"(},"logprobs":null,"finish_reason":null}],"prompt_token_ids":)";
      if (shape_.delivery.return_token_ids) {
        AppendIds(events_, output.prompt_token_ids);
      } else {
        events_ += "null";
      }
      events_ += R"(,"prompt_text":)";
      if (job().wants_prompt_text) {
        AppendJsonString(events_, job().rendered->prompt_text);
      } else {
        events_ += "null";
      }
      EndChunk(i);
    }
  }

  void HearAnswer(std::size_t choice, const std::vector<AnswerEvent>& events,
                  const CompletionOutput& answer) override {
    Waiting& waiting = waiting_[choice];
    if (shape_.has_logprobs) {
      AppendChatLogprobs(waiting.logprobs, answer.token_ids, answer.logprobs, names_);
    }
    if (shape_.delivery.return_token_ids) {
      waiting.ids.insert(waiting.ids.end(), answer.token_ids.begin(), answer.token_ids.end());
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      BeginChunk(choice);
      AppendDelta(events[i]);
      // The end stands with the last text, but never in the delta of a call.
      const bool is_last = i + 1 == events.size() && IsText(events[i]);
      FinishChunk(choice, is_last ? &answer : nullptr);
    }
    const bool is_told = !events.empty() && IsText(events.back());
    const bool has_more = !waiting.logprobs.empty() || !waiting.ids.empty();
    if ((answer.finish_reason && !is_told) || has_more) {
      BeginChunk(choice);
      FinishChunk(choice, &answer);
    }
  }

  bool EndNews() override {
    if (events_.empty()) return true;
    const bool goes_on = stream_.Write(events_);
    events_.clear();
    return goes_on;
  }

 private:
  // Of a choice: what no chunk has told yet.
  struct Waiting {
    std::string logprobs;
    std::vector<TokenId> ids;
  };

  static bool IsText(const AnswerEvent& event) {
    return event.kind == AnswerEventKind::kContent || event.kind == AnswerEventKind::kReasoning;
  }

  void BeginChunk(std::size_t choice) {
    events_ += before_;
    events_ += R"({"index":)";
    AppendInt(events_, static_cast<std::int64_t>(choice));
    events_ += R"(,"delta":{)";
  }

  void AppendDelta(const AnswerEvent& event) {
    switch (event.kind) {
      case AnswerEventKind::kContent:
        events_ += R"("content":)";
        AppendJsonString(events_, event.text);
        break;
      case AnswerEventKind::kReasoning:
        AppendReasoning(events_, event.text);
        break;
      case AnswerEventKind::kCallBegin:
        events_ += R"("content":null,"tool_calls":[{"id":)";
        AppendJsonString(events_, event.id);
        events_ += R"(,"type":"function","index":)";
        AppendInt(events_, event.call_index);
        events_ += R"(,"function":{"name":)";
        AppendJsonString(events_, event.name);
        events_ += R"(,"arguments":""}}])";
        break;
      case AnswerEventKind::kArguments:
        events_ += R"("content":null,"tool_calls":[{"index":)";
        AppendInt(events_, event.call_index);
        events_ += R"(,"function":{"arguments":)";
        AppendJsonString(events_, event.text);
        events_ += "}}]";
        break;
    }
  }

  // The rest of a chunk after its delta; `answer` where the chunk may be the last.
  void FinishChunk(std::size_t choice, const CompletionOutput* answer) {
    Waiting& waiting = waiting_[choice];
    events_ += R"(},"logprobs":)";
    if (waiting.logprobs.empty()) {
      events_ += "null";
    } else {
      events_ += R"({"content":[)" + waiting.logprobs + "]}";
      waiting.logprobs.clear();
    }
    const bool is_end = answer != nullptr && answer->finish_reason.has_value();
    if (is_end) {
      events_ += R"(,"finish_reason":")";
      events_ += FinishReasonOf(choice, *answer);
      events_ += R"(","stop_reason":)";
      AppendStopReason(events_, answer->stop_reason);
    } else {
      events_ += R"(,"finish_reason":null)";
    }
    events_ += R"(,"token_ids":)";
    if (shape_.delivery.return_token_ids) {
      AppendIds(events_, waiting.ids);
      waiting.ids.clear();
    } else {
      events_ += "null";
    }
    events_ += "}]";
    if (is_end) AppendFingerprint();
    EndChunk(choice);
  }

  void EndChunk(std::size_t i) {
    if (shape_.delivery.has_usage_in_chunks) {
      events_ += ',';
      AppendUsage(
          events_,
          {.prompt_tokens = usage().prompt_tokens, .completion_tokens = choice(i).num_tokens},
          false);
    } else if (shape_.delivery.has_usage_chunk) {
      events_ += R"(,"usage":null)";
    }
    events_ += "}\n\n";
  }

  void AppendFingerprint() {
    events_ += R"(,"system_fingerprint":)";
    AppendJsonString(events_, state().fingerprint);
  }

  const TokenNames names_;
  SseStream stream_;
  const ChatAnswerShape shape_;
  std::string before_;  // of every chunk, up to its choices
  std::string events_;  // not written yet
  std::vector<Waiting> waiting_;
};

}  // namespace

std::unique_ptr<PromptListener> MakeChatListener(ApiCall call, ChatJob job, ChatAnswerShape shape) {
  if (shape.delivery.is_stream) {
    return std::make_unique<StreamedChat>(std::move(call), std::move(job), std::move(shape));
  }
  return std::make_unique<GatheredChat>(std::move(call), std::move(job), std::move(shape));
}

}  // namespace quire
