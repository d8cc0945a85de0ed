#include "server/response_listener.h"

#include <utility>
#include <vector>

#include "base/strings.h"
#include "server/api_error.h"
#include "server/json_text.h"
#include "server/logprob_text.h"
#include "server/response_store.h"
#include "server/sse.h"

namespace quire {
namespace {

// What vLLM has besides, never with a value here.
constexpr std::string_view kNullMembers = R"(,"kv_transfer_params":null,"ec_transfer_params":null,)"
                                          R"("input_messages":null,"output_messages":null)";

enum class ItemKind { kReasoning, kMessage, kCall };

struct Item {
  ItemKind kind = ItemKind::kMessage;
  std::string id;
  std::string text;      // or the call's arguments
  std::string logprobs;  // the inside of the list
  bool has_logprobs = false;
  std::string call_id;
  std::string name;
};

// The part of a reasoning or a message.
void AppendPart(std::string& out, const Item& item) {
  if (item.kind == ItemKind::kReasoning) {
    out += R"({"type":"reasoning_text","text":)";
    AppendJsonString(out, item.text);
    out += '}';
    return;
  }
  out += R"({"annotations":[],"text":)";
  AppendJsonString(out, item.text);
  out += R"(,"type":"output_text","logprobs":)";
  out += item.has_logprobs ? StrCat("[", item.logprobs, "]}") : "null}";
}

void AppendItem(std::string& out, const Item& item, bool is_done) {
  const std::string_view status = is_done ? "completed" : "in_progress";
  out += R"({"id":)";
  AppendJsonString(out, item.id);
  switch (item.kind) {
    case ItemKind::kReasoning:
      out += R"(,"type":"reasoning","summary":[],"content":[)";
      break;
    case ItemKind::kMessage:
      out += R"(,"type":"message","role":"assistant","content":[)";
      break;
    case ItemKind::kCall:
      out += R"(,"type":"function_call","call_id":)";
      AppendJsonString(out, item.call_id);
      out += R"(,"name":)";
      AppendJsonString(out, item.name);
      out += R"(,"arguments":)";
      AppendJsonString(out, item.text);
      out += StrCat(R"(,"status":")", status, "\"}");
      return;
  }
  if (is_done) AppendPart(out, item);
  out += StrCat(R"(],"status":")", status, "\"");
  out += item.kind == ItemKind::kMessage ? R"(,"phase":null})" : "}";
}

void AppendObjectHead(std::string& out, const ResponseShape& shape, const ReplyHead& head,
                      std::string_view status) {
  out += R"({"id":)";
  AppendJsonString(out, shape.id);
  out += R"(,"object":"response","created_at":)";
  AppendInt(out, head.created);
  out += R"(,"model":)";
  AppendJsonString(out, head.model);
  out += StrCat(R"(,"status":")", status, "\"");
  out += shape.echoed;
}

void AppendResponseUsage(std::string& out, const Usage& usage) {
  out += R"(,"usage":{"input_tokens":)";
  AppendInt(out, usage.prompt_tokens);
  out += R"(,"input_tokens_details":{"cached_tokens":)";
  AppendInt(out, usage.cached_tokens);
  out += R"(,"cache_write_tokens":0,"input_tokens_per_turn":[],"cached_tokens_per_turn":[]})"
         R"(,"output_tokens":)";
  AppendInt(out, usage.completion_tokens);
  out += R"(,"output_tokens_details":{"reasoning_tokens":)";
  AppendInt(out, usage.reasoning_tokens.value_or(0));
  out += R"(,"tool_output_tokens":0,"output_tokens_per_turn":[],"tool_output_tokens_per_turn":[]})"
         R"(,"total_tokens":)";
  AppendInt(out, usage.prompt_tokens + usage.completion_tokens);
  out += '}';
}

class ResponseListener : public ChatListener {
 public:
  ResponseListener(ApiCall call, ChatJob job, ResponseShape shape)
      : ChatListener(call, std::move(job), 1),
        names_(call.engine->has_tokenizer() ? &call.engine->tokenizer() : nullptr, false),
        stream_(call.reply, call.warnings),
        call_(std::move(call)),
        shape_(std::move(shape)) {}

  void Finish() override {
    CloseItem();
    if (end_.finish_reason == FinishReason::kAbort) {
      status_ = "cancelled";
    } else if (end_.finish_reason == FinishReason::kLength) {
      status_ = "incomplete";
    } else {
      status_ = "completed";
    }
    std::string body = Object();
    Store(body);  // first, so that who hears of it finds it
    if (job().is_stream) {
      BeginEvent("response.completed");
      events_ += R"(,"response":)" + body;
      EndEvent();
      EndStream();
    }
    if (!job().is_stream && !shape_.is_background) SendJson(call_, std::move(body));
  }

