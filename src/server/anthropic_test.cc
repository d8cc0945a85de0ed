#include "server/anthropic.h"

#include <gtest/gtest.h>

#include "server/api_testing.h"

namespace quire {
namespace {

constexpr const char* kPath = "/v1/messages";

std::string Body(std::string_view more = "") {
  return StrCat(R"({"model":"model","max_tokens":200,"messages":[{"role":"user","content":"hi"}])",
                more, "}");
}

TEST(Anthropic, AnswersWithBlocksAndAReason) {
  ApiRig rig(Says("Hello"));
  const Json reply = rig.PostOk(kPath, Body());
  EXPECT_EQ(At(reply, "type"), Json("message"));
  EXPECT_EQ(At(reply, "content", 0, "text"), Json("Hello"));
  EXPECT_EQ(At(reply, "stop_reason"), Json("end_turn"));
  EXPECT_EQ(At(reply, "usage", "input_tokens"), Json(19));
  const Json stopped = rig.PostOk(kPath, Body(R"(,"stop_sequences":["l"])"));
  EXPECT_EQ(At(stopped, "stop_reason"), Json("stop_sequence"));
  EXPECT_EQ(At(stopped, "stop_sequence"), Json("l"));
  EXPECT_EQ(At(stopped, "content", 0, "text"), Json("He"));
}

TEST(Anthropic, StreamsBlocksOneAfterAnother) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  ApiRig rig(Says("<think>hm</think>so<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n"
                  "</tool_call>"),
             options);
  const std::string tools = R"(,"tools":[{"name":"f","input_schema":{"type":"object"}}])";
  const auto events = rig.Stream(kPath, Body(tools + R"(,"stream":true)"));
  std::vector<std::string> blocks;
  std::string arguments;
  int open = -1;
  for (const Json& event : events) {
    const std::string kind = TextOf(At(event, "type"));
    if (kind == "content_block_start") {
      EXPECT_EQ(At(event, "index"), Json(static_cast<int>(blocks.size())));
      open = static_cast<int>(blocks.size());
      blocks.push_back(TextOf(At(event, "content_block", "type")));
    } else if (kind == "content_block_delta" || kind == "content_block_stop") {
      EXPECT_EQ(At(event, "index"), Json(open));
    }
    arguments += TextOf(At(event, "delta", "partial_json"));
  }
  EXPECT_EQ(blocks, (std::vector<std::string>{"thinking", "text", "tool_use"}));
  EXPECT_EQ(arguments, R"({"a": 1})");
  const std::size_t size = events.size();
  EXPECT_EQ(At(events[0], "type"), Json("message_start"));
  EXPECT_EQ(At(events[size - 2], "delta", "stop_reason"), Json("tool_use"));
  EXPECT_EQ(At(events[size - 1], "type"), Json("message_stop"));
  const Json whole = rig.PostOk(kPath, Body(tools));
  EXPECT_EQ(At(whole, "content", 2, "input", "a"), Json(1));
}

TEST(Anthropic, ReadsEveryKindOfBlock) {
  ApiRig rig(Says("x"));
  const Json count = rig.PostOk(
      "/v1/messages/count_tokens",
      R"({"model":"model","system":"s","messages":[{"role":"user","content":[{"type":"text","text":"q"}]},)"
      R"({"role":"assistant","content":[{"type":"thinking","thinking":"t"},)"
      R"({"type":"tool_use","id":"1","name":"f","input":{"a":1}}]},)"
      R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"1",)"
      R"("content":[{"type":"text","text":"r"}]},{"type":"text","text":"z"}]}]})");
  EXPECT_EQ(At(count, "input_tokens"),
            Json(std::string_view("<system>s<user>q<assistant>(f {\"a\": 1})<tool>r<user>z"
                                  "<assistant>")
                     .size()));
}

