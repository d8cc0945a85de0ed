// Cuts a template into text and the tokens of its tags.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tokenizer/jinja/value.h"

namespace quire::jinja {

struct Position {
  int line = 0;  // from 1
  int column = 0;
};

// A failed parse.
struct SyntaxError {
  std::string message;
  Position at;
};

struct Token {
  enum class Kind : std::uint8_t {
    kText,        // between tags
    kTagBegin,    // {%
    kTagEnd,      // %}
    kPrintBegin,  // {{
    kPrintEnd,    // }}
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;  // of text, names, strings (decoded) and operators
  Int integer = 0;
  double number = 0;
  Position at;

  bool Is(Kind wanted, std::string_view wanted_text) const {
    return kind == wanted && text == wanted_text;
  }
};

// The tokens, ended by kEnd; with trim_blocks and lstrip_blocks, and raw blocks as text. False on a
// syntax error, told in `error`.
bool Tokenize(std::string_view source, std::vector<Token>& out, SyntaxError& error);

}  // namespace quire::jinja
