#include "server/request_fields.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "base/test_data.h"
#include "server/chat_request.h"
#include "server/common_request.h"
#include "server/completion_request.h"
#include "server/constraint.h"
#include "server/field_reader.h"
#include "server/messages_request.h"
#include "server/openapi.h"
#include "server/responses_request.h"
#include "server/tokenize_request.h"

namespace quire {
namespace {

template <typename Request>
std::set<std::string> NamesOf() {
  Request request;
  NameCollector names;
  VisitFields(request, names);
  return {names.names().begin(), names.names().end()};
}

std::map<std::string, std::set<std::string>> OurNames() {
  return {{"/v1/completions", NamesOf<CompletionRequest>()},
          {"/v1/chat/completions", NamesOf<ChatRequest>()},
          {"/v1/responses", NamesOf<ResponsesRequest>()},
          {"/v1/messages", NamesOf<MessagesRequest>()},
          {"/v1/messages/count_tokens", NamesOf<CountTokensRequest>()},
          {"/tokenize", NamesOf<TokenizeRequest>()},
          {"/detokenize", NamesOf<DetokenizeRequest>()}};
}

TEST(RequestFields, KnowEveryFieldThatTheOriginalTakes) {
  const std::string path = TestDataPath("compat/request-fields.tsv");
  std::ifstream file(path);
  if (!file) GTEST_SKIP() << "no compat/request-fields.tsv in the test data";
  const auto ours = OurNames();
  int num_fields = 0;
  for (std::string line; std::getline(file, line);) {
    const auto cells = Split(line, '\t');
    const auto known = ours.find(std::string(cells[0]));
    if (known == ours.end()) continue;
    ++num_fields;
    EXPECT_TRUE(known->second.contains(std::string(cells[2]))) << cells[0] << " " << cells[2];
  }
  EXPECT_GT(num_fields, 200);
}

TEST(RequestFields, StandOnceInEachList) {
  for (const auto& [path, names] : OurNames()) EXPECT_FALSE(names.empty()) << path;
  ChatRequest request;
  NameCollector names;
  VisitFields(request, names);
  EXPECT_EQ(names.names().size(), NamesOf<ChatRequest>().size());
}

TEST(RequestFields, AreThoseOfTheOpenApiDocument) {
  const Json document = *ParseJson(OpenApiJson("1.0"));
  const Json* schemas = document.Find("components")->Find("schemas");
  const std::pair<const char*, std::set<std::string>> requests[] = {
      {"CompletionRequest", NamesOf<CompletionRequest>()},
      {"ChatCompletionRequest", NamesOf<ChatRequest>()},
      {"ResponsesRequest", NamesOf<ResponsesRequest>()},
      {"AnthropicMessagesRequest", NamesOf<MessagesRequest>()}};
  for (const auto& [name, names] : requests) {
    std::set<std::string> documented;
    for (const auto& [field, schema] : schemas->Find(name)->Find("properties")->object()) {
      documented.insert(field);
      EXPECT_TRUE(schema.is_object()) << field;
    }
    EXPECT_EQ(documented, names) << name;
  }
  const Json* chat = schemas->Find("ChatCompletionRequest");
  EXPECT_EQ(*chat->Find("required"), Json(JsonArray{"messages"}));
}

TEST(FieldReader, ReadsEachKindAndNamesWhatItCannot) {
  const auto refusal = [](const char* text) {
    Json body = *ParseJson(text);
    CompletionRequest request;
    const auto read = ReadFields(body, request);
    return read.ok() ? std::string("accepted") : read.status().message();
  };
  EXPECT_EQ(refusal(R"({"prompt":"a","temperature":1,"max_tokens":3.0,"seed":-1})"), "accepted");
  EXPECT_EQ(refusal(R"({"prompt":"a","temperature":"hot"})"),
            "temperature: must be a number, got a string");
  EXPECT_EQ(refusal(R"({"prompt":"a","echo":1})"), "echo: must be true or false, got an integer");
  EXPECT_EQ(refusal(R"({"prompt":"a","n":1.5})"), "n: must be an integer of 64 bits, got 1.5");
  EXPECT_EQ(refusal(R"({"echo":true})"), "prompt: is required");
  EXPECT_EQ(refusal(R"({"prompt":"a","n":99999999999})"),
            "n: must be in [-2147483648, 2147483647], got 99999999999");
}

TEST(FieldReader, TakesNullForAbsent) {
  Json body = *ParseJson(
      R"({"prompt":"a","temperature":null,"echo":null,"n":null,"stop":null,"max_tokens":null})");
  CompletionRequest request;
  ASSERT_TRUE(ReadFields(body, request).ok());
  EXPECT_EQ(request.sampling.temperature, 1.0);
  EXPECT_EQ(request.sampling.n, 1);
  EXPECT_TRUE(request.sampling.stop.empty());
  EXPECT_FALSE(request.sampling.max_tokens.has_value());
}

TEST(FieldReader, GivesTheNamesThatNoFieldHas) {
  Json body = *ParseJson(R"({"prompt":"a","b":1,"n":1,"a":2})");
  CompletionRequest request;
  EXPECT_EQ(*ReadFields(body, request), (std::vector<std::string>{"b", "a"}));
}

TEST(Constraint, IsReadFromEachFieldThatAsksForOne) {
  const auto read = [](const char* text) {
    Json body = *ParseJson(text);
    ConstraintFields fields;
    EXPECT_TRUE(ReadFields(body, fields).ok());
    return ReadConstraint(fields);
  };
  EXPECT_EQ(*read("{}"), nullptr);
  EXPECT_EQ(*read(R"({"response_format":{"type":"text"}})"), nullptr);
  const auto kind = [&](const char* text) { return (*read(text))->kind; };
  EXPECT_EQ(kind(R"({"response_format":{"type":"json_object"}})"), ConstraintKind::kJsonObject);
  EXPECT_EQ(kind(R"({"structured_outputs":{"grammar":"root ::= \"a\""}})"),
            ConstraintKind::kGrammar);
  EXPECT_EQ(kind(R"({"guided_regex":"a+"})"), ConstraintKind::kRegex);
  EXPECT_EQ(kind(R"({"response_format":{"type":"structural_tag","structures":[]}})"),
            ConstraintKind::kStructuralTag);
  const Constraint schema = *read(
      R"({"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object"}}}})");
  EXPECT_EQ(schema->kind, ConstraintKind::kJson);
  EXPECT_EQ(schema->text, R"({"type":"object"})");
  const Constraint choice =
      *read(R"({"structured_outputs":{"choice":["a","b"],"whitespace_pattern":"x"}})");
  EXPECT_EQ(choice->choices, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(choice->whitespace_pattern, "x");
  for (const char* text :
       {R"({"structured_outputs":{}})", R"({"structured_outputs":{"regex":"a","choice":["b"]}})",
        R"({"guided_regex":"a","response_format":{"type":"json_object"}})",
        R"({"response_format":{"type":"json_schema"}})", R"({"response_format":{}})",
        R"({"structured_outputs":{"rgex":"a"}})"}) {
    EXPECT_EQ(read(text).status().code(), Code::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace quire
