#include "server/error_response.h"

#include "base/strings.h"
#include "formats/json.h"

namespace quire {

int HttpStatusOf(Code code) {
  switch (code) {
    case Code::kOk:
      return 200;
    case Code::kCancelled:
      return 499;
    case Code::kInvalidArgument:
      return 400;
    case Code::kNotFound:
      return 404;
    case Code::kResourceExhausted:
      return 429;
    case Code::kFailedPrecondition:
      return 409;
    case Code::kUnimplemented:
      return 501;
    case Code::kUnavailable:
      return 503;
    case Code::kDataLoss:
    case Code::kInternal:
      return 500;
  }
  return 500;
}

std::string_view ErrorTypeOf(int http_status) {
  switch (http_status) {
    case 401:
      return "AuthenticationError";
    case 403:
      return "PermissionDeniedError";
    case 404:
      return "NotFoundError";
    case 405:
      return "MethodNotAllowedError";
    case 408:
      return "RequestTimeoutError";
    case 409:
      return "ConflictError";
    case 422:
      return "UnprocessableEntityError";
    case 429:
      return "RateLimitError";
    case 501:
      return "NotImplementedError";
    case 503:
      return "ServiceUnavailableError";
    case 504:
      return "GatewayTimeoutError";
    default:
      return http_status >= 500 ? "InternalServerError" : "BadRequestError";
  }
}

std::string ErrorBody(int http_status, std::string_view message, std::string_view param) {
  Json error;
  error["message"] = Json(message);
  error["type"] = Json(ErrorTypeOf(http_status));
  error["param"] = param.empty() ? Json() : Json(param);
  error["code"] = Json(http_status);
  Json body;
  body["error"] = std::move(error);
  return body.Dump();
}

HttpResponse ErrorResponse(int http_status, std::string_view message, std::string_view param) {
  HttpResponse response;
  response.status = http_status;
  response.body = ErrorBody(http_status, message, param);
  if (http_status == 429 || http_status == 503) response.headers.push_back({"Retry-After", "1"});
  if (http_status == 401) response.headers.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

HttpResponse ErrorResponse(const Status& status, std::string_view param) {
  return ErrorResponse(HttpStatusOf(status.code()), status.message(), param);
}

std::string ErrorEvent(int http_status, std::string_view message, std::string_view param) {
  return StrCat("data: ", ErrorBody(http_status, message, param), "\n\n");
}

}  // namespace quire
