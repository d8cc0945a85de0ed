#include "tests/stress/hostile_constraints.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

std::string Times(std::string_view text, int count) {
  std::string out;
  out.reserve(text.size() * static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// `count` items, made by `item`, with `separator` between.
template <typename Item>
std::string List(int count, std::string_view separator, Item&& item) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    if (i > 0) out += separator;
    out += item(i);
  }
  return out;
}

StructuredOutputParams Of(ConstraintKind kind, std::string text) {
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  return params;
}
StructuredOutputParams Regex(std::string text) {
  return Of(ConstraintKind::kRegex, std::move(text));
}
StructuredOutputParams Schema(std::string text) {
  return Of(ConstraintKind::kJson, std::move(text));
}
StructuredOutputParams Ebnf(std::string text) {
  return Of(ConstraintKind::kGrammar, std::move(text));
}

// Each takes the round, 0, 1, 2, …, and grows with it.
using Maker = StructuredOutputParams (*)(int round);

constexpr std::array<Maker, 15> kRegexes = {{
    // Ten thousand ways, alike at their ends.
    [](int n) {
      return Regex(StrCat(
          "(", List(10'000, "|", [&](int i) { return StrCat("w", i * (n + 1), "e"); }), ")"));
    },
    [](int n) {
      return Regex(StrCat("(", List(10'000, "|", [](int i) { return StrCat("a{", i % 50, "}b"); }),
                          "){1,", n + 2, "}"));
    },
    // Repetitions inside one another.
    [](int n) { return Regex(StrCat(Times("(", n + 3), "a", Times("{1,20})", n + 3))); },
    [](int n) { return Regex(StrCat(Times("(", n + 20), "a", Times("*)*", n + 20))); },
    [](int n) { return Regex(StrCat(Times("(", n + 2), "a?", Times("{0,99})", n + 2), "b")); },
    // What makes backtracking and determinizing explode.
    [](int n) { return Regex(StrCat("(a|b)*a(a|b){", 10 + n, "}")); },
    [](int n) { return Regex(StrCat("(a+)+(a|aa)+(.*a){", n + 5, "}b")); },
    [](int n) { return Regex(StrCat("(.*.*){", n + 2, "}=.*")); },
    [](int n) { return Regex(StrCat(Times("(x+x+)+", n + 10), "y")); },
    [](int n) { return Regex(StrCat(Times("a?", n * 40 + 50), Times("a", n * 40 + 50))); },
    // Deep, long, wide.
    [](int n) { return Regex(StrCat(Times("(", 10'000 + n), "a", Times(")", 10'000 + n))); },
    [](int n) { return Regex(Times("(a|", 10'000 + n) + "b" + Times(")", 10'000 + n)); },
    [](int n) {
      return Regex(StrCat("[\\u0100-\\uffff]{1,", 500 + n * 100, "}[^a-z]{", n, ",9999}"));
    },
    [](int n) { return Regex(Times("[^\\x00-\\x20é-ü]*", 200 + n * 10)); },
    [](int n) { return Regex(StrCat("(", Times("\\w\\d\\s", 5000), "){1,", 20 + n, "}")); },
}};

constexpr std::array<Maker, 20> kSchemas = {{
    // Ten thousand deep.
    [](int n) {
      return Schema(
          StrCat(Times(R"({"properties":{"a":)", 10'000 + n), "{}", Times("}}", 10'000 + n)));
    },
    [](int n) { return Schema(StrCat(Times(R"({"items":)", 100 + n), "{}", Times("}", 100 + n))); },
    // References to themselves.
    [](int) { return Schema(R"({"$ref":"#"})"); },
    [](int n) {
      return Schema(StrCat(R"({"$defs":{)",
                           List(n + 2, ",",
                                [&](int i) {
                                  return StrCat("\"d", i, R"(":{"$ref":"#/$defs/d)",
                                                (i + 1) % (n + 2), "\"}");
                                }),
                           R"(},"$ref":"#/$defs/d0"})"));
    },
    [](int n) {
      return Schema(StrCat(
          R"({"properties":{)",
          List(n + 20, ",", [](int i) { return StrCat("\"p", i, R"(":{"$ref":"#"})"); }), "}}"));
    },
    [](int n) {
      return Schema(StrCat(R"({"anyOf":[)",
                           List(n + 2, ",",
                                [](int i) {
                                  return StrCat(R"({"items":{"allOf":[{"$ref":"#"},{"minItems":)",
                                                i, "}]}}");
                                }),
                           "]}"));
    },
    // A megabyte of values.
    [](int n) {
      return Schema(StrCat(
          R"({"enum":[)",
          List(40'000 + n * 100, ",",
               [&](int i) { return StrCat("\"value-", i * 7919 % 1'000'003, "-", n, "\""); }),
          "]}"));
    },
    [](int n) {
      return Schema(StrCat(
          R"({"enum":[)",
          List(20'000, ",", [&](int i) { return StrCat(R"({"k":)", i, R"(,"v":["a",)", n, "]}"); }),
          "]}"));
    },
    [](int n) { return Schema(StrCat(R"({"const":")", Times("x", 1'000'000 + n), "\"}")); },
    // Choices that multiply.
    [](int n) {
      return Schema(StrCat(R"({"allOf":[)",
                           List(n + 10, ",",
                                [](int i) {
                                  return StrCat(R"({"anyOf":[{"minimum":)", i, R"(},{"maximum":)",
                                                -i, "}]}");
                                }),
                           "]}"));
    },
    [](int n) {
      return Schema(StrCat(
          R"({"oneOf":[)",
          List(n + 10, ",", [](int i) { return StrCat(R"({"required":["a)", i, "\"]}"); }), "]}"));
    },
    [](int n) {
      return Schema(
          StrCat(Times(R"({"not":)", 40 + n), R"({"required":["a"]})", Times("}", 40 + n)));
    },
    [](int n) {
      return Schema(StrCat(R"({"dependentSchemas":{)",
                           List(n + 5, ",",
                                [](int i) {
                                  return StrCat("\"a", i, R"(":{"required":["a)", i + 1,
                                                R"("],"minProperties":)", i, "}");
                                }),
                           "}}"));
    },
    // Automata that multiply.
    [](int n) {
      return Schema(
          StrCat(R"({"type":"string","allOf":[)",
                 List(n + 3, ",",
                      [](int i) { return StrCat(R"({"pattern":"^(.{)", i + 2, R"(}x)*$"})"); }),
                 "]}"));
    },
    [](int n) {
      return Schema(StrCat(R"({"patternProperties":{)",
                           List(n + 4, ",",
                                [](int i) {
                                  return StrCat("\"", static_cast<char>('a' + i % 26), ".{", i, "}",
                                                static_cast<char>('z' - i % 26), R"(":{"minimum":)",
                                                i, "}");
                                }),
                           "}}"));
    },
    [](int n) {
      return Schema(
          StrCat(R"({"type":"string","pattern":"a.{)", 8 + n, R"(}b","minLength":)", 100 * n, "}"));
    },
    [](int n) {
      return Schema(StrCat(R"({"type":"number","multipleOf":0.)", Times("3", n + 3), "}"));
    },
    [](int n) {
      return Schema(StrCat(R"({"type":"string","minLength":)", 9000 + n, R"(,"maxLength":10000})"));
    },
    // Very many members, very many items.
    [](int n) {
      return Schema(
          StrCat(R"({"type":"object","properties":{)",
                 List(4000, ",", [](int i) { return StrCat("\"m", i, R"(":{"type":"integer"})"); }),
                 R"(},"minProperties":)", n + 100, "}"));
    },
    [](int n) {
      return Schema(StrCat(R"({"items":{"items":{"items":{"maxLength":50},"minItems":)", n + 10,
                           R"(},"minItems":)", n + 20, R"(},"minItems":)", n + 30, "}"));
    },
}};

constexpr std::array<Maker, 15> kGrammars = {{
    [](int n) {
      return Ebnf("root ::= " +
                  List(10'000, " | ", [&](int i) { return StrCat("\"w", i * (n + 3), "\""); }));
    },
    // Every rule leads to every text in very many ways.
    [](int n) { return Ebnf(StrCat("root ::= s{1,", n + 2, "}\ns ::= s s | \"a\" | \"\"\n")); },
    [](int n) {
      return Ebnf("root ::= s\ns ::= " +
                  List(n + 3, " | ", [](int i) { return Times("s ", i + 1) + "\"a\""; }) +
                  " | \"a\"\n");
    },
    [](int n) {
      return Ebnf(StrCat("root ::= (", Times("(", n + 5), "\"a\"", Times("*)*", n + 5), ")\n"));
    },
    [](int n) {
      return Ebnf(
          StrCat("root ::= ", Times("(\"a\" | ", 10'000 + n), "\"b\"", Times(")", 10'000 + n)));
    },
    // Rules that lead to rules.
    [](int n) {
      return Ebnf("root ::= r0\n" +
                  List(10'000, "\n", [](int i) { return StrCat("r", i, " ::= r", i + 1); }) +
                  StrCat("\nr10000 ::= \"", n, "\"\n"));
    },
    [](int n) {
      return Ebnf("root ::= r0\n" +
                  List(200 + n, "\n",
                       [&](int i) {
                         return StrCat("r", i, " ::= r", (i + 1) % (200 + n), " r",
                                       (i * 7 + 1) % (200 + n), " | \"", i, "\" | \"\"");
                       }) +
                  "\n");
    },
    [](int n) {  // doubles with each rule
      return Ebnf(
          "root ::= r0\n" +
          List(20 + n, "\n", [](int i) { return StrCat("r", i, " ::= r", i + 1, " r", i + 1); }) +
          StrCat("\nr", 20 + n, " ::= \"a\" | \"b\"\n"));
    },
    [](int n) { return Ebnf("root ::= root\n" + Times("# nothing\n", n)); },
    [](int n) { return Ebnf(StrCat("root ::= \"", Times("x", 1'000'000 + n), "\"\n")); },
    // Counts.
    [](int n) { return Ebnf(StrCat("root ::= (\"a\"{1,1000} \"b\"){1,", n + 50, "}\n")); },
    [](int n) {
      return Ebnf(
          StrCat("root ::= (x | y){", 10'000 + n * 100, "}\nx ::= [a-z] y?\ny ::= [0-9] x?\n"));
    },
    [](int n) { return Ebnf(StrCat("root ::= [^\"\\\\]{0,", 50'000 + n * 100, "} \"end\"\n")); },
    [](int n) {
      return Ebnf("root ::= " +
                  List(500 + n, " ", [](int) { return std::string("([a-z] | [0-9]*)?"); }) + "\n");
    },
    [](int n) {
      return Of(ConstraintKind::kStructuralTag,
                StrCat(R"({"triggers":["<"],"structures":[)",
                       List(500 + n, ",",
                            [](int i) {
                              return StrCat(R"({"begin":"<f)", i,
                                            R"(>","schema":{"type":"object"},"end":"</f>"})");
                            }),
                       "]}"));
    },
}};
static_assert(kRegexes.size() + kSchemas.size() + kGrammars.size() == kNumHostileKinds);

}  // namespace

StructuredOutputParams HostileConstraint(int number) {
  auto kind = static_cast<std::size_t>(number % kNumHostileKinds);
  const int round = number / kNumHostileKinds;
  if (kind < kRegexes.size()) return kRegexes[kind](round);
  kind -= kRegexes.size();
  if (kind < kSchemas.size()) return kSchemas[kind](round);
  return kGrammars[kind - kSchemas.size()](round);
}

}  // namespace quire