TEST(Anthropic, GoesOnWithTheAssistantsWords) {
  ApiRig rig(Says("x"));
  const Json count = rig.PostOk("/v1/messages/count_tokens",
                                R"({"model":"model","messages":[{"role":"user","content":"q"},)"
                                R"({"role":"assistant","content":"a"}]})");
  EXPECT_EQ(At(count, "input_tokens"), Json(std::string_view("<user>q<assistant>a").size()));
}

TEST(Anthropic, RefusesInItsOwnShape) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, const char*> cases[] = {
      {"{}", "model: is required"},
      {R"({"model":null,"max_tokens":1,"messages":[{"role":"user","content":"a"}]})",
       "model: is required"},
      {R"({"model":"model","messages":[]})", "max_tokens: "},
      {R"({"model":"model","max_tokens":1,"messages":[]})", "messages: "},
      {R"({"model":"model","max_tokens":1,"messages":[{"role":"wizard","content":"a"}]})",
       "messages[0].role: "},
      {R"({"model":"model","max_tokens":1,"messages":[{"role":"user","content":[{"type":"image"}]}]})",
       "messages[0].content[0].type: "}};
  for (const auto& [body, message] : cases) {
    const HttpResponse response = rig.Post(kPath, body);
    EXPECT_EQ(response.status, 400) << body;
    const Json json = *ParseJson(response.body);
    EXPECT_EQ(At(json, "type"), Json("error"));
    EXPECT_EQ(At(json, "error", "type"), Json("invalid_request_error"));
    EXPECT_TRUE(TextOf(At(json, "error", "message")).starts_with(message)) << response.body;
  }
  const HttpResponse unknown = rig.Post(
      kPath, R"({"model":"nope","max_tokens":1,"messages":[{"role":"user","content":"a"}]})");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(At(*ParseJson(unknown.body), "error", "type"), Json("not_found_error"));
}

TEST(Anthropic, NamesTheFieldThatTheClientSent) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, const char*> cases[] = {
      {R"("stop_sequences":[""])", "stop_sequences: "},
      {R"("stop_sequences":"x")", "stop_sequences: "},
      {R"("system":5)", "system: "},
      {R"("system":[{"type":"image"}])", "system[0].type: "},
      {R"("temperature":9)", "temperature: "},
      {R"("tools":[{"name":"","input_schema":{}}])", "tools[0].name: "},
      {R"("output_config":{"effort":"zz"})", "output_config.effort: "},
      {R"("output_config":{"format":{"type":"json_schema","schema":{"type":"zz"}}})",
       "output_config.format.schema: "},
      {R"("system":"s","messages":[{"role":"user","content":[{"type":"tool_result",)"
       R"("tool_use_id":"1","content":[{"type":"image"}]}]}])",
       "messages[0].content[0].content[0]: "}};
  for (const auto& [field, message] : cases) {
    const HttpResponse response = rig.Post(kPath, Body(StrCat(",", field)));
    EXPECT_EQ(response.status, 400) << field;
    EXPECT_TRUE(TextOf(At(*ParseJson(response.body), "error", "message")).starts_with(message))
        << response.body;
  }
}

TEST(Anthropic, WarnsOfThinkingThatTheModelCannot) {
  ApiRig rig(Says("x"));
  const HttpResponse response = rig.Post(kPath, Body(R"(,"thinking":{"type":"enabled"})"));
  EXPECT_EQ(response.status, 200);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_NE(response.headers[0].value.find("thinking"), std::string::npos);
  EXPECT_TRUE(rig.Post(kPath, Body(R"(,"thinking":{"type":"disabled"})")).headers.empty());
}

TEST(Anthropic, AnswersClientsThatWantTheirContextEdited) {
  ApiRig rig(Says("x"));
  const std::string edits = R"(,"context_management":{"edits":[{"type":"clear_thinking"}]})";
  for (const char* path : {"/v1/messages", "/v1/messages/count_tokens"}) {
    const HttpResponse response = rig.Post(path, Body(edits));
    EXPECT_EQ(response.status, 200) << response.body;
    std::string told;
    for (const HttpHeader& header : response.headers) told += header.value;
    EXPECT_NE(told.find("without effect here: context_management"), std::string::npos) << told;
    EXPECT_EQ(rig.Post(path, Body(R"(,"context_management":null)")).status, 200);
  }
}

