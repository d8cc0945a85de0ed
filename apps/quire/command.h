// The subcommands of the program and what they have in common.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"

namespace quire {

// What follows the command's name on the command line.
using Args = std::span<const std::string_view>;

// A subcommand. `run` returns when it is done; its Status becomes the exit code (ExitCodeOf) and,
// where there is a message, one line on standard error.
struct Command {
  std::string_view name;
  std::string_view summary;  // one line for `quire help`
  Status (*run)(Args args);
};

inline constexpr int kExitOk = 0;
inline constexpr int kExitFailure = 1;        // something went wrong while running
inline constexpr int kExitUsage = 2;          // the command line or an input cannot be used
inline constexpr int kExitInterrupted = 130;  // Ctrl-C, as shells count it

inline int ExitCodeOf(const Status& status) {
  switch (status.code()) {
    case Code::kOk:
      return kExitOk;
    case Code::kCancelled:
      return kExitInterrupted;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kFailedPrecondition:
    case Code::kUnimplemented:
    case Code::kDataLoss:
      return kExitUsage;
    case Code::kResourceExhausted:
    case Code::kUnavailable:
    case Code::kInternal:
      return kExitFailure;
  }
  return kExitFailure;
}

// One line "quire: MESSAGE" on standard error; what it held of control bytes is made visible.
void Complain(std::string_view message);

// One line for a person on standard error, as it is.
void Tell(std::string_view line);

Status RunBench(Args args);
Status RunChat(Args args);
Status RunComplete(Args args);
Status RunEval(Args args);
Status RunGenerate(Args args);
Status RunInspect(Args args);
Status RunRunBatch(Args args);
Status RunServe(Args args);
Status RunStructured(Args args);
Status RunTemplate(Args args);
Status RunTokenize(Args args);

}  // namespace quire
