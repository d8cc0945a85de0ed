#include "apps/quire/openai_client.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "apps/quire/sse_reader.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"

namespace quire {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxListBytes = std::size_t{16} << 20;

std::string KeyOfEnvironment() {
  for (const char* name : {"QUIRE_API_KEY", "VLLM_API_KEY", "OPENAI_API_KEY"}) {
    const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
    if (value != nullptr && *value != '\0') return value;
  }
  return {};
}

const Json* FindPath(const Json& json, std::initializer_list<std::string_view> path) {
  const Json* at = &json;
  for (const std::string_view name : path) {
    at = at->Find(name);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string TextAt(const Json& json, std::string_view name) {
  const Json* found = json.Find(name);
  return found != nullptr && found->is_string() ? found->string() : std::string();
}

// The message in OpenAI's {"error": {"message"}}, in the older {"message"}, or the text itself.
std::string MessageOf(std::string_view body) {
  const Result<Json> json = ParseJson(body, {.max_bytes = kMaxListBytes});
  if (!json.ok()) return Printable(body, 200);
  for (const Json* found : {FindPath(*json, {"error", "message"}), json->Find("message"),
                            json->Find("error"), json->Find("detail")}) {
    if (found != nullptr && found->is_string()) return found->string();
  }
  return Printable(body, 200);
}

Code CodeOf(int status) {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return Code::kInvalidArgument;
    case 401:
    case 403:
      return Code::kFailedPrecondition;
    case 404:
      return Code::kNotFound;
    case 429:
      return Code::kResourceExhausted;
    case 501:
      return Code::kUnimplemented;
    case 502:
    case 503:
    case 504:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

Status Refusal(const HttpResponse& response, const std::string& address) {
  std::string message = StrCat(address, " answers ", response.status);
  const std::string text = MessageOf(response.body);
  if (!text.empty()) message += ": " + text;
  if (response.status == 401) message += "; a key is given with --api-key or QUIRE_API_KEY";
  return Status(CodeOf(response.status), std::move(message));
}

// Takes the chunks of a streamed answer in.
class AnswerReader {
 public:
  explicit AnswerReader(const StreamSink& sink) : sink_(sink), start_(Clock::now()) {}

  Status Take(const SseEvent& event) {
    if (event.data == "[DONE]") {
      is_done_ = true;
      return {};
    }
    const Result<Json> chunk = ParseJson(event.data);
    if (!chunk.ok()) {
      return Status(Code::kUnavailable,
                    StrCat("the stream holds what is no JSON: ", Printable(event.data)));
    }
    if (event.name == "error" || chunk->Find("error") != nullptr) {
      return Internal(StrCat("the server ended the answer: ", MessageOf(event.data)));
    }
    if (const Json* usage = chunk->Find("usage"); usage != nullptr && usage->is_object()) {
      usage_ = *usage;
    }
    const Json* choices = chunk->Find("choices");
    if (choices == nullptr || !choices->is_array() || choices->array().empty()) return {};
    return TakeChoice(choices->array().front());
  }

  // Whether the server said that the answer is whole.
  bool is_whole() const { return is_done_ || !answer_.finish_reason.empty(); }

  StreamedAnswer Finish() {
    for (const auto& [index, call] : calls_) {
      answer_.tool_calls += StrCat(call.first, "(", call.second, ")\n");
    }
    answer_.speed_line = SpeedLine();
    return std::move(answer_);
  }

 private:
  Status TakeChoice(const Json& choice) {
    if (const std::string reason = TextAt(choice, "finish_reason"); !reason.empty()) {
      answer_.finish_reason = reason;
    }
    QUIRE_RETURN_IF_ERROR(Show(StreamedText::kAnswer, TextAt(choice, "text")));
    const Json* delta = choice.Find("delta");
    if (delta == nullptr) return {};
    std::string reasoning = TextAt(*delta, "reasoning");
    if (reasoning.empty()) reasoning = TextAt(*delta, "reasoning_content");
    QUIRE_RETURN_IF_ERROR(Show(StreamedText::kReasoning, reasoning));
    TakeToolCalls(delta->Find("tool_calls"));
    return Show(StreamedText::kAnswer, TextAt(*delta, "content"));
  }

  Status Show(StreamedText kind, const std::string& text) {
    if (text.empty()) return {};
    if (num_pieces_++ == 0) first_text_ = Clock::now();
    last_text_ = Clock::now();
    if (kind == StreamedText::kAnswer) answer_.text += text;
    return sink_(kind, text);
  }

  void TakeToolCalls(const Json* calls) {
    if (calls == nullptr || !calls->is_array()) return;
    for (const Json& call : calls->array()) {
      const Json* index = call.Find("index");
      const Json* function = call.Find("function");
      if (function == nullptr) continue;
      auto& [name, arguments] = calls_[index != nullptr && index->is_int() ? index->integer() : 0];
      name += TextAt(*function, "name");
      arguments += TextAt(*function, "arguments");
    }
  }

  std::int64_t Used(std::string_view name) const {
    const Json* found = usage_.Find(name);
    return found != nullptr && found->is_int() ? found->integer() : 0;
  }

  // As that of an answer of the program's own engine; empty where the server counts nothing.
  std::string SpeedLine() const {
    const std::int64_t num_tokens = Used("completion_tokens");
    if (num_tokens == 0 || num_pieces_ == 0) return {};
    const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
    const double took = seconds(last_text_ - first_text_);
    // A short answer may come in one piece, which tells nothing of the time between tokens.
    constexpr double kLeastSeconds = 0.001;
    const double total = seconds(last_text_ - start_);
    const double rate = took >= kLeastSeconds ? static_cast<double>(num_tokens - 1) / took
                                              : static_cast<double>(num_tokens) / total;
    char numbers[96];
    std::snprintf(numbers, sizeof numbers, ", %.1f tokens/s; first token after %.2f s", rate,
                  seconds(first_text_ - start_));
    return StrCat("prompt: ", Plural(Used("prompt_tokens"), "token"),
                  "; answer: ", Plural(num_tokens, "token"), numbers);
  }

  const StreamSink& sink_;
  Clock::time_point start_;
  Clock::time_point first_text_;
  Clock::time_point last_text_;
  int num_pieces_ = 0;
  bool is_done_ = false;
  Json usage_;
  StreamedAnswer answer_;
  std::map<std::int64_t, std::pair<std::string, std::string>> calls_;
};

}  // namespace

void ServerFlags::AddTo(FlagSet& flags) {
  flags.Group("Server");
  flags.Add("url", url,
            "Address of a server that speaks OpenAI's protocol; /v1 need not be written", "URL");
  flags.Add("api-key", api_key,
            "Key for it; without the flag that of QUIRE_API_KEY, VLLM_API_KEY or OPENAI_API_KEY "
            "in the environment",
            "KEY");
  flags.Add("ca-certs", ca_certs, "Whose certificates of servers are trusted, as PEM", "FILE");
}

OpenAiClient::OpenAiClient(HttpUrl url, HttpClientOptions options, std::string api_key)
    : url_(std::move(url)),
      options_(std::move(options)),
      api_key_(std::move(api_key)),
      address_(url_.ToString()) {}

Result<OpenAiClient> OpenAiClient::Create(const ServerFlags& flags,
                                          std::function<bool()> should_stop) {
  Result<HttpUrl> url = ParseHttpUrl(flags.url.value_or(""));
  if (!url.ok()) return url.status().With("--url");
  if (url->path.empty()) url->path = "/v1";
  HttpClientOptions options;
  options.ca_certs = flags.ca_certs.value_or("");
  options.should_stop = std::move(should_stop);
  std::string api_key = flags.api_key ? *flags.api_key : KeyOfEnvironment();
  for (const char c : api_key) {
    if (c <= ' ' || c > '~')
      return InvalidArgument("the API key holds a character that no key has");
  }
  return OpenAiClient(*std::move(url), std::move(options), std::move(api_key));
}

HttpClientRequest OpenAiClient::MakeRequest(std::string_view method, std::string_view route,
                                            std::string body) const {
  HttpClientRequest request;
  request.method = method;
  request.target = StrCat(url_.path, route);
  if (!api_key_.empty()) request.headers.push_back({"Authorization", "Bearer " + api_key_});
  if (!body.empty()) request.headers.push_back({"Content-Type", "application/json"});
  request.body = std::move(body);
  return request;
}

Result<std::string> OpenAiClient::FirstModel() const {
  std::string list;
  QUIRE_ASSIGN_OR_RETURN(
      const HttpResponse response,
      FetchHttp(url_, MakeRequest("GET", "/models", {}), options_, [&](std::string_view bytes) {
        if (list.size() + bytes.size() > kMaxListBytes) return Internal("the list has no end");
        list += bytes;
        return Status();
      }));
  if (response.status != 200) return Refusal(response, address_);
  const Result<Json> json = ParseJson(list);
  const Json* data = json.ok() ? json->Find("data") : nullptr;
  if (data != nullptr && data->is_array() && !data->array().empty()) {
    if (std::string id = TextAt(data->array().front(), "id"); !id.empty()) return id;
  }
  return Status(Code::kUnavailable, StrCat(address_, "/models names no model; give one as MODEL"));
}

Result<StreamedAnswer> OpenAiClient::Chat(Json body, const StreamSink& sink) const {
  return Stream("/chat/completions", std::move(body), sink);
}

Result<StreamedAnswer> OpenAiClient::Complete(Json body, const StreamSink& sink) const {
  return Stream("/completions", std::move(body), sink);
}

Result<StreamedAnswer> OpenAiClient::Stream(std::string_view route, Json body,
                                            const StreamSink& sink) const {
  body["stream"] = true;
  body["stream_options"] = Json(JsonObject{{"include_usage", true}});
  SseReader events;
  AnswerReader answer(sink);
  const SseSink take = [&](const SseEvent& event) { return answer.Take(event); };
  const Result<HttpResponse> response =
      FetchHttp(url_, MakeRequest("POST", route, body.Dump()), options_,
                [&](std::string_view bytes) { return events.Feed(bytes, take); });
  if (response.status().code() == Code::kCancelled) {
    StreamedAnswer stopped = answer.Finish();
    stopped.was_stopped = true;
    return stopped;
  }
  QUIRE_RETURN_IF_ERROR(response.status());
  if (response->status != 200) return Refusal(*response, address_);
  QUIRE_RETURN_IF_ERROR(events.Finish(take));
  if (!answer.is_whole()) {
    return Status(Code::kUnavailable, StrCat(address_, ": the stream ended before the answer did"));
  }
  return answer.Finish();
}

}  // namespace quire
