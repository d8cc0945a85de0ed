#include "base/status.h"

#include "base/strings.h"

namespace quire {

std::string_view ToString(Code code) {
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kCancelled:
      return "cancelled";
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kResourceExhausted:
      return "resource exhausted";
    case Code::kFailedPrecondition:
      return "failed precondition";
    case Code::kUnimplemented:
      return "unimplemented";
    case Code::kDataLoss:
      return "data loss";
    case Code::kUnavailable:
      return "unavailable";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

const std::string& Status::message() const {
  static const std::string* const kNoMessage = new std::string;  // never destroyed
  return ok() ? *kNoMessage : error_->message;
}

Status Status::With(std::string_view context) const {
  if (ok()) return *this;
  return Status(error_->code, StrCat(context, ": ", error_->message));
}

}  // namespace quire
