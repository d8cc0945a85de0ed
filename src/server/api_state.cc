#include "server/api_state.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <random>
#include <utility>

#include "base/log.h"
#include "base/rng.h"
#include "base/strings.h"
#include "server/api_error.h"
#include "server/http_wire.h"

namespace quire {
namespace {

// What a socket's thread reads by itself; more of it would hold its other connections up.
constexpr std::size_t kMaxNamesShown = 8;

bool IsJson(std::string_view content_type) {
  const std::string_view kind = content_type.substr(0, content_type.find(';'));
  const std::size_t end = kind.find_last_not_of(" \t");
  return EqualsIgnoringCase(kind.substr(0, end == std::string_view::npos ? 0 : end + 1),
                            "application/json");
}

Status RunJson(ApiCall call, const JsonHandler& handler) {
  JsonLimits limits;
  limits.max_bytes = call.state.options.max_body_bytes;
  Result<Json> body = ParseJson(call.request->body, limits);
  if (!body.ok()) return InvalidArgument(StrCat("the body is no JSON: ", body.status().message()));
  return handler(std::move(call), *std::move(body));
}

// A name that may stand in a header and in a message.
std::string Shown(const std::string& name) {
  std::string shown = Printable(name);
  std::erase_if(shown, [](char byte) {
    return byte == '"' || byte == '\\' || static_cast<unsigned char>(byte) >= 0x7F;
  });
  return shown;
}

std::string ShownList(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNamesShown); ++i) {
    shown.push_back(Shown(names[i]));
  }
  if (names.size() > kMaxNamesShown) shown.emplace_back("...");
  return Join(shown, ", ");
}

Status NoField(const std::string& name, const std::string& hint) {
  return InvalidArgument(
      StrCat(FieldOf(name + ": ").empty() ? "body" : name, ": is no field of this request", hint));
}

}  // namespace

HttpHandler WithJson(ApiState& state, JsonHandler handler, Refusal refusal) {
  return [&state, handler = std::move(handler), refusal](std::shared_ptr<const HttpRequest> request,
                                                         const std::shared_ptr<HttpReply>& reply) {
    const std::string_view content_type = request->header("Content-Type");
    if (!content_type.empty() && !IsJson(content_type)) {
      return reply->Send(refusal(InvalidArgument("Content-Type: must be application/json")));
    }
    std::shared_ptr<AsyncEngine> engine = state.engine();
    if (engine == nullptr) {
      return reply->Send(
          refusal(Status(Code::kUnavailable, "the engine starts again; try again soon")));
    }
    const std::size_t num_bytes = request->body.size();
    ApiCall call{state, std::move(request), reply, std::move(engine), {}};
    auto run = Answering(
        reply, [call = std::move(call), handler] { return RunJson(call, handler); }, refusal);
    if (num_bytes <= kMaxInlineBytes) return run();
    if (!state.work->TryPost(std::move(run))) {
      reply->Send(refusal(ResourceExhausted("too many long requests are waiting to be read")));
    }
  };
}

std::function<void()> Answering(std::shared_ptr<HttpReply> reply, std::function<Status()> work,
                                Refusal refusal) {
  return [reply = std::move(reply), work = std::move(work), refusal] {
    Status status;
    try {
      status = work();
    } catch (const std::exception& error) {
      status = Internal(error.what());
    }
    if (!status.ok()) reply->Send(refusal(status));
  };
}

HttpHeader WarningHeader(std::string_view text) {
  return {.name = "Warning", .value = StrCat("299 quire \"", text, "\"")};
}

void Warn(ApiCall& call, const std::string& text) {
  QUIRE_LOG(kWarning) << Printable(call.request->path) << " " << call.request->request_id << ": "
                      << text;
  call.warnings.push_back(WarningHeader(text));
}

void WarnOf(ApiCall& call, std::string_view what, const std::vector<std::string>& fields) {
  if (!fields.empty()) Warn(call, StrCat(what, ": ", ShownList(fields)));
}

Status WarnOf(ApiCall& call, const FieldNotes& notes, const std::vector<std::string>& known) {
  const bool is_strict = call.state.options.strict_fields;
  if (!notes.unknown.empty()) {
    const std::string first = Shown(notes.unknown.front());
    std::string hint = NearestName(first, known).value_or(notes.nearest_member);
    if (!hint.empty()) hint = StrCat("; did you mean ", hint, "?");
    if (is_strict) return NoField(first, hint);
    Warn(call, StrCat("unknown fields ignored: ", ShownList(notes.unknown), hint));
  }
  if (!notes.repeated.empty()) {
    if (is_strict) return InvalidArgument(StrCat(notes.repeated.front(), ": is given twice"));
    Warn(call, StrCat("fields given twice, of which the last counts: ", ShownList(notes.repeated)));
  }
  if (!notes.ignored.empty()) {
    Warn(call, StrCat("fields without effect here: ", ShownList(notes.ignored)));
  }
  return {};
}

Status CheckModel(const ApiState& state, const std::optional<std::string>& model) {
  const std::vector<std::string>& names = state.options.served_model_names;
  if (!model || model->empty() || std::ranges::find(names, *model) != names.end()) return {};
  return NotFound(
      StrCat("model: `", Printable(*model), "` does not exist, served is ", Join(names, ", ")));
}

void SendJson(ApiCall& call, std::string body) {
  HttpResponse response;
  response.body = std::move(body);
  response.headers = std::move(call.warnings);
  call.reply->Send(std::move(response));
}

std::uint64_t RandomSeed() {
  thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::string FreshId() {
  // A counter under a keyed permutation, so that ids are neither repeated nor guessed from one
  // another; a thread asks the system for its key once.
  thread_local const std::uint64_t kKey = RandomSeed();
  thread_local std::uint64_t count = RandomSeed();
  ++count;
  const auto words =
      Philox({static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count >> 32), 0, 0},
             {static_cast<std::uint32_t>(kKey), static_cast<std::uint32_t>(kKey >> 32)});
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string id;
  for (int i = 0; i < 16; ++i) {
    id += kHex[(words[static_cast<std::size_t>(i / 8)] >> (4 * (i % 8))) & 15];
  }
  return id;
}

std::string IdOf(const HttpRequest& request, const std::optional<std::string>& request_id) {
  constexpr std::size_t kMaxIdBytes = 128;
  if (!request.header("X-Request-Id").empty()) return request.request_id;
  if (request_id && !request_id->empty() && request_id->size() <= kMaxIdBytes) return *request_id;
  return FreshId();
}

std::int64_t UnixSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace quire