// Of a model that thinks for ever: its thinking, and what it says after it.
std::string Thoughts(ApiRig& rig, const std::string& thinking) {
  const Json reply = rig.PostOk(kPath, Body(R"(,"thinking":)" + thinking));
  return StrCat(TextOf(At(reply, "content", 0, "thinking")), "|",
                TextOf(At(reply, "content", 1, "text")));
}

TEST(Anthropic, BoundsTheThinkingByItsBudget) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "deepseek_r1";
  ApiRig rig(Says("0123456789abcdef"), options);
  // The marker stands in the place of what the model would say there.
  EXPECT_EQ(Thoughts(rig, R"({"type":"enabled","budget_tokens":3})"), "012|bcdef");
  EXPECT_EQ(Thoughts(rig, R"({"type":"enabled","budget_tokens":"1"})"), "0|9abcdef");
  for (const char* unbounded :
       {R"({"type":"enabled","budget_tokens":1024})", R"({"type":"enabled"})", "null",
        R"({"type":"enabled","budget_tokens":null})", R"({"type":"adaptive","budget_tokens":3})",
        R"({"type":"disabled","budget_tokens":3})"}) {
    EXPECT_EQ(Thoughts(rig, unbounded), "0123456789abcdef|") << unbounded;
  }
  std::string streamed;
  const std::string body = R"(,"stream":true,"thinking":{"type":"enabled","budget_tokens":3})";
  for (const Json& event : rig.Stream(kPath, Body(body))) {
    streamed += TextOf(At(event, "delta", "thinking"));
  }
  EXPECT_EQ(streamed, "012");
  for (const char* budget : {"0", "-1", "1.5", "\"few\"", "[]", "99999999999"}) {
    const HttpResponse response = rig.Post(
        kPath, Body(StrCat(R"(,"thinking":{"type":"enabled","budget_tokens":)", budget, "}")));
    EXPECT_EQ(response.status, 400) << budget;
    EXPECT_TRUE(TextOf(At(*ParseJson(response.body), "error", "message"))
                    .starts_with("thinking.budget_tokens: "))
        << response.body;
  }
}

TEST(Anthropic, WarnsOfABudgetThatItCannotKeep) {
  const std::string thinking = R"(,"thinking":{"type":"enabled","budget_tokens":3})";
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "gpt-oss";
  ApiOptions constrained = ApiRig::SmallOptions();
  constrained.reasoning_parser = "qwen3";
  constrained.enable_in_reasoning = true;
  const std::string format = R"(,"output_config":{"format":{"type":"json_schema","schema":{}}})";
  for (const auto& [each, body] :
       {std::pair(options, thinking), {constrained, thinking + format}}) {
    ApiRig rig(Says("x"), each);
    const HttpResponse response = rig.Post(kPath, Body(body));
    EXPECT_EQ(response.status, 200) << response.body;
    ASSERT_EQ(response.headers.size(), 1U);
    EXPECT_NE(response.headers[0].value.find("thinking.budget_tokens"), std::string::npos);
  }
}

TEST(Anthropic, KeepsTheBudgetWhereNoConstraintHoldsForTheReasoning) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "deepseek_r1";
  options.enable_in_reasoning = true;
  ApiRig rig(Says("0123456789abcdef"), options);
  EXPECT_EQ(Thoughts(rig, R"({"type":"enabled","budget_tokens":3})"), "012|bcdef");
}

TEST(Anthropic, ShowsThePromptOfARequest) {
  ApiRig rig(Says("x"));
  const Json rendered = rig.PostOk("/v1/messages/render", Body(R"(,"system":"s")"));
  EXPECT_EQ(At(rendered, "prompt_text"), Json("<system>s<user>hi<assistant>"));
  EXPECT_EQ(At(rendered, "token_ids").array().size(), 28U);
}

}  // namespace
}  // namespace quire
