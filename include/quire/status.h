// Failures as values, for programs that embed Quire.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace quire::api {

// What the caller can do about a failure.
enum class Code {
  kOk = 0,
  kCancelled = 1,
  kInvalidArgument = 2,    // change the call; the message names the field
  kNotFound = 3,           // no such model or file
  kResourceExhausted = 4,  // the same call may pass later
  kFailedPrecondition = 5,
  kUnimplemented = 6,
  kDataLoss = 7,     // a file is damaged
  kUnavailable = 8,  // the engine has stopped
  kInternal = 9,
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  // The value; only when ok().
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace quire::api
