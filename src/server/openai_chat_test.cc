#include "server/openai_chat.h"

#include <gtest/gtest.h>

#include "server/chat_testing.h"

namespace quire {
namespace {

constexpr std::string_view kTools =
    R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";
constexpr std::string_view kCall =
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"k\": 140, \"note\": \"a{\\\"b\"}}\n"
    "</tool_call>\n<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";

std::string RenderedText(ApiRig& rig, std::string_view messages, std::string_view more = "") {
  return TextOf(At(rig.PostOk("/v1/chat/completions/render", Body(more, messages)), "prompt_text"));
}

TEST(Chat, AnswersWithAMessage) {
  ApiRig rig(Says("Hello!"));
  const Json reply = rig.PostOk(kPath, Body());
  EXPECT_TRUE(TextOf(At(reply, "id")).starts_with("chatcmpl-"));
  EXPECT_EQ(At(reply, "object"), Json("chat.completion"));
  EXPECT_EQ(At(reply, "choices", 0, "message", "role"), Json("assistant"));
  EXPECT_EQ(At(reply, "choices", 0, "message", "content"), Json("Hello!"));
  EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
  EXPECT_EQ(At(reply, "choices", 0, "message").Find("tool_calls"), nullptr);
  EXPECT_EQ(At(reply, "usage", "prompt_tokens"), Json(19));
}

TEST(Chat, StreamsARoleThenTheContentThenAReason) {
  ApiRig rig(Says("Hello!"));
  const auto events = rig.Stream(kPath, Body(R"(,"stream":true)"));
  EXPECT_EQ(At(events[0], "choices", 0, "delta", "role"), Json("assistant"));
  EXPECT_EQ(At(events[0], "choices", 0, "delta", "content"), Json(""));
  const JoinedChat joined = JoinChat(events);
  EXPECT_EQ(joined.role, "assistant");
  EXPECT_EQ(joined.content, "Hello!");
  EXPECT_EQ(joined.finish_reason, "stop");
  for (const Json& event : events) {
    EXPECT_EQ(At(event, "object"), Json("chat.completion.chunk"));
    EXPECT_EQ(At(event, "choices").array().size(), 1U);
    EXPECT_EQ(At(event, "id"), At(events[0], "id"));
  }
}

TEST(Chat, ServesAnAnswerThatEndsAtOnce) {
  ApiRig rig(Says(""));
  const Json reply = rig.PostOk(kPath, Body());
  EXPECT_EQ(At(reply, "choices", 0, "message", "content"), Json(""));
  EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
  const auto events = rig.Stream(kPath, Body(R"(,"stream":true)"));
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(JoinChat(events).finish_reason, "stop");
}

TEST(Chat, WritesAllThatOneStepBroughtAtOnce) {
  ApiRig rig(Says("abc"));
  const auto reply = rig.Begin("POST", kPath, Body(R"(,"stream":true,"n":3)"));
  reply->WaitForEnd();
  // Three roles and three letters, two steps of three letters, three ends, and [DONE].
  EXPECT_LE(reply->writes().size(), 5U);
  EXPECT_EQ(EventsOf(reply->writes()[0]).size(), 6U);
}

TEST(Chat, HasItsOwnLayoutOfLogprobs) {
  ApiRig rig(Says("a\xC3\xA9"));
  for (const char* more : {R"(,"logprobs":true)", R"(,"logprobs":true,"top_logprobs":1)"}) {
    const Json reply = rig.PostOk(kPath, Body(more));
    const JsonArray whole = At(reply, "choices", 0, "logprobs", "content").array();
    ASSERT_EQ(whole.size(), 4U);
    EXPECT_EQ(At(whole[0], "token"), Json("a"));
    EXPECT_EQ(At(whole[0], "bytes"), Json(JsonArray{97}));
    EXPECT_EQ(At(whole[1], "bytes"), Json(JsonArray{0xC3}));
    EXPECT_TRUE(At(whole[0], "logprob").is_number());
    EXPECT_TRUE(At(whole[0], "top_logprobs").is_array());
    JsonArray streamed;
    for (const Json& event : rig.Stream(kPath, Body(StrCat(more, R"(,"stream":true)")))) {
      const Json& logprobs = At(event, "choices", 0, "logprobs");
      if (logprobs.is_null()) continue;
      for (const Json& entry : At(logprobs, "content").array()) streamed.push_back(entry);
    }
    EXPECT_EQ(Json(streamed), Json(whole));
  }
  EXPECT_EQ(rig.Refused(kPath, Body(R"(,"top_logprobs":1)")), "top_logprobs");
}

TEST(Chat, KnowsBothNamesOfTheLimit) {
  ApiRig rig(Says("abcdefgh"));
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {
    const Json reply = rig.PostOk(kPath, Body(StrCat(",\"", name, "\":2")));
    EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(2)) << name;
    EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("length"));
  }
  EXPECT_EQ(rig.Refused(kPath, Body(R"(,"max_completion_tokens":0)")), "max_completion_tokens");
  EXPECT_EQ(At(rig.PostOk(kPath, Body(R"(,"max_tokens":null)")), "usage", "completion_tokens"),
            Json(9));
}

