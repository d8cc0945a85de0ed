// The routes under which clients use the engine: OpenAI's, Anthropic's and vLLM's own.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/async_engine.h"
#include "formats/json.h"
#include "server/http.h"

namespace quire {

// What the operator decides for all requests; names and defaults are those of vLLM's flags.
struct ApiOptions {
  std::vector<std::string> served_model_names;        // at least one; the first stands in replies
  std::string model_root;                             // the model as it was named, for /v1/models
  std::string version;                                // of the program
  std::string chat_template;                          // the text itself; empty: the model's own
  std::string chat_template_content_format = "auto";  // auto, string, openai
  bool trust_request_chat_template = false;
  Json default_chat_template_kwargs;  // an object or null; a request's own go on top
  std::string response_role = "assistant";
  std::string tool_call_parser = "auto";  // a name of FindToolFormat; empty: none
  bool exclude_tools_when_tool_choice_none = false;
  std::string reasoning_parser = "auto";  // a name of FindReasoningFormat; empty: none
  bool enable_in_reasoning = false;       // constraints hold for the reasoning too
  bool strict_fields = false;             // unknown request fields are refused
  bool return_tokens_as_token_ids = false;
  bool enable_prompt_tokens_details = false;
  bool enable_force_include_usage = false;
  bool enable_docs = true;      // /docs and /openapi.json
  bool allow_priority = false;  // the scheduling policy is `priority`
  std::size_t max_body_bytes = std::size_t{64} << 20;
  std::size_t max_stored_responses = 1000;  // of /v1/responses
  std::size_t max_stored_response_bytes = std::size_t{64} << 20;
  int num_threads = 1;  // that read long bodies and tokenize for /tokenize and its like
};

// Gives the engine that serves now; null while there is none (it starts again), and requests are
// then answered 503. Any thread.
using EngineSource = std::function<std::shared_ptr<AsyncEngine>()>;

// What answers the routes. Outlives whoever calls its routes, and every engine that `engine` gave
// while a request of it is under way.
class Api {
 public:
  // kInvalidArgument: a template, a parser or a name in `options` is none; names the flag. `engine`
  // must give one during this call.
  static Result<std::unique_ptr<Api>> Create(ApiOptions options, EngineSource engine);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  // All routes but those of the process itself (/health, /metrics, …). Handlers are called by any
  // thread and return at once.
  std::vector<Route> Routes();

 private:
  struct State;
  explicit Api(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace quire
