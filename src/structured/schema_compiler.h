// How shapes become rules. For schema_grammar.cc and its parts only.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "structured/automaton.h"
#include "structured/grammar.h"
#include "structured/json_text.h"
#include "structured/schema_document.h"
#include "structured/schema_expander.h"
#include "structured/schema_grammar.h"
#include "structured/schema_shape.h"

namespace quire::structured {

class SchemaCompiler {
 public:
  SchemaCompiler(SchemaDocument document, const SchemaOptions& options, JsonText& json)
      : document_(std::move(document)), expander_(document_), options_(options), json_(json) {}

  Result<Grammar::Rule> Compile();

 private:
  using Node = Grammar::Node;

  // The rule of a conjunction, made later if it is new.
  Grammar::Rule RuleOf(const Conjunction& conjunction);
  Node ValueOf(const Conjunction& conjunction);
  Result<Node> Body(const Conjunction& conjunction);
  Status Located(const Status& status, const Conjunction& conjunction) const;
  Result<Node> OfShape(const Shape& shape);
  Result<Node> OfValues(const Shape& shape);
  Result<std::vector<const Json*>> PossibleValues(const Shape& shape) const;
  Node Literal(const Json& value);
  Result<Node> Number(const Shape& shape);
  Result<Dfa> NumbersOf(const Shape& shape) const;
  Result<Node> String(const Shape& shape);

  // schema_arrays.cc
  Result<Node> Array(const Shape& shape);
  Node PlainArray(const Shape& shape, std::size_t num_prefix);
  Result<Node> ContainingArray(const Shape& shape);
  Result<Node> UniqueArray(const Shape& shape);
  Conjunction ItemAt(const Shape& shape, std::size_t index) const;
  Node EmptyArray();

  // schema_objects.cc
  struct Member {
    std::string name;
    Conjunction value;
    bool is_required = false;
  };
  // What may stand after the members with names of their own.
  struct Others {
    std::vector<std::pair<Dfa, Conjunction>> kinds;  // names, and the values under them
    bool takes_any_name = false;                     // the one kind's names are all strings
  };
  struct MemberChain;
  Result<Node> Object(const Shape& shape);
  Result<std::vector<Member>> MembersOf(const Shape& shape);
  Result<Conjunction> MemberValue(const Shape& shape, const std::string& name);
  struct NameKind;
  bool IsClosed(const Shape& shape) const;
  Result<Dfa> UndeclaredNames(const Shape& shape, const std::vector<Member>& members);
  Status PartBy(const std::string& pattern, const Json& schema, std::size_t object,
                std::vector<NameKind>& kinds);
  std::optional<Conjunction> ValueOfKind(const Shape& shape, const NameKind& kind) const;
  Result<Others> OthersOf(const Shape& shape, const std::vector<Member>& members);
  Result<Dfa> NamesOf(const Shape& shape);
  // The names that a pattern is found in; each is made once.
  Result<const Dfa*> NamesWith(const std::string& pattern, bool is_wide);
  Node OtherMember(const Others& others);
  Node Chain(MemberChain& chain, std::size_t index, std::int64_t count);
  Node ChainEnd(MemberChain& chain, std::int64_t count);

  SchemaDocument document_;
  SchemaExpander expander_;
  SchemaOptions options_;
  JsonText& json_;
  std::map<Conjunction, Grammar::Rule> rules_;
  std::map<std::pair<std::string, bool>, Dfa> patterns_;
  std::vector<std::pair<Conjunction, Grammar::Rule>> pending_;
};

}  // namespace quire::structured
