// The one shape of every refusal.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "server/http.h"

namespace quire {

// 400, 404, 409, 429, 499, 500, 501 or 503: what conventions give each code.
int HttpStatusOf(Code code);

// "BadRequestError", "NotFoundError", …: vLLM's names.
std::string_view ErrorTypeOf(int http_status);

// The part of a message before its first colon where that names a field ("max_tokens: must be
// positive"), else empty.
std::string_view FieldOf(std::string_view message);

// `error` of a part of `path`: "tools[1].function.name: …" or "tools[1]: …".
Status UnderPath(std::string_view path, const Status& error);

// {"error": {"message", "type", "param", "code"}}: OpenAI's and vLLM's; valid UTF-8 always.
// `param` empty: null.
std::string ErrorBody(int http_status, std::string_view message, std::string_view param = {});

// The same with a type other than the status has.
std::string ErrorBodyOfType(std::string_view type, int http_status, std::string_view message,
                            std::string_view param = {});

// The answer that says `error`; `param` is FieldOf its message. 429 and 503 carry Retry-After.
HttpResponse ErrorResponse(const Status& error);
HttpResponse ErrorResponse(int http_status, std::string_view message, std::string_view param = {});

// Whose clients read an error.
enum class ErrorShape { kOpenai, kResponses, kAnthropic };
// Of the clients of `path`, before which a proxy's own path may stand.
ErrorShape ErrorShapeOf(std::string_view path);

// The answer that refuses a request of `path`, in the shape that its clients know.
HttpResponse RefusalFor(std::string_view path, int http_status, std::string_view message);
HttpResponse RefusalIn(ErrorShape shape, int http_status, std::string_view message);
// The last events of a stream that fails after it has begun.
std::string ErrorEventsIn(ErrorShape shape, int http_status, std::string_view message);

// The members of an event of /v1/responses that says an error, after its type and number.
std::string ResponsesErrorMembers(int http_status, std::string_view message);

// {"type": "error", "error": {"type", "message"}}: Anthropic's shape.
std::string AnthropicErrorBody(int http_status, std::string_view message);
HttpResponse AnthropicErrorResponse(const Status& error);

}  // namespace quire
