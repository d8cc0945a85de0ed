// JSON written straight into a string, for what is written often.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace quire {

// `text` in quotes, escaped as RFC 8259 wants; bytes that are no UTF-8 become U+FFFD.
void AppendJsonString(std::string& out, std::string_view text);

// The same without the quotes.
void AppendJsonEscaped(std::string& out, std::string_view text);

void AppendInt(std::string& out, std::int64_t value);

// The shortest text that reads back as the same float, widened to a double: what a float of the
// engine looks like in Python. Finite values only.
void AppendFloat(std::string& out, float value);

}  // namespace quire
