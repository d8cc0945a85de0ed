// How shapes become rules: objects.
#include <algorithm>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "structured/schema_compiler.h"
#include "structured/schema_keywords.h"
#include "structured/string_set.h"

namespace quire::structured {
namespace {

constexpr std::size_t kMaxNameKinds = 16;
constexpr std::int64_t kMaxChainRules = 20'000;

// Whether any names are declared, or described by patterns.
bool Declares(const Shape& shape) {
  return std::ranges::any_of(shape.objects, [](const ObjectPart& part) {
    return part.properties != nullptr || part.patterns != nullptr;
  });
}

}  // namespace

// The members in their order, with the rule of each place and number of members before it.
struct SchemaCompiler::MemberChain {
  std::vector<Member> members;
  Others others;
  std::int64_t min = 0;
  std::int64_t max = kUnbounded;
  std::int64_t cap = 1;  // members beyond it need not be counted
  std::map<std::pair<std::size_t, std::int64_t>, Grammar::Rule> rules;
};

// Names that the same patterns match.
struct SchemaCompiler::NameKind {
  Dfa names;
  std::vector<const Json*> matched;  // schemas of those patterns
  std::vector<bool> objects;         // whose patterns are among them
};

Result<Conjunction> SchemaCompiler::MemberValue(const Shape& shape, const std::string& name) {
  Conjunction value;
  for (const ObjectPart& part : shape.objects) {
    bool is_known = false;
    if (part.properties != nullptr) {
      for (const auto& [key, schema] : *part.properties) {
        if (key != name) continue;
        value.push_back(&schema);
        is_known = true;
      }
    }
    if (part.patterns != nullptr) {
      for (const auto& [pattern, schema] : *part.patterns) {
        QUIRE_ASSIGN_OR_RETURN(const Dfa* names, NamesWith(pattern, false));
        if (!names->Accepts(name)) continue;
        value.push_back(&schema);
        is_known = true;
      }
    }
    if (!is_known && part.additional != nullptr) value.push_back(part.additional);
  }
  return value;
}

Result<std::vector<SchemaCompiler::Member>> SchemaCompiler::MembersOf(const Shape& shape) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> places;
  const auto add = [&](const std::string& name) {
    if (places.try_emplace(name, names.size()).second) names.push_back(name);
  };
  for (const ObjectPart& part : shape.objects) {
    if (part.properties == nullptr) continue;
    for (const auto& [name, schema] : *part.properties) add(name);
  }
  for (const std::string& name : shape.required) add(name);
  std::optional<Dfa> allowed;
  if (!shape.names.empty()) {
    QUIRE_ASSIGN_OR_RETURN(allowed, NamesOf(shape));
  }
  std::vector<Member> members;
  for (const std::string& name : names) {
    Member member{.name = name};
    QUIRE_ASSIGN_OR_RETURN(member.value, MemberValue(shape, name));
    member.is_required = std::ranges::find(shape.required, name) != shape.required.end();
    if (allowed && !allowed->Accepts(name)) {
      static const Json kNever(false);
      member.value.push_back(&kNever);
    }
    members.push_back(std::move(member));
  }
  return members;
}

Result<const Dfa*> SchemaCompiler::NamesWith(const std::string& pattern, bool is_wide) {
  const auto known = patterns_.find({pattern, is_wide});
  if (known != patterns_.end()) return &known->second;
  Result<Dfa> names = StringsWith(pattern, {.is_wide = is_wide});
  if (!names.ok()) return names.status().With("json schema: patternProperties");
  return &patterns_.emplace(std::pair(pattern, is_wide), *std::move(names)).first->second;
}

// What propertyNames leaves.
Result<Dfa> SchemaCompiler::NamesOf(const Shape& shape) {
  QUIRE_ASSIGN_OR_RETURN(const std::vector<Shape> shapes, expander_.Expand(shape.names));
  Dfa refused = Dfa::AllTexts();
  for (const Shape& names : shapes) {
    if ((names.kinds & kStringKind) == 0) continue;
    QUIRE_ASSIGN_OR_RETURN(Dfa strings, StringsOf(document_, names));
    if (names.values) {
      std::vector<std::string_view> words;
      for (const Json* value : *names.values) {
        if (value->is_string()) words.emplace_back(value->string());
      }
      QUIRE_ASSIGN_OR_RETURN(strings, strings.And(Dfa::OfWords(words)));
    }
    QUIRE_ASSIGN_OR_RETURN(refused, refused.AndNot(strings));
  }
  return refused.Not();
}

