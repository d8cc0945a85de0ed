#include "structured/constraint.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

StructuredOutputParams Of(ConstraintKind kind, std::string text) {
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  return params;
}

Status RefusalOf(ConstraintKind kind, std::string text) {
  return GrammarOf(Of(kind, std::move(text))).status();
}

struct Refusal {
  std::string schema, pointer, word;
};

TEST(Constraint, ASchemaThatCannotBeEnforcedIsRefusedWithPointerAndKeyword) {
  const std::vector<Refusal> refusals = {
      {R"({"properties":{"a":{"type":"strng"}}})", "#/properties/a", "type"},
      {R"({"properties":{"a":{"minimum":"1"}}})", "#/properties/a", "minimum"},
      {R"({"properties":{"a":{"$ref":"#/$defs/Missing"}}})", "#/properties/a/$ref", "Missing"},
      {R"({"properties":{"a":{"$ref":"https://example.com/x"}}})", "#/properties/a/$ref",
       "unsupported"},
      {R"({"properties":{"a":{"type":"string","maxLength":99999}}})", "#/properties/a",
       "unsupported: minLength and maxLength"},
      {R"({"properties":{"a":{"type":"string","minLength":5000,"pattern":"^a"}}})",
       "#/properties/a", "unsupported: pattern"},
      {R"({"properties":{"a":{"type":"array","items":{"type":"number","multipleOf":0.9999991}}}})",
       "#/properties/a/items", "unsupported: multipleOf"},
      {R"({"$ref":"#x","items":{"$anchor":"x"},"not":{"$anchor":"x"}})", "#/$ref", "nowhere"},
      {R"({"$ref":"#x","enum":[{"$anchor":"x"}]})", "#/$ref", "nowhere"},
      {R"({"$ref":"#x","items":{"$id":"y","items":{"$anchor":"x"}}})", "#/$ref", "nowhere"},
      {R"({"$ref":"#/items/items","items":{"$id":"y","items":{}}})", "#/$ref", "nowhere"},
      {R"({"properties":{"a":{"$ref":"/$defs/Color"}}})", "#/properties/a/$ref", "Color"},
      {R"({"items":{"unevaluatedProperties":false}})", "#/items", "unevaluatedProperties"},
      {R"({"type":"array","items":{"type":"string"},"uniqueItems":true})", "#", "uniqueItems"},
      {R"x({"properties":{"a":{"pattern":"(?=x)"}}})x", "#/properties/a", "pattern"},
      {R"({"properties":{"a":{"format":"iri"}}})", "#/properties/a", "format"},
      {R"({"enum":3})", "#", "enum"},
      {R"({"type":"array","minItems":3,"maxItems":1})", "#", "admits no text"},
      {R"({"enum":[]})", "#", "admits no text"},
      {"false", "#", "admits no text"},
      {R"({"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}})", "#",
       "back to itself"},
      {R"({"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]})", "#",
       "admits no text"},
      {"[]", "#", "must be an object or a boolean"},
      {"{", "line 1", "json schema"},
  };
  for (const auto& [schema, pointer, word] : refusals) {
    const Status status = RefusalOf(ConstraintKind::kJson, schema);
    EXPECT_FALSE(status.ok()) << schema;
    EXPECT_NE(status.message().find(pointer), std::string::npos)
        << schema << ": " << status.message();
    EXPECT_NE(status.message().find(word), std::string::npos) << schema << ": " << status.message();
  }
}

TEST(Constraint, RecursiveSchemasCompile) {
  for (
      const char* schema :
      {R"({"type":"object","properties":{"v":{"type":"integer"},"c":{"type":"array","items":{"$ref":"#"}}}})",
       R"({"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/a"}}]}}})",
       R"({"properties":{"x":{"$ref":"#/properties/y/anyOf/1"},"y":{"anyOf":[true,{"enum":["p","q"]}]}}})"}) {
    EXPECT_TRUE(GrammarOf(Of(ConstraintKind::kJson, schema)).ok()) << schema;
  }
}

TEST(Constraint, HostileOnesAreRefusedOrCompileInBoundedTime) {
  std::string deep = "{\"type\":\"object\"";
  for (int i = 0; i < 2000; ++i) deep = "{\"items\":" + deep;
  EXPECT_FALSE(RefusalOf(ConstraintKind::kJson, deep + std::string(2001, '}')).ok());
  std::string wide = "{\"allOf\":[";
  for (int i = 0; i < 12; ++i) {
    wide += std::string(i > 0 ? "," : "") +
            R"({"anyOf":[{"minimum":1},{"maxLength":2},{"maxItems":3},{"required":["a"]}]})";
  }
  EXPECT_EQ(RefusalOf(ConstraintKind::kJson, wide + "]}").code(), Code::kInvalidArgument);
  EXPECT_FALSE(RefusalOf(ConstraintKind::kGrammar, "root ::= " + std::string(10'000, '(')).ok());
  const Status product =
      RefusalOf(ConstraintKind::kGrammar, "root ::= (((\"a\"{9999}){9999}){9999})");
  EXPECT_TRUE(product.message().starts_with("grammar: unsupported: ")) << product.message();
  std::string values = R"({"enum":["v")";
  for (int i = 0; i < 200'000; ++i) values += R"(,"v)" + std::to_string(i) + '"';
  const Status large = RefusalOf(ConstraintKind::kJson, values + "]}");
  EXPECT_TRUE(large.message().starts_with("json schema: #: unsupported: ")) << large.message();
  EXPECT_FALSE(RefusalOf(ConstraintKind::kGrammar, "root ::= a\na ::= b\nb ::= a").ok());
  EXPECT_FALSE(RefusalOf(ConstraintKind::kRegex, std::string(10'000, '(')).ok());
  StructuredOutputParams many = Of(ConstraintKind::kChoice, "");
  for (int i = 0; i < 10'000; ++i) many.choices.push_back("choice " + std::to_string(i));
  EXPECT_TRUE(GrammarOf(many).ok());
}

TEST(Constraint, GrammarsAreRefusedByLine) {
  for (const char* bad :
       {"", "x ::= \"a\"", "root ::= y", "root ::= \"a", "root ::= [a", "root ::= \"a\"{2,1}",
        "root ::= \"a\" )", "root ::= \"a\"\nroot ::= \"b\""}) {
    EXPECT_FALSE(RefusalOf(ConstraintKind::kGrammar, bad).ok()) << bad;
  }
  const Status macro = RefusalOf(ConstraintKind::kGrammar, "root ::= TagDispatch((\"a\", root))");
  EXPECT_NE(macro.message().find("unsupported"), std::string::npos);
}

TEST(Constraint, WhitespaceThatIsNotJsonsIsRefused) {
  StructuredOutputParams params = Of(ConstraintKind::kJson, "true");
  params.whitespace_pattern = "x*";
  EXPECT_FALSE(GrammarOf(params).ok());
  params.whitespace_pattern = "(";
  EXPECT_NE(GrammarOf(params).status().message().find("whitespace_pattern"), std::string::npos);
  params.whitespace_pattern = "[ \\n]?";
  EXPECT_TRUE(GrammarOf(params).ok());
}

}  // namespace
}  // namespace quire
