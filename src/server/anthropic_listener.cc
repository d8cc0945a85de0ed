#include "server/anthropic_listener.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/json_text.h"
#include "server/sse.h"

namespace quire {
namespace {

struct Block {
  AnswerEventKind kind = AnswerEventKind::kContent;  // kCallBegin for a call
  std::string id;
  std::string name;
  std::string text;  // or the call's arguments
};

std::string_view StopReasonOf(const CompletionOutput& answer, bool has_calls) {
  if (answer.finish_reason == FinishReason::kLength) return "max_tokens";
  if (has_calls) return "tool_use";
  const bool has_text = std::holds_alternative<std::string>(answer.stop_reason);
  return has_text && answer.finish_reason == FinishReason::kStop ? "stop_sequence" : "end_turn";
}

// ,"stop_reason":…,"stop_sequence":… without the first comma.
void AppendStop(std::string& out, const CompletionOutput& answer, bool has_calls) {
  out += StrCat(R"("stop_reason":")", StopReasonOf(answer, has_calls), R"(","stop_sequence":)");
  const auto* text = std::get_if<std::string>(&answer.stop_reason);
  AppendStopReason(out, text == nullptr ? StopReason() : StopReason(*text));
}

void AppendTokens(std::string& out, const Usage& usage, bool has_details) {
  out += R"("usage":{"input_tokens":)";
  AppendInt(out, usage.prompt_tokens);
  if (has_details) {
    out += R"(,"cache_creation_input_tokens":0,"cache_read_input_tokens":)";
    AppendInt(out, usage.cached_tokens);
  }
  out += R"(,"output_tokens":)";
  AppendInt(out, usage.completion_tokens);
  out += '}';
}

// As it stands at its begin (`is_whole` false) or at its end.
void AppendBlock(std::string& out, const Block& block, bool is_whole) {
  switch (block.kind) {
    case AnswerEventKind::kReasoning:
      out += R"({"type":"thinking","thinking":)";
      AppendJsonString(out, is_whole ? block.text : "");
      out += R"(,"signature":""})";
      return;
    case AnswerEventKind::kContent:
      out += R"({"type":"text","text":)";
      AppendJsonString(out, is_whole ? block.text : "");
      out += '}';
      return;
    case AnswerEventKind::kCallBegin:
    case AnswerEventKind::kArguments:
      break;
  }
  out += R"({"type":"tool_use","id":)";
  AppendJsonString(out, block.id);
  out += R"(,"name":)";
  AppendJsonString(out, block.name);
  out += R"(,"input":)";
  // An answer that ends in the middle of a call leaves text that is no JSON.
  const bool is_json = is_whole && ParseJson(block.text).ok();
  out += is_json ? block.text : "{}";
  out += '}';
}

class AnthropicListener : public ChatListener {
 public:
  AnthropicListener(ApiCall call, ChatJob job)
      : ChatListener(call, std::move(job), 1),
        stream_(call.reply, call.warnings),
        call_(std::move(call)) {}

  void Finish() override {
    CloseBlock();
    if (!job().is_stream) return SendWhole();
    if (blocks_.empty()) {  // clients look at the first block
      OpenBlock({.kind = AnswerEventKind::kContent});
      CloseBlock();
    }
    BeginEvent("message_delta");
    events_ += R"(,"delta":{)";
    AppendStop(events_, end_, choice(0).num_calls > 0);
    events_ += "},";
    AppendTokens(events_, usage(), HasDetails());
    EndEvent();
    BeginEvent("message_stop");
    EndEvent();
    if (stream_.Write(events_)) stream_.End();
  }

  void Refuse(const Status& error) override {
    if (!stream_.has_begun()) return call_.reply->Send(AnthropicErrorResponse(error));
    const int http_status = HttpStatusOf(error.code());
    const auto events = ErrorEventsIn(ErrorShape::kAnthropic, http_status, error.message());
    if (stream_.Write(events)) stream_.End();
  }