// Whether every name that is not declared and matches no pattern is refused.
bool SchemaCompiler::IsClosed(const Shape& shape) const {
  const auto has = [&](auto&& what) { return std::ranges::any_of(shape.objects, what); };
  if (has([](const ObjectPart& part) { return part.patterns != nullptr; })) return false;
  if (options_.closes_objects && Declares(shape)) return true;
  return has([](const ObjectPart& part) {
    return part.additional != nullptr && part.additional->is_bool() && !part.additional->boolean();
  });
}

Result<Dfa> SchemaCompiler::UndeclaredNames(const Shape& shape,
                                            const std::vector<Member>& members) {
  Dfa names = Dfa::AllTexts();
  if (!shape.names.empty()) {
    QUIRE_ASSIGN_OR_RETURN(names, NamesOf(shape));
  }
  if (members.empty()) return names;
  std::vector<std::string_view> declared;
  declared.reserve(members.size());
  for (const Member& member : members) declared.emplace_back(member.name);
  return names.AndNot(Dfa::OfWords(declared));
}

// Parts each of the kinds into the names that match a pattern of object `object` and those that do
// not.
Status SchemaCompiler::PartBy(const std::string& pattern, const Json& schema, std::size_t object,
                              std::vector<NameKind>& kinds) {
  QUIRE_ASSIGN_OR_RETURN(const Dfa* narrow, NamesWith(pattern, false));
  QUIRE_ASSIGN_OR_RETURN(const Dfa* wide, NamesWith(pattern, true));
  std::vector<NameKind> parted;
  for (NameKind& kind : kinds) {
    QUIRE_ASSIGN_OR_RETURN(Dfa inside, kind.names.And(*narrow));
    QUIRE_ASSIGN_OR_RETURN(Dfa outside, kind.names.AndNot(*wide));
    if (!inside.is_empty()) {
      NameKind matched{std::move(inside), kind.matched, kind.objects};
      matched.matched.push_back(&schema);
      matched.objects[object] = true;
      parted.push_back(std::move(matched));
    }
    if (!outside.is_empty()) {
      parted.push_back({std::move(outside), std::move(kind.matched), std::move(kind.objects)});
    }
  }
  kinds = std::move(parted);
  if (kinds.size() <= kMaxNameKinds) return {};
  return ResourceExhausted("json schema: patternProperties: too many patterns overlap");
}

// What a member of such a name must be; nothing where there can be none.
std::optional<Conjunction> SchemaCompiler::ValueOfKind(const Shape& shape,
                                                       const NameKind& kind) const {
  if (kind.names.is_empty()) return std::nullopt;
  if (kind.matched.empty() && options_.closes_objects && Declares(shape)) return std::nullopt;
  Conjunction value(kind.matched.begin(), kind.matched.end());
  for (std::size_t i = 0; i < shape.objects.size(); ++i) {
    const Json* additional = shape.objects[i].additional;
    if (!kind.objects[i] && additional != nullptr) value.push_back(additional);
  }
  const auto is_never = [&](const Json* schema) {
    const Json& whole = document_.Follow(*schema);
    return whole.is_bool() && !whole.boolean();
  };
  if (std::ranges::any_of(value, is_never)) return std::nullopt;
  return value;
}

// Names that are not declared, parted by which patterns match them.
Result<SchemaCompiler::Others> SchemaCompiler::OthersOf(const Shape& shape,
                                                        const std::vector<Member>& members) {
  Others others;
  if (IsClosed(shape)) return others;
  QUIRE_ASSIGN_OR_RETURN(Dfa names, UndeclaredNames(shape, members));
  std::vector<NameKind> kinds;
  kinds.push_back({std::move(names), {}, std::vector<bool>(shape.objects.size())});
  bool has_patterns = false;
  for (std::size_t i = 0; i < shape.objects.size(); ++i) {
    if (shape.objects[i].patterns == nullptr) continue;
    for (const auto& [pattern, schema] : *shape.objects[i].patterns) {
      has_patterns = true;
      QUIRE_RETURN_IF_ERROR(PartBy(pattern, schema, i, kinds));
    }
  }
  for (NameKind& kind : kinds) {
    std::optional<Conjunction> value = ValueOfKind(shape, kind);
    if (value) others.kinds.emplace_back(std::move(kind.names), *std::move(value));
  }
  others.takes_any_name = members.empty() && shape.names.empty() && !has_patterns;
  return others;
}

