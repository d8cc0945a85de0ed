// The batch form of commands: one JSON object a line in, one out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "formats/json.h"

namespace quire {

// The value of a text that is line `number` of a file, from 1; the place in a message is the
// file's.
Result<Json> ParseJsonLine(std::string_view text, std::int64_t number);

// Answers each line of standard input with one line on standard output, in order; blank lines are
// passed over. A line that is no JSON object, or for which `answer` fails, is answered by
// {"error": MESSAGE}; the rest is done all the same, and the result then names the first such line.
// Each answer is written before the next line is waited for.
Status AnswerJsonLines(const std::function<Result<Json>(const Json& line)>& answer);

// The text with each byte that is no UTF-8 replaced by U+FFFD: what JSON can hold.
std::string ToValidUtf8(std::string_view text);

}  // namespace quire