  void Refuse(const Status& error) override {
    if (shape_.is_background) {
      status_ = "failed";
      error_ = StrCat(R"({"code":"server_error","message":)", Json(error.message()).Dump(), "}");
      const std::string body = Object();
      Store(body);
      if (!job().is_stream) return;
      BeginEvent("response.failed");
      events_ += R"(,"response":)" + body;
      EndEvent();
      return EndStream();
    }
    if (!stream_.has_begun()) return call_.reply->Send(ErrorResponse(error));
    events_.clear();
    BeginEvent("error");
    events_ += ',';
    events_ += ResponsesErrorMembers(HttpStatusOf(error.code()), error.message());
    EndEvent();
    EndStream();
  }

 protected:
  void HearPrompt(const RequestOutput& /*output*/) override {
    if (!job().is_stream) return;
    for (const char* name : {"response.created", "response.in_progress"}) {
      BeginEvent(name);
      events_ += R"(,"response":)" + ResponseBody(shape_, job().head, "in_progress");
      EndEvent();
    }
  }

  void HearAnswer(std::size_t /*choice*/, const std::vector<AnswerEvent>& events,
                  const CompletionOutput& answer) override {
    if (shape_.has_logprobs) {
      AppendChatLogprobs(logprobs_, answer.token_ids, answer.logprobs, names_);
    }
    for (const AnswerEvent& event : events) Take(event);
    if (answer.finish_reason) end_ = answer;
  }

  bool EndNews() override {
    if (events_.empty()) return true;
    const bool goes_on = SendEvents();
    events_.clear();
    return goes_on;
  }

 private:
  // False where nobody wants more.
  bool SendEvents() {
    if (shape_.events == nullptr) return stream_.Write(events_);
    shape_.events->Append(events_);
    return true;
  }
  void EndStream() {
    if (!SendEvents()) return;
    if (shape_.events == nullptr) {
      stream_.End();
    } else {
      shape_.events->End();
    }
  }

  void Take(const AnswerEvent& event) {
    switch (event.kind) {
      case AnswerEventKind::kReasoning:
        OpenItem(ItemKind::kReasoning);
        return AppendText("response.reasoning_text.delta", event.text);
      case AnswerEventKind::kContent:
        OpenItem(ItemKind::kMessage);
        return AppendText("response.output_text.delta", event.text);
      case AnswerEventKind::kCallBegin:
        return OpenCall(event);
      case AnswerEventKind::kArguments:
        return AppendText("response.function_call_arguments.delta", event.text);
    }
  }

  void OpenItem(ItemKind kind) {
    if (is_open_ && items_.back().kind == kind) return;
    CloseItem();
    const char* prefix = kind == ItemKind::kReasoning ? "rs_" : "msg_";
    items_.push_back({.kind = kind, .id = prefix + FreshId(), .has_logprobs = shape_.has_logprobs});
    AnnounceItem();
    if (!job().is_stream) return;
    BeginItemEvent("response.content_part.added");
    events_ += R"(,"content_index":0,"part":)";
    AppendPart(events_, items_.back());
    EndEvent();
  }

  void OpenCall(const AnswerEvent& event) {
    CloseItem();
    items_.push_back({.kind = ItemKind::kCall,
                      .id = "fc_" + FreshId(),
                      .call_id = event.id,
                      .name = event.name});
    AnnounceItem();
  }

  void AnnounceItem() {
    is_open_ = true;
    if (!job().is_stream) return;
    BeginEvent("response.output_item.added");
    AppendIndex();
    events_ += R"(,"item":)";
    AppendItem(events_, items_.back(), false);
    EndEvent();
  }

  void AppendText(std::string_view event, const std::string& text) {
    Item& item = items_.back();
    item.text += text;
    const std::string logprobs =
        item.kind == ItemKind::kMessage ? std::exchange(logprobs_, "") : "";
    if (!logprobs.empty()) {
      if (!item.logprobs.empty()) item.logprobs += ',';
      item.logprobs += logprobs;
    }
    if (!job().is_stream) return;
    BeginItemEvent(event);
    if (item.kind != ItemKind::kCall) events_ += R"(,"content_index":0)";
    if (item.kind == ItemKind::kMessage) events_ += R"(,"logprobs":[)" + logprobs + "]";
    events_ += R"(,"delta":)";
    AppendJsonString(events_, text);
    EndEvent();
  }