Grammar::Node SchemaCompiler::OtherMember(const Others& others) {
  Grammar& grammar = json_.grammar();
  std::vector<Node> ways;
  for (const auto& [names, value] : others.kinds) {
    const Node name = others.takes_any_name ? json_.AnyString() : json_.StringIn(names);
    ways.push_back(grammar.Sequence({name, json_.Colon(), ValueOf(value)}));
  }
  return grammar.Ref(grammar.RuleOf(grammar.Choice(std::move(ways))));
}

Result<Grammar::Node> SchemaCompiler::Object(const Shape& shape) {
  const bool is_any = shape.objects.empty() && shape.required.empty() && shape.names.empty() &&
                      shape.min_members == 0 && shape.max_members == kUnbounded;
  if (is_any) return json_.AnyObject();
  MemberChain chain;
  QUIRE_ASSIGN_OR_RETURN(chain.members, MembersOf(shape));
  QUIRE_ASSIGN_OR_RETURN(chain.others, OthersOf(shape, chain.members));
  const auto num_members = static_cast<std::int64_t>(chain.members.size());
  const std::int64_t num_required = std::ranges::count(chain.members, true, &Member::is_required);
  if (shape.min_members > num_required) chain.min = shape.min_members;
  const bool is_open = !chain.others.kinds.empty();
  if (shape.max_members != kUnbounded && (is_open || shape.max_members < num_members)) {
    chain.max = shape.max_members;
  }
  // Members without a declared name may repeat one: of those only the first surely counts.
  if (is_open && chain.min > num_members + 1) {
    return KeywordError(document_, Code::kUnimplemented, *shape.min_members_at, "minProperties",
                        "unsupported: more members than have names of their own");
  }
  chain.cap = std::max<std::int64_t>({1, chain.min, chain.max});
  if ((num_members + 1) * (std::min(chain.cap, num_members) + 1) > kMaxChainRules) {
    return ResourceExhausted("json schema: too many members to count");
  }
  Grammar& grammar = json_.grammar();
  const Node inside = Chain(chain, 0, 0);
  return grammar.Sequence({grammar.Text("{"), json_.Gap(), inside, grammar.Text("}")});
}

// The members from `index` on, where `count` stand before it.
Grammar::Node SchemaCompiler::Chain(MemberChain& chain, std::size_t index, std::int64_t count) {
  Grammar& grammar = json_.grammar();
  // From the end to the front, so that no call waits for another.
  for (std::size_t i = chain.members.size() + 1; i-- > index;) {
    const std::int64_t most = std::min<std::int64_t>(chain.cap, static_cast<std::int64_t>(i));
    for (std::int64_t c = 0; c <= most; ++c) {
      if (i == chain.members.size()) {
        chain.rules[{i, c}] = grammar.RuleOf(ChainEnd(chain, c));
        continue;
      }
      const Member& member = chain.members[i];
      std::vector<Node> ways;
      if (chain.max == kUnbounded || c < chain.max) {
        std::vector<Node> parts;
        if (c > 0) parts.push_back(json_.Comma());
        parts.push_back(json_.StringLiteral(member.name));
        parts.push_back(json_.Colon());
        parts.push_back(ValueOf(member.value));
        parts.push_back(grammar.Ref(chain.rules[{i + 1, std::min(c + 1, chain.cap)}]));
        ways.push_back(grammar.Sequence(std::move(parts)));
      }
      if (!member.is_required) ways.push_back(grammar.Ref(chain.rules[{i + 1, c}]));
      chain.rules[{i, c}] = grammar.RuleOf(grammar.Choice(std::move(ways)));
    }
  }
  return grammar.Ref(chain.rules[{index, count}]);
}

// Members with other names, and the white space before the brace.
Grammar::Node SchemaCompiler::ChainEnd(MemberChain& chain, std::int64_t count) {
  Grammar& grammar = json_.grammar();
  std::vector<Node> ways;
  const Node gap = json_.Gap();
  if (count >= chain.min) ways.push_back(count > 0 ? gap : grammar.Empty());
  const bool has_room = chain.max == kUnbounded || count < chain.max;
  if (!chain.others.kinds.empty() && has_room && count + 1 >= chain.min) {
    const Node other = OtherMember(chain.others);
    const int more = chain.max == kUnbounded ? kUnbounded : static_cast<int>(chain.max - count - 1);
    std::vector<Node> parts;
    if (count > 0) parts.push_back(json_.Comma());
    parts.push_back(other);
    parts.push_back(grammar.Repeat(grammar.Sequence({json_.Comma(), other}), 0, more));
    parts.push_back(gap);
    ways.push_back(grammar.Sequence(std::move(parts)));
  }
  return grammar.Choice(std::move(ways));
}

}  // namespace quire::structured