 protected:
  void HearPrompt(const RequestOutput& /*output*/) override {
    if (!job().is_stream) return;
    BeginEvent("message_start");
    events_ += R"(,"message":)";
    AppendMessageHead(events_);
    events_ += R"(,"content":[],"stop_reason":null,"stop_sequence":null,)";
    Usage before = usage();
    before.completion_tokens = 0;
    AppendTokens(events_, before, HasDetails());
    events_ += '}';
    EndEvent();
  }

  void HearAnswer(std::size_t /*choice*/, const std::vector<AnswerEvent>& events,
                  const CompletionOutput& answer) override {
    for (const AnswerEvent& event : events) Take(event);
    if (answer.finish_reason) end_ = answer;
  }

  bool EndNews() override {
    if (events_.empty()) return true;
    const bool goes_on = stream_.Write(events_);
    events_.clear();
    return goes_on;
  }

 private:
  bool HasDetails() const { return state().options.enable_prompt_tokens_details; }

  void Take(const AnswerEvent& event) {
    if (event.kind == AnswerEventKind::kCallBegin) {
      CloseBlock();
      OpenBlock({.kind = event.kind, .id = event.id, .name = event.name});
      return;
    }
    if (event.kind != AnswerEventKind::kArguments &&
        (!is_open_ || blocks_.back().kind != event.kind)) {
      CloseBlock();
      OpenBlock({.kind = event.kind});
    }
    blocks_.back().text += event.text;
    if (!job().is_stream) return;
    BeginEvent("content_block_delta");
    switch (event.kind) {
      case AnswerEventKind::kReasoning:
        events_ += R"(,"delta":{"type":"thinking_delta","thinking":)";
        break;
      case AnswerEventKind::kContent:
        events_ += R"(,"delta":{"type":"text_delta","text":)";
        break;
      default:
        events_ += R"(,"delta":{"type":"input_json_delta","partial_json":)";
    }
    AppendJsonString(events_, event.text);
    events_ += '}';
    AppendIndex();
    EndEvent();
  }

  void OpenBlock(Block block) {
    blocks_.push_back(std::move(block));
    is_open_ = true;
    if (!job().is_stream) return;
    BeginEvent("content_block_start");
    events_ += R"(,"content_block":)";
    AppendBlock(events_, blocks_.back(), false);
    AppendIndex();
    EndEvent();
  }

  void CloseBlock() {
    if (!is_open_) return;
    is_open_ = false;
    if (!job().is_stream) return;
    BeginEvent("content_block_stop");
    AppendIndex();
    EndEvent();
  }

  void AppendMessageHead(std::string& out) const {
    out += R"({"id":)";
    AppendJsonString(out, job().head.id);
    out += R"(,"type":"message","role":"assistant","model":)";
    AppendJsonString(out, job().head.model);
  }

  void SendWhole() {
    std::string out;
    AppendMessageHead(out);
    out += R"(,"content":[)";
    for (const Block& block : blocks_) {
      if (out.back() == '}') out += ',';
      AppendBlock(out, block, true);
    }
    out += "],";
    AppendStop(out, end_, choice(0).num_calls > 0);
    out += ',';
    AppendTokens(out, usage(), HasDetails());
    out += '}';
    SendJson(call_, std::move(out));
  }

  void BeginEvent(std::string_view name) {
    events_ += StrCat("event: ", name, "\ndata: {\"type\":\"", name, "\"");
  }
  void AppendIndex() {
    events_ += R"(,"index":)";
    AppendInt(events_, static_cast<std::int64_t>(blocks_.size()) - 1);
  }
  void EndEvent() { events_ += "}\n\n"; }

  SseStream stream_;
  ApiCall call_;
  std::string events_;  // not written yet
  std::vector<Block> blocks_;
  bool is_open_ = false;  // the last block still grows
  CompletionOutput end_;
};

}  // namespace

std::unique_ptr<PromptListener> MakeAnthropicListener(ApiCall call, ChatJob job) {
  return std::make_unique<AnthropicListener>(std::move(call), std::move(job));
}

}  // namespace quire