TEST(Chat, TakesContentAsTextAndAsParts) {
  ApiRig rig(Says("x"));
  EXPECT_EQ(RenderedText(rig, R"([{"role":"user","content":"ab\ncd"}])"),
            RenderedText(rig, R"([{"role":"user","content":[{"type":"text","text":"ab"},)"
                              R"({"type":"text","text":"cd"}]}])"));
  for (const char* role : {"system", "user", "assistant", "tool", "developer"}) {
    const std::string text = RenderedText(
        rig, StrCat(R"([{"role":")", role, R"(","content":[{"type":"text","text":"ab"}]}])"));
    EXPECT_NE(text.find(">ab"), std::string::npos) << text;
  }
  EXPECT_EQ(rig.Refused(kPath, Body("", R"([{"role":"user","content":[{"type":"image_url",)"
                                        R"("image_url":{"url":"http://x"}}]}])")),
            "messages[0].content[0]");
}

TEST(Chat, GivesPartsToATemplateThatWalksThem) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template =
      "{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}";
  ApiRig rig(Says("x"), options);
  EXPECT_EQ(RenderedText(rig, R"([{"role":"user","content":"ab"}])"), "[ab]");
  EXPECT_EQ(RenderedText(rig, R"([{"role":"user","content":[{"type":"text","text":"ab"},)"
                              R"({"type":"text","text":"cd"}]}])"),
            "[ab][cd]");
}

TEST(Chat, RefusesMessagesThatAreNone) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, const char*> cases[] = {
      {"messages", R"("hi")"},
      {"messages", "null"},
      {"messages", "[]"},
      {"messages[0]", "[null]"},
      {"messages[0]", "[7]"},
      {"messages[0].role", "[{}]"},
      {"messages[0].role", R"([{"role":"wizard","content":"x"}])"},
      {"messages[0].content", R"([{"role":"user","content":null}])"},
      {"messages[0].content", R"([{"role":"user","content":7}])"},
      {"messages[0].tool_calls", R"([{"role":"assistant","tool_calls":"x"}])"},
  };
  for (const auto& [param, messages] : cases) {
    EXPECT_EQ(rig.Refused(kPath, Body("", messages)), param) << messages;
  }
  EXPECT_EQ(rig.Refused(kPath, "{}"), "messages");
}

TEST(Chat, ReadsTheArgumentsOfEarlierCalls) {
  ApiRig rig(Says("x"));
  const auto history = [](std::string_view arguments) {
    return StrCat(R"([{"role":"user","content":"q"},{"role":"assistant","content":null,)",
                  R"("tool_calls":[{"id":"1","type":"function","function":{"name":"f",)",
                  R"("arguments":)", arguments, "}}]}]");
  };
  EXPECT_NE(RenderedText(rig, history(R"("{\"a\": 1}")")).find(R"((f {"a": 1}))"),
            std::string::npos);
  for (const char* empty : {R"("")", R"("null")", "null", "{}", R"("{}")"}) {
    EXPECT_NE(RenderedText(rig, history(empty)).find("(f {})"), std::string::npos) << empty;
  }
  for (const char* broken : {R"("{")", R"("[1]")", "7", R"("\"a\"")"}) {
    EXPECT_EQ(rig.Refused(kPath, Body("", history(broken))),
              "messages[1].tool_calls[0].function.arguments")
        << broken;
  }
}

TEST(Chat, IsRefusedWhereThereIsNoTemplate) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template.clear();
  ApiRig rig(Says("x"), options);
  EXPECT_EQ(rig.Refused(kPath, Body()), "messages");
}

TEST(Chat, TellsWhyATemplateRefuses) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template = "{{ raise_exception('roles must alternate') }}";
  ApiRig rig(Says("x"), options);
  const HttpResponse response = rig.Post(kPath, Body());
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("roles must alternate"), std::string::npos);
}

