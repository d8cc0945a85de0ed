// The text of an answer while it comes.
#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"

namespace quire {

enum class StreamedText { kAnswer, kReasoning };

// Hears an answer's text as it comes.
using StreamSink = std::function<Status(StreamedText kind, std::string_view text)>;

}  // namespace quire
