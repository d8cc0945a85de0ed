// Context-free grammars over code points: what every kind of constraint becomes before a backend
// compiles it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "structured/char_set.h"
#include "structured/regex.h"

namespace quire::structured {

// Rules made of nodes. Nodes are added bottom-up and shared freely; a rule may be referred to
// before it has a body.
class Grammar {
 public:
  using Node = std::int32_t;
  using Rule = std::int32_t;

  Node Empty();    // the empty text
  Node Nothing();  // no text at all
  Node Text(std::string_view utf8);
  Node Chars(CharSet chars);
  Node Sequence(std::vector<Node> parts);
  Node Choice(std::vector<Node> parts);
  // Larger counts become rules that lead from one block of repetitions to the next: the backend's
  // own way with them lets tokens through that may not follow.
  Node Repeat(Node part, int min, int max);  // kUnbounded
  Node Optional(Node part) { return Repeat(part, 0, 1); }
  Node Ref(Rule rule);
  // Free text in which each of `triggers` begins a text of its rule, after which free text goes on;
  // only as a rule's whole body. Needs a backend that knows it.
  struct Trigger {
    std::string text;
    Rule rule = 0;
  };
  Node Dispatch(std::vector<Trigger> triggers);

  Rule AddRule();
  void SetBody(Rule rule, Node body) { bodies_[static_cast<std::size_t>(rule)] = body; }
  Rule RuleOf(Node body);  // a new one

  void SetRoot(Rule rule) { root_ = rule; }

  // Nodes so far; what building is bounded by.
  std::size_t size() const { return nodes_.size(); }

  // The largest product of counted repetitions inside one another.
  std::int64_t RepetitionProduct() const;

  // The grammar in EBNF with the start rule `root`, without whatever can never end: a rule that
  // only leads to itself, and what needs one. kInvalidArgument where nothing is left.
  Result<std::string> ToEbnf() const;

  // One of the texts with the fewest bytes, cut after `max_bytes`; "" where there is none.
  std::string ShortestText(std::size_t max_bytes) const;

  // Whether any text belongs to the grammar.
  bool is_productive() const;

 private:
  enum class Kind : std::uint8_t {
    kNothing,
    kText,
    kChars,
    kSequence,
    kChoice,
    kRepeat,
    kRef,
    kDispatch
  };
  struct Item {
    Kind kind = Kind::kNothing;
    std::string text;
    CharSet chars;
    std::vector<Node> parts;
    std::vector<Trigger> triggers;
    int min = 0;
    int max = 0;
  };
  struct Productive {
    std::vector<bool> nodes;
    std::vector<bool> rules;
  };

  Node Add(Item item);
  std::int64_t ProductOf(const Item& item) const;
  Node Counted(Node part, int min, int max);
  Node LongRepeat(Node part, int min, int max);
  Node UpTo(Node part, int max, std::int64_t product);
  Node Block(Node body, std::int64_t product);
  const Item& at(Node node) const { return nodes_[static_cast<std::size_t>(node)]; }
  Productive FindProductive() const;
  bool IsProductive(const Item& item, const Productive& productive) const;
  std::vector<std::int64_t> ShortestLengths() const;
  std::int64_t LengthOf(const Item& item, const std::vector<std::int64_t>& lengths) const;
  std::vector<Rule> FindReachable(const Productive& productive) const;
  void Write(Node node, const Productive& productive, bool is_inner, std::string& out) const;
  void WriteParts(const Item& item, const Productive& productive, bool is_inner,
                  std::string& out) const;

  std::vector<Item> nodes_;
  std::vector<std::int64_t> products_;  // of nodes: their counted repetitions inside one another
  std::vector<Node> bodies_;            // of rules; -1: none yet
  std::vector<std::int64_t> rule_products_;
  Rule root_ = 0;
};

}  // namespace quire::structured