TEST(Chat, TakesTemplatesFromRequestsOnlyWhereTheyAreTrusted) {
  ApiRig rig(Says("x"));
  const std::string more = R"(,"chat_template":"T{{ messages[0].content }}")";
  EXPECT_EQ(rig.Refused(kPath, Body(more)), "chat_template");
  ApiOptions options = ApiRig::SmallOptions();
  options.trust_request_chat_template = true;
  ApiRig trusting(Says("x"), options);
  EXPECT_EQ(RenderedText(trusting, R"([{"role":"user","content":"hi"}])", more), "Thi");
}

TEST(Chat, GoesOnWithTheLastMessage) {
  ApiRig rig(Says(" of"));
  const std::string messages =
      R"([{"role":"user","content":"q"},{"role":"assistant","content":"The capital"}])";
  const std::string more = R"(,"add_generation_prompt":false,"continue_final_message":true)";
  EXPECT_EQ(RenderedText(rig, messages, more), "<user>q<assistant>The capital");
  const Json reply = rig.PostOk(kPath, Body(more + R"(,"echo":true)", messages));
  EXPECT_EQ(At(reply, "choices", 0, "message", "content"), Json("The capital of"));
  EXPECT_EQ(rig.Refused(kPath, Body(R"(,"continue_final_message":true)")),
            "continue_final_message");
}

TEST(Chat, CallsToolsTheSameInBothModes) {
  ApiRig rig(Says(std::string(kCall)));
  const Json reply = rig.PostOk(kPath, Body(kTools));
  const Json& message = At(reply, "choices", 0, "message");
  const JoinedChat joined = JoinChat(rig.Stream(kPath, Body(StrCat(kTools, R"(,"stream":true)"))));
  ASSERT_EQ(At(message, "tool_calls").array().size(), 2U);
  ASSERT_EQ(joined.arguments.size(), 2U);
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(At(message, "tool_calls", i, "function", "arguments"), Json(joined.arguments[at]));
    EXPECT_EQ(At(message, "tool_calls", i, "function", "name"), Json("f"));
    EXPECT_EQ(joined.names[at], "f");
    EXPECT_FALSE(joined.ids[at].empty());
  }
  EXPECT_NE(joined.ids[0], joined.ids[1]);
  EXPECT_EQ(joined.arguments[0], R"({"k": 140, "note": "a{\"b"})");
  EXPECT_EQ(joined.arguments[1], "{}");
  EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("tool_calls"));
  EXPECT_EQ(joined.finish_reason, "tool_calls");
  EXPECT_TRUE(At(message, "content").is_null());
}

TEST(Chat, CountsWhatItsToolParserLookedThrough) {
  ApiRig rig(Says(std::string(kCall)));
  const auto count = [&](const char* mode, const char* outcome) {
    const std::string series = StrCat("vllm:tool_call_parser_invocations_total{mode=\"", mode,
                                      "\",model_name=\"null\",outcome=\"", outcome,
                                      "\",request_type=\"chat_completions\"} ");
    const std::string page = rig.engine().metrics().Expose();
    const std::size_t at = page.find(series);
    return at == std::string::npos ? -1 : std::stoi(page.substr(at + series.size()));
  };
  EXPECT_EQ(count("non_streaming", "tool_call"), 0);
  rig.PostOk(kPath, Body(""));
  EXPECT_EQ(count("non_streaming", "no_tool_call"), 0) << "no tools, no parser";
  rig.PostOk(kPath, Body(kTools));
  EXPECT_EQ(count("non_streaming", "tool_call"), 1);
  EXPECT_EQ(count("streaming", "tool_call"), 0);
  rig.Stream(kPath, Body(StrCat(kTools, R"(,"stream":true)")));
  EXPECT_GT(count("streaming", "tool_call"), 0);
  EXPECT_EQ(count("non_streaming", "tool_call"), 1);
}

TEST(Chat, GivesOneCallWhereTheyMayNotBeParallel) {
  ApiRig rig(Says(std::string(kCall)));
  const Json reply = rig.PostOk(kPath, Body(StrCat(kTools, R"(,"parallel_tool_calls":false)")));
  EXPECT_EQ(At(reply, "choices", 0, "message", "tool_calls").array().size(), 1U);
}

