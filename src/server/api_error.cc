#include "server/api_error.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"
#include "server/json_text.h"

namespace quire {
namespace {

constexpr std::string_view kRetryAfterSeconds = "1";

bool IsFieldByte(char byte) {
  return std::isalnum(static_cast<unsigned char>(byte)) != 0 || byte == '_' || byte == '.' ||
         byte == '[' || byte == ']' || byte == '-';
}

std::string_view AnthropicTypeOf(int http_status) {
  switch (http_status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return http_status < 500 ? "invalid_request_error" : "api_error";
  }
}

// Whether `path` is that of `route` or goes on from there.
bool IsUnder(std::string_view path, std::string_view route) {
  const std::size_t at = path.find(route);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = path.substr(at + route.size());
  return rest.empty() || rest.front() == '/';
}

HttpResponse WithRetryAfter(HttpResponse response) {
  if (response.status == 429 || response.status == 503) {
    response.headers.push_back({.name = "Retry-After", .value = std::string(kRetryAfterSeconds)});
  }
  return response;
}

HttpResponse AnthropicError(int http_status, std::string_view message) {
  HttpResponse response;
  response.status = http_status;
  response.body = AnthropicErrorBody(http_status, message);
  return WithRetryAfter(std::move(response));
}

}  // namespace

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
    case 413:
      return "RequestTooLargeError";
    case 422:
      return "UnprocessableEntityError";
    case 429:
      return "RateLimitError";
    case 431:
      return "HeaderTooLargeError";
    case 499:
      return "CancelledError";
    case 501:
      return "NotImplementedError";
    case 503:
      return "ServiceUnavailableError";
    default:
      return http_status < 500 ? "BadRequestError" : "InternalServerError";
  }
}

std::string_view FieldOf(std::string_view message) {
  const std::size_t colon = message.find(": ");
  if (colon == std::string_view::npos || colon == 0) return {};
  const std::string_view field = message.substr(0, colon);
  return std::ranges::all_of(field, IsFieldByte) ? field : std::string_view();
}

Status UnderPath(std::string_view path, const Status& error) {
  const std::string_view between = FieldOf(error.message()).empty() ? ": " : ".";
  return Status(error.code(), StrCat(path, between, error.message()));
}

std::string ErrorBody(int http_status, std::string_view message, std::string_view param) {
  return ErrorBodyOfType(ErrorTypeOf(http_status), http_status, message, param);
}

std::string ErrorBodyOfType(std::string_view type, int http_status, std::string_view message,
                            std::string_view param) {
  std::string body = R"({"error":{"message":)";
  AppendJsonString(body, message);
  body += R"(,"type":")";
  body += type;
  body += R"(","param":)";
  if (param.empty()) {
    body += "null";
  } else {
    AppendJsonString(body, param);
  }
  body += R"(,"code":)";
  AppendInt(body, http_status);
  body += "}}";
  return body;
}

HttpResponse ErrorResponse(int http_status, std::string_view message, std::string_view param) {
  HttpResponse response;
  response.status = http_status;
  response.body = ErrorBody(http_status, message, param);
  return WithRetryAfter(std::move(response));
}

HttpResponse ErrorResponse(const Status& error) {
  return ErrorResponse(HttpStatusOf(error.code()), error.message(), FieldOf(error.message()));
}

std::string AnthropicErrorBody(int http_status, std::string_view message) {
  std::string body = R"({"type":"error","error":{"type":")";
  body += AnthropicTypeOf(http_status);
  body += R"(","message":)";
  AppendJsonString(body, message);
  body += "}}";
  return body;
}

HttpResponse AnthropicErrorResponse(const Status& error) {
  return AnthropicError(HttpStatusOf(error.code()), error.message());
}

ErrorShape ErrorShapeOf(std::string_view path) {
  if (IsUnder(path, "/v1/messages")) return ErrorShape::kAnthropic;
  return IsUnder(path, "/v1/responses") ? ErrorShape::kResponses : ErrorShape::kOpenai;
}

HttpResponse RefusalFor(std::string_view path, int http_status, std::string_view message) {
  return RefusalIn(ErrorShapeOf(path), http_status, message);
}

HttpResponse RefusalIn(ErrorShape shape, int http_status, std::string_view message) {
  return shape == ErrorShape::kAnthropic ? AnthropicError(http_status, message)
                                         : ErrorResponse(http_status, message);
}

std::string ErrorEventsIn(ErrorShape shape, int http_status, std::string_view message) {
  switch (shape) {
    case ErrorShape::kAnthropic:
      return StrCat("event: error\ndata: ", AnthropicErrorBody(http_status, message), "\n\n");
    case ErrorShape::kResponses:
      return StrCat("event: error\ndata: {\"type\":\"error\",",
                    ResponsesErrorMembers(http_status, message), "}\n\n");
    case ErrorShape::kOpenai:
      break;
  }
  return StrCat("data: ", ErrorBody(http_status, message, FieldOf(message)),
                "\n\ndata: [DONE]\n\n");
}

std::string ResponsesErrorMembers(int http_status, std::string_view message) {
  std::string out = R"("code":")";
  out += ErrorTypeOf(http_status);
  out += R"(","param":null,"message":)";
  AppendJsonString(out, message);
  // Clients that look for an error under its usual name find it too.
  const std::string usual = ErrorBody(http_status, message);
  out += ',';
  out += std::string_view(usual).substr(1, usual.size() - 2);
  return out;
}

}  // namespace quire