  void CloseItem() {
    if (!is_open_) return;
    is_open_ = false;
    const Item& item = items_.back();
    if (!job().is_stream) return;
    switch (item.kind) {
      case ItemKind::kReasoning:
        EndText("response.reasoning_text.done", "text");
        break;
      case ItemKind::kMessage:
        EndText("response.output_text.done", "text");
        break;
      case ItemKind::kCall:
        EndText("response.function_call_arguments.done", "arguments");
        break;
    }
    if (item.kind != ItemKind::kCall) {
      BeginItemEvent("response.content_part.done");
      events_ += R"(,"content_index":0,"part":)";
      AppendPart(events_, item);
      EndEvent();
    }
    BeginEvent("response.output_item.done");
    AppendIndex();
    events_ += R"(,"item":)";
    AppendItem(events_, item, true);
    EndEvent();
  }

  void EndText(std::string_view event, std::string_view member) {
    const Item& item = items_.back();
    BeginItemEvent(event);
    if (item.kind == ItemKind::kCall) {
      events_ += R"(,"name":)";
      AppendJsonString(events_, item.name);
    } else {
      events_ += R"(,"content_index":0)";
    }
    if (item.kind == ItemKind::kMessage) events_ += R"(,"logprobs":[)" + item.logprobs + "]";
    events_ += StrCat(",\"", member, "\":");
    AppendJsonString(events_, item.text);
    EndEvent();
  }

  void BeginEvent(std::string_view name) {
    events_ += StrCat("event: ", name, "\ndata: {\"type\":\"", name, "\",\"sequence_number\":");
    AppendInt(events_, sequence_number_++);
  }
  void BeginItemEvent(std::string_view name) {
    BeginEvent(name);
    events_ += R"(,"item_id":)";
    AppendJsonString(events_, items_.back().id);
    AppendIndex();
  }
  void AppendIndex() {
    events_ += R"(,"output_index":)";
    AppendInt(events_, static_cast<std::int64_t>(items_.size()) - 1);
  }
  void EndEvent() { events_ += "}\n\n"; }

  std::string Object() const {
    std::string out;
    AppendObjectHead(out, shape_, job().head, status_);
    out += R"(,"error":)" + error_;
    out += R"(,"incomplete_details":)";
    out += status_ == "incomplete" ? R"({"reason":"max_output_tokens"})" : "null";
    out += R"(,"output":[)";
    for (const Item& item : items_) {
      if (out.back() == '}') out += ',';
      AppendItem(out, item, true);
    }
    out += ']';
    AppendResponseUsage(out, usage());
    out += kNullMembers;
    out += '}';
    return out;
  }

  // The chat with the answer at its end, which a later request may go on with.
  std::shared_ptr<const Json> Conversation() const {
    auto chat = std::make_shared<Json>(shape_.messages);
    Json message{JsonObject{{"role", Json("assistant")}}};
    std::string content;
    JsonArray calls;
    for (const Item& item : items_) {
      if (item.kind == ItemKind::kMessage) content += item.text;
      if (item.kind == ItemKind::kReasoning) message["reasoning_content"] = Json(item.text);
      if (item.kind != ItemKind::kCall) continue;
      Json call;
      call["id"] = Json(item.call_id);
      call["type"] = Json("function");
      call["function"]["name"] = Json(item.name);
      call["function"]["arguments"] = Json(item.text);
      calls.push_back(std::move(call));
    }
    message["content"] = Json(std::move(content));
    if (!calls.empty()) message["tool_calls"] = Json(std::move(calls));
    chat->array().push_back(std::move(message));
    return chat;
  }

  void Store(const std::string& body) const {
    if (!shape_.is_stored) return;
    StoredResponse response;
    response.body = body;
    response.messages = Conversation();
    response.events = shape_.events;
    ResponseStore& store = *state().responses;
    if (shape_.is_background) {
      store.Complete(shape_.id, std::move(response));
    } else {
      store.Put(shape_.id, std::move(response));
    }
  }

  const TokenNames names_;
  SseStream stream_;
  ApiCall call_;
  const ResponseShape shape_;
  std::string events_;    // not written yet
  std::string logprobs_;  // of tokens whose text has not come yet
  std::vector<Item> items_;
  bool is_open_ = false;  // the last item still grows
  CompletionOutput end_;
  std::string status_ = "in_progress";
  std::string error_ = "null";
  std::int64_t sequence_number_ = 0;
};

}  // namespace

std::string ResponseBody(const ResponseShape& shape, const ReplyHead& head,
                         std::string_view status) {
  std::string out;
  AppendObjectHead(out, shape, head, status);
  out += R"(,"error":null,"incomplete_details":null,"output":[],"usage":null)";
  out += kNullMembers;
  out += '}';
  return out;
}

std::unique_ptr<PromptListener> MakeResponseListener(ApiCall call, ChatJob job,
                                                     ResponseShape shape) {
  return std::make_unique<ResponseListener>(std::move(call), std::move(job), std::move(shape));
}

}  // namespace quire