TEST(Chat, SaysToolCallsOnlyWithAListOfThem) {
  ApiRig prose(Says("just prose"));
  EXPECT_EQ(At(prose.PostOk(kPath, Body(kTools)), "choices", 0, "finish_reason"), Json("stop"));
  ApiRig rig(Says(std::string(kCall)));
  for (const std::string& more : {StrCat(kTools, R"(,"tool_choice":"none")"),
                                  std::string(R"(,"tool_choice":"none")"), std::string()}) {
    const Json reply = rig.PostOk(kPath, Body(more));
    EXPECT_EQ(At(reply, "choices", 0, "message", "content"), Json(std::string(kCall)));
    EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
  }
}

TEST(Chat, NamesWhatIsWrongWithTools) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, std::string> cases[] = {
      {"tools", R"(,"tools":7)"},
      {"tools[0].function", R"(,"tools":[{"type":"function"}])"},
      {"tools[0].function.name", R"(,"tools":[{"function":{"name":7}}])"},
      {"tools[0].type", R"(,"tools":[{"type":"web_search"}])"},
      {"tool_choice", StrCat(kTools, R"(,"tool_choice":"always")")},
      {"tool_choice", StrCat(kTools, R"(,"tool_choice":7)")},
      {"tool_choice",
       StrCat(kTools, R"(,"tool_choice":{"type":"function","function":{"name":"g"}})")},
      {"tool_choice", StrCat(kTools, R"(,"tool_choice":"required","guided_regex":"a")")},
  };
  for (const auto& [param, more] : cases) {
    EXPECT_EQ(rig.Refused(kPath, Body(more)), param) << more;
  }
  ApiOptions options = ApiRig::SmallOptions();
  options.tool_call_parser = "";
  ApiRig none(Says("x"), options);
  EXPECT_EQ(none.Refused(kPath, Body(kTools)), "tools");
  EXPECT_EQ(none.Refused(kPath, Body(StrCat(kTools, R"(,"tool_choice":"auto")"))), "tool_choice");
}

TEST(Chat, LooksForCallsInTheUsualFormatWhereTheTemplateTellsNone) {
  ApiOptions options = ApiRig::SmallOptions();
  options.tool_call_parser = "auto";
  ApiRig rig(Says(std::string(kCall)), options);
  const HttpResponse response = rig.Post(kPath, Body(kTools));
  EXPECT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(At(*ParseJson(response.body), "choices", 0, "message", "tool_calls").array().size(),
            2U);
  ASSERT_EQ(response.headers.size(), 1U);
  EXPECT_NE(response.headers[0].value.find("hermes"), std::string::npos);
  options.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}";
  ApiRig blind(Says("x"), options);
  const HttpResponse unseen = blind.Post(kPath, Body(kTools));
  EXPECT_EQ(unseen.status, 200);
  ASSERT_EQ(unseen.headers.size(), 1U);
  EXPECT_NE(unseen.headers[0].value.find("does not show them"), std::string::npos);
}

TEST(Chat, NamesTheFieldThatTheClientSent) {
  ApiRig rig(Says("x"));
  const std::string long_text(3000, 'a');
  const std::pair<const char*, std::string> cases[] = {
      {"max_completion_tokens", R"(,"max_completion_tokens":99999)"},
      {"max_tokens", R"(,"max_tokens":99999)"},
      {"top_logprobs", R"(,"logprobs":true,"top_logprobs":500)"},
      {"logprob_token_ids", R"(,"logprob_token_ids":[1])"},
      {"logprob_token_ids", R"(,"logprobs":true,"logprob_token_ids":[99999])"},
      {"reasoning_effort", R"(,"reasoning_effort":"zz")"},
      {"guided_regex", R"(,"guided_regex":"(")"},
      {"response_format.json_schema.schema",
       R"(,"response_format":{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"zz"}}})"},
      {"truncate_prompt_tokens", R"(,"truncate_prompt_tokens":99999)"},
      {"tools", StrCat(R"(,"tools":[{"type":"function","function":{"name":"f",)",
                       R"("parameters":{"type":"zz"}}}],"tool_choice":"required")")},
  };
  for (const auto& [param, more] : cases) {
    EXPECT_EQ(rig.Refused(kPath, Body(more)), param) << more;
  }
  EXPECT_EQ(
      rig.Refused(kPath, Body("", StrCat(R"([{"role":"user","content":")", long_text, "\"}]"))),
      "messages");
}

