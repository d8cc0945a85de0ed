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
  // What the original's reader takes for a number, it takes too.
  EXPECT_EQ(refusal(R"({"prompt":"a","temperature":"0.5","max_tokens":"3","logprobs":true})"),
            "accepted");
  EXPECT_EQ(refusal(R"({"prompt":"a","logit_bias":{"5":"1.5"},"stop_token_ids":["5"]})"),
            "accepted");
  for (const char* bias : {"\"nan\"", "\"much\"", "null", "[1]", "{}"}) {
    EXPECT_TRUE(refusal(StrCat(R"({"prompt":"a","logit_bias":{"5":)", bias, "}}").c_str())
                    .starts_with("logit_bias: must be an object from token ids to numbers, got "))
        << bias;
  }
  EXPECT_EQ(refusal(R"({"prompt":"a","temperature":"nan"})"),
            "temperature: must be a number, got a string");
  EXPECT_EQ(refusal(R"({"prompt":"a","seed":9223372036854775807})"), "accepted");
  EXPECT_EQ(refusal(R"({"prompt":"a","seed":9223372036854775808})"),
            "seed: must be an integer of 64 bits, at most 9223372036854775807, got "
            "9223372036854775808");
  EXPECT_EQ(refusal(R"({"prompt":"a","truncation_side":"right"})"),
            "truncation_side: must be \"left\" here, got \"right\"");
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
  EXPECT_EQ(ReadFields(body, request)->unknown, (std::vector<std::string>{"b", "a"}));
}

template <typename Request>
FieldNotes NotesOf(const char* text) {
  Json body = *ParseJson(text);
  Request request;
  auto notes = ReadFields(body, request);
  EXPECT_TRUE(notes.ok()) << notes.status().message();
  return notes.ok() ? *std::move(notes) : FieldNotes();
}

TEST(FieldReader, LooksIntoMessagesToolsAndParts) {
  const FieldNotes chat = NotesOf<ChatRequest>(
      R"({"messages":[{"role":"user","content":"a","contnet":1},)"
      R"({"role":"assistant","content":[{"type":"text","text":"b","txt":1}],)"
      R"("tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}","x":1}}]}],)"
      R"("tools":[{"type":"function","zz":1,"function":{"name":"f","parameters":{"any":1},"q":2}}],)"
      R"("stream_options":{"zz":1},"chat_template_kwargs":{"free":1}})");
  EXPECT_EQ(chat.unknown,
            (std::vector<std::string>{"messages[0].contnet", "messages[1].content[0].txt",
                                      "messages[1].tool_calls[0].function.x", "tools[0].zz",
                                      "tools[0].function.q", "stream_options.zz"}));
  EXPECT_EQ(chat.nearest_member, "content");
  EXPECT_EQ(NotesOf<MessagesRequest>(
                R"({"model":"m","max_tokens":1,"system":[{"type":"text","text":"a","b":1}],)"
                R"("messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1",)"
                R"("content":"x","c":1}]}],"tools":[{"name":"f","input_schema":{"d":1},"e":1}],)"
                R"("thinking":{"type":"enabled","f":1}})")
                .unknown,
            (std::vector<std::string>{"messages[0].content[0].c", "system[0].b", "tools[0].e",
                                      "thinking.f"}));
  EXPECT_EQ(NotesOf<ResponsesRequest>(
                R"({"input":[{"role":"user","content":[{"type":"input_text","text":"a","b":1}],)"
                R"("c":1}],"text":{"format":{"type":"text","d":1}},"reasoning":{"e":1},)"
                R"("tools":[{"type":"function","name":"f","g":1}]})")
                .unknown,
            (std::vector<std::string>{"input[0].content[0].b", "input[0].c", "text.format.d",
                                      "reasoning.e", "tools[0].g"}));
}

TEST(FieldReader, NotesFieldsWithoutEffectAndFieldsGivenTwice) {
  const FieldNotes notes = NotesOf<ChatRequest>(
      R"({"messages":[],"prediction":{"type":"content"},"verbosity":"low","service_tier":"auto",)"
      R"("store":false,"user":"u","n":1,"n":2,"n":3})");
  EXPECT_EQ(notes.ignored, (std::vector<std::string>{"prediction", "verbosity"}));
  EXPECT_EQ(notes.repeated, (std::vector<std::string>{"n"}));
  EXPECT_TRUE(notes.unknown.empty());
  EXPECT_EQ(NotesOf<ResponsesRequest>(R"({"input":"a","max_tool_calls":3,"service_tier":"flex"})")
                .ignored,
            (std::vector<std::string>{"max_tool_calls", "service_tier"}));
}

TEST(FieldNames, NameWhatTheClientSent) {
  FieldNames names;
  names.Add("max_tokens", "max_output_tokens");
  names.Add("messages[1]", "input[4]");
  names.AddOfTools(".function.parameters", ".input_schema");
  names.AddOfTools(".function", "");
  const auto translated = [&](const char* message) {
    return names.Translate(InvalidArgument(message)).message();
  };
  EXPECT_EQ(translated("max_tokens: must be more"), "max_output_tokens: must be more");
  EXPECT_EQ(translated("max_tokens_more: x"), "max_tokens_more: x");
  EXPECT_EQ(translated("messages[1].content[0]: x"), "input[4].content[0]: x");
  EXPECT_EQ(translated("messages[12]: x"), "messages[12]: x");
  EXPECT_EQ(translated("tools[3].function.parameters.type: x"), "tools[3].input_schema.type: x");
  EXPECT_EQ(translated("tools[3].function.name: x"), "tools[3].name: x");
  EXPECT_EQ(translated("a sentence: max_tokens"), "a sentence: max_tokens");
  EXPECT_TRUE(names.Translate(Status()).ok());
}

TEST(Constraint, IsReadFromEachFieldThatAsksForOne) {
  const auto read = [](const char* text) {
    Json body = *ParseJson(text);
    ConstraintFields fields;
    EXPECT_TRUE(ReadFields(body, fields).ok());
    FieldNames names;
    return ReadConstraint(fields, names);
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
