// What the handlers of all routes share, and how each of them begins.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "server/api.h"
#include "server/chat_templates.h"
#include "server/field_reader.h"
#include "server/http.h"
#include "server/prompt_run.h"
#include "server/reasoning_parser.h"
#include "server/response_store.h"
#include "server/tool_parser.h"
#include "server/work_pool.h"

namespace quire {

struct ApiState {
  ApiOptions options;
  EngineSource engine;
  std::string fingerprint;   // "quire-1.2.3", in replies
  std::int64_t created = 0;  // in /v1/models, seconds since 1970
  ChatTemplates templates;
  const ToolFormat* tools = nullptr;           // null: none
  bool tools_are_guessed = false;              // nothing told that the model writes calls like that
  const ReasoningFormat* reasoning = nullptr;  // null: none
  LiveIds live_ids;                            // of prompts
  LiveIds reply_ids;                           // of replies under way
  std::unique_ptr<ResponseStore> responses;
  // These end first, so they stand last; and the one that hands work to the other before it.
  std::unique_ptr<WorkPool> tokenizing;  // what is tokenized beside the engine
  std::unique_ptr<WorkPool> work;        // reads long bodies
};

// One request on its way through a handler.
struct ApiCall {
  ApiState& state;
  std::shared_ptr<const HttpRequest> request;
  std::shared_ptr<HttpReply> reply;
  std::shared_ptr<AsyncEngine> engine;  // not null
  // A header of the reply where the request has fields that nobody knows.
  std::vector<HttpHeader> warnings;
};

// A handler's work once the body is read; gives why the request is refused.
using JsonHandler = std::function<Status(ApiCall call, Json body)>;
// Writes a refusal in the dialect of the route.
using Refusal = HttpResponse (*)(const Status& error);

// A handler that reads the body as JSON, on a thread of the pool where it is long, and refuses
// what is none.
HttpHandler WithJson(ApiState& state, JsonHandler handler, Refusal refusal);

// What a thread that serves sockets reads or tokenizes by itself; more goes to a pool.
inline constexpr std::size_t kMaxInlineBytes = std::size_t{32} << 10;

// Runs `work`, whose failure becomes the reply, be it returned or thrown.
std::function<void()> Answering(std::shared_ptr<HttpReply> reply, std::function<Status()> work,
                                Refusal refusal);

// Notes in the log and in call.warnings what a request says that has no effect; with strict_fields
// refuses what is unknown or given twice. `known` are the request's fields.
Status WarnOf(ApiCall& call, const FieldNotes& notes, const std::vector<std::string>& known);
// The header that tells a client `text`, which is printable and has no quotes.
HttpHeader WarningHeader(std::string_view text);
// Notes such a text: `what`, and the names of the fields that it is about.
void WarnOf(ApiCall& call, std::string_view what, const std::vector<std::string>& fields);
// Notes such a text.
void Warn(ApiCall& call, const std::string& text);

// kNotFound unless `model` is absent, empty or served.
Status CheckModel(const ApiState& state, const std::optional<std::string>& model);

// Sends 200 with `body` and the call's warnings.
void SendJson(ApiCall& call, std::string body);

// 16 hexadecimal digits that no other call in the world has.
std::string FreshId();
std::uint64_t RandomSeed();

// What stands in an answer's id: the client's X-Request-Id, its request_id, or a fresh one.
std::string IdOf(const HttpRequest& request, const std::optional<std::string>& request_id);

std::int64_t UnixSeconds();

}  // namespace quire