TEST(Chat, GivesLogprobsWhereThoseOfSomeTokensAreAskedFor) {
  ApiRig rig(Says("x"));
  const Json reply = rig.PostOk(kPath, Body(R"(,"logprobs":true,"logprob_token_ids":[97,98])"));
  EXPECT_TRUE(At(reply, "choices", 0, "logprobs").is_object());
  const Json completion =
      rig.PostOk("/v1/completions", R"({"prompt":"a","max_tokens":1,"logprob_token_ids":[97,98]})");
  EXPECT_TRUE(At(completion, "choices", 0, "logprobs").is_object());
}

TEST(Chat, AnswersABatchOfChats) {
  ApiRig rig(Says("yo"));
  const Json reply = rig.PostOk(
      "/v1/chat/completions/batch",
      R"({"n":2,"messages":[[{"role":"user","content":"a"}],[{"role":"user","content":"bcd"}]]})");
  ASSERT_EQ(At(reply, "choices").array().size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(At(reply, "choices", i, "index"), Json(i));
    EXPECT_EQ(At(reply, "choices", i, "message", "content"), Json("yo"));
  }
  EXPECT_EQ(At(reply, "usage", "prompt_tokens"),
            Json(std::string_view("<user>a<assistant><user>bcd<assistant>").size()));
  const char* path = "/v1/chat/completions/batch";
  EXPECT_EQ(rig.Refused(path, R"({"messages":[]})"), "messages");
  EXPECT_EQ(rig.Refused(path, R"({"messages":[[{"role":"user","content":"a"}],7]})"),
            "messages[1]");
  EXPECT_EQ(rig.Refused(path, R"({"messages":[[{"role":"user","content":"a"}],)"
                              R"([{"role":"wizard","content":"a"}]]})"),
            "messages[1][0].role");
  EXPECT_EQ(rig.Refused(path, R"({"stream":true,"messages":[[{"role":"user","content":"a"}]]})"),
            "stream");
}

TEST(Chat, SharesARouteWithCompletionsWhereTheBodyTellsWhichItIs) {
  ApiRig rig(Says("yo"));
  EXPECT_EQ(At(rig.PostOk("/invocations", Body()), "object"), Json("chat.completion"));
  EXPECT_EQ(At(rig.PostOk("/invocations", R"({"prompt":"a"})"), "object"), Json("text_completion"));
  EXPECT_EQ(rig.Refused("/invocations", R"({"input":"a"})"), "body");
}

TEST(Chat, HasEveryMemberThatTheOriginalSends) {
  ApiRig rig(Says("yo"));
  const Json reply = rig.PostOk(kPath, Body());
  for (const char* member : {"service_tier", "prompt_logprobs", "prompt_token_ids", "prompt_text",
                             "kv_transfer_params", "ec_transfer_params", "metrics"}) {
    EXPECT_NE(reply.Find(member), nullptr) << member;
  }
  EXPECT_NE(At(reply, "choices", 0).Find("routed_experts"), nullptr);
  EXPECT_NE(At(reply, "usage").Find("prompt_tokens_details"), nullptr);
  EXPECT_NE(At(reply, "usage").Find("completion_tokens_details"), nullptr);
}

TEST(Chat, WarnsOfFieldsInsideOfOthersOrRefusesThem) {
  const char* messages = R"([{"role":"user","content":"a","contnet":"b"}])";
  ApiRig rig(Says("x"));
  const HttpResponse warned = rig.Post(kPath, Body("", messages));
  ASSERT_EQ(warned.headers.size(), 1U);
  EXPECT_NE(warned.headers[0].value.find("messages[0].contnet; did you mean content?"),
            std::string::npos)
      << warned.headers[0].value;
  ApiOptions strict = ApiRig::SmallOptions();
  strict.strict_fields = true;
  ApiRig strict_rig(Says("x"), strict);
  EXPECT_EQ(strict_rig.Refused(kPath, Body("", messages)), "messages[0].contnet");
  EXPECT_EQ(strict_rig.Refused(kPath, Body(R"(,"n":1,"n":1)")), "n");
  EXPECT_EQ(strict_rig.Post(kPath, Body(R"(,"prediction":{"type":"content"})")).headers.size(), 1U);
}

TEST(Chat, RefusesNestingThatWouldOverflow) {
  ApiRig rig(Says("x"));
  std::string tools = R"(,"tools":)";
  for (int i = 0; i < 6000; ++i) tools += R"([{"a":)";
  for (int i = 0; i < 6000; ++i) tools += i == 0 ? "1}]" : "}]";
  EXPECT_EQ(rig.Post(kPath, Body(tools)).status, 400);
  EXPECT_EQ(rig.Post(kPath, Body()).status, 200);
}

}  // namespace
}  // namespace quire
