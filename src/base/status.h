// Failures as values: Status, Result<T> and the macros that hand them on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/log.h"

namespace quire {

// What the caller can do about a failure; each code has one HTTP status.
enum class Code {
  kOk,
  kCancelled,           // 499
  kInvalidArgument,     // 400
  kNotFound,            // 404
  kResourceExhausted,   // 429
  kFailedPrecondition,  // 409
  kUnimplemented,       // 501
  kDataLoss,            // 500
  kUnavailable,         // 503
  kInternal,            // 500
};

std::string_view ToString(Code code);

// One pointer; null when ok, so returning success costs nothing. Messages are
// lower case, without a full stop, and name the value seen and what was wanted.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message)
      : error_(std::make_shared<const Error>(Error{code, std::move(message)})) {}

  bool ok() const { return error_ == nullptr; }
  Code code() const { return ok() ? Code::kOk : error_->code; }
  const std::string& message() const;

  // The same failure with `context` and a colon put before its message; ok stays ok.
  Status With(std::string_view context) const;

 private:
  struct Error {
    Code code;
    std::string message;
  };
  std::shared_ptr<const Error> error_;
};

inline Status InvalidArgument(std::string message) {
  return Status(Code::kInvalidArgument, std::move(message));
}
inline Status NotFound(std::string message) { return Status(Code::kNotFound, std::move(message)); }
inline Status DataLoss(std::string message) { return Status(Code::kDataLoss, std::move(message)); }
inline Status Unimplemented(std::string message) {
  return Status(Code::kUnimplemented, std::move(message));
}
inline Status ResourceExhausted(std::string message) {
  return Status(Code::kResourceExhausted, std::move(message));
}
inline Status Internal(std::string message) { return Status(Code::kInternal, std::move(message)); }

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): return v;
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    QUIRE_CHECK(!status_.ok()) << "a Result made of an ok Status has no value";
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  // The value; only when ok().
  const T& value() const& {
    QUIRE_CHECK(ok()) << status_.message();
    return *value_;
  }
  T& value() & {
    QUIRE_CHECK(ok()) << status_.message();
    return *value_;
  }
  T&& value() && {
    QUIRE_CHECK(ok()) << status_.message();
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace quire

#define QUIRE_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                                  \
    if (::quire::Status quire_status = (expr); !quire_status.ok()) return quire_status; \
  } while (false)

#define QUIRE_CONCAT_INNER(a, b) a##b
#define QUIRE_CONCAT(a, b) QUIRE_CONCAT_INNER(a, b)
#define QUIRE_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                 \
  if (!result.ok()) return result.status();             \
  lhs = *std::move(result)
#define QUIRE_ASSIGN_OR_RETURN(lhs, expr) \
  QUIRE_ASSIGN_OR_RETURN_INNER(QUIRE_CONCAT(quire_result_, __LINE__), lhs, expr)
