// The one shape of every refusal: {"error": {"message", "type", "param", "code"}}.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "server/http.h"

namespace quire {

// The HTTP status of a failure's code.
int HttpStatusOf(Code code);

// "BadRequestError" for 400, as vLLM names them.
std::string_view ErrorTypeOf(int http_status);

// The JSON text of an error, valid UTF-8 whatever `message` holds. `param` is the field at fault;
// an empty one becomes null.
std::string ErrorBody(int http_status, std::string_view message, std::string_view param = {});

// The same as an answer. 429 and 503 bring Retry-After, 401 brings WWW-Authenticate.
HttpResponse ErrorResponse(int http_status, std::string_view message, std::string_view param = {});
HttpResponse ErrorResponse(const Status& status, std::string_view param = {});

// An error as an event of a stream whose headers are out: "data: {"error": …}\n\n".
std::string ErrorEvent(int http_status, std::string_view message, std::string_view param = {});

}  // namespace quire
