// The pieces of JSON as a grammar: white space, strings, numbers, any value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/json.h"
#include "structured/automaton.h"
#include "structured/char_set.h"
#include "structured/grammar.h"
#include "structured/regex.h"

namespace quire::structured {

// How a JSON text is laid out.
struct JsonLayout {
  // Off: ", " and ": " and no other white space, as Python writes it.
  bool is_free = true;
  std::optional<Regex> white_space;  // between tokens where free; none: a bounded run of blanks
};

// Adds rules to one grammar, each once.
class JsonText {
 public:
  JsonText(Grammar& grammar, JsonLayout layout) : grammar_(grammar), layout_(std::move(layout)) {}

  Grammar& grammar() { return grammar_; }

  Grammar::Node Gap();    // inside brackets
  Grammar::Node Comma();  // with the white space around it
  Grammar::Node Colon();
  // Each item that is there, with commas between them, in brackets.
  Grammar::Node Bracketed(char open, Grammar::Node inside, char close);

  Grammar::Node AnyValue();
  Grammar::Node AnyObject();
  Grammar::Node AnyArray();
  Grammar::Node AnyString();
  Grammar::Node AnyNumber();
  Grammar::Node AnyInteger();

  // Strings of so many code points (kUnbounded).
  Grammar::Node StringOfLength(int min, int max);
  // Strings whose value the automaton accepts.
  Grammar::Node StringIn(const Dfa& dfa);
  // Strings whose value the expression, which has no anchors, matches as a whole.
  Grammar::Node StringLike(const Regex& regex);
  // One value as it may be written.
  Grammar::Node StringLiteral(std::string_view value);
  Grammar::Node NumberLiteral(const Json& value);

  // Texts (not JSON strings) of an automaton and of an expression without anchors.
  Grammar::Node TextIn(const Dfa& dfa);
  Grammar::Node TextLike(const Regex& regex);

 private:
  enum class Spelling { kPlain, kInString };
  std::vector<Grammar::Node> CharWays(const CharSet& chars, Spelling spelling);
  Grammar::Node Char(const CharSet& chars, Spelling spelling);
  Grammar::Node Escape(const CharSet& chars);
  Grammar::Node HexEscapes(const CharSet& chars);
  Grammar::Node Hex16(char32_t first, char32_t last);
  Grammar::Node States(const Dfa& dfa, Spelling spelling);
  Grammar::Node Tree(const Regex& regex, std::int32_t node, Spelling spelling);
  template <typename Make>
  Grammar::Node Once(std::optional<Grammar::Rule>& rule, Make&& make);

  Grammar& grammar_;
  JsonLayout layout_;
  std::map<CharSet, Grammar::Rule> escapes_;
  std::optional<Grammar::Rule> gap_, value_, object_, array_, string_, number_, integer_;
  std::map<std::pair<int, int>, Grammar::Rule> lengths_;
};

}  // namespace quire::structured
