// Asks a server that speaks OpenAI's protocol, Quire's own or another.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "apps/quire/flags.h"
#include "apps/quire/streamed_text.h"
#include "base/status.h"
#include "formats/json.h"
#include "server/http_client.h"

namespace quire {

// Where the server is, as the user says it.
struct ServerFlags {
  std::optional<std::string> url;
  std::optional<std::string> api_key;
  std::optional<std::string> ca_certs;

  void AddTo(FlagSet& flags);
};

// How a streamed answer went.
struct StreamedAnswer {
  std::string text;
  std::string finish_reason;  // empty: the stream was stopped
  std::string tool_calls;     // a line each: NAME(ARGUMENTS)
  std::string speed_line;
  bool was_stopped = false;  // by should_stop
};

// One thread.
class OpenAiClient {
 public:
  // kInvalidArgument for what is no URL. Without a key in the flags that of the environment is
  // taken: QUIRE_API_KEY, VLLM_API_KEY, OPENAI_API_KEY.
  static Result<OpenAiClient> Create(const ServerFlags& flags, std::function<bool()> should_stop);

  const std::string& address() const { return address_; }

  // The first of the models that the server has.
  Result<std::string> FirstModel() const;

  // `body` is the request but for "stream". What the server refuses comes back with its own
  // message.
  Result<StreamedAnswer> Chat(Json body, const StreamSink& sink) const;
  Result<StreamedAnswer> Complete(Json body, const StreamSink& sink) const;

 private:
  OpenAiClient(HttpUrl url, HttpClientOptions options, std::string api_key);

  HttpClientRequest MakeRequest(std::string_view method, std::string_view route,
                                std::string body) const;
  Result<StreamedAnswer> Stream(std::string_view route, Json body, const StreamSink& sink) const;

  HttpUrl url_;
  HttpClientOptions options_;
  std::string api_key_;
  std::string address_;
};

}  // namespace quire
