// The log lines of --enable-log-requests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "request/request.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// `request ID: 12 prompt tokens, {"temperature":0.5,…}`, the parameters that are not their
// defaults.
std::string RequestLine(const std::string& id, const EngineRequest& request);

// `request ID: prompt: "…", ids: 1, 2, …`: at most `limit` bytes of the text, none without a
// tokenizer, and at most as many ids.
std::string PromptLine(const std::string& id, const EngineRequest& request,
                       const Tokenizer* tokenizer, std::size_t limit);

// Writes the first, and where the level is debug the second. `max_log_len` unset: a limit of 2048.
void LogRequest(const std::string& id, const EngineRequest& request, const Tokenizer* tokenizer,
                std::optional<std::int64_t> max_log_len);

}  // namespace quire
