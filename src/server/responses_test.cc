#include "server/responses.h"

#include <gtest/gtest.h>

#include "server/api_testing.h"
#include "server/response_store.h"

namespace quire {
namespace {

constexpr const char* kPath = "/v1/responses";

std::vector<std::string> KindsOf(const std::vector<Json>& events) {
  std::vector<std::string> kinds;
  for (const Json& event : events) {
    const std::string kind = TextOf(At(event, "type"));
    if (kinds.empty() || kinds.back() != kind) kinds.push_back(kind);
  }
  return kinds;
}

TEST(Responses, AnswerWithAMessageThatIsKept) {
  ApiRig rig(Says("yes"));
  const Json reply = rig.PostOk(kPath, R"({"input":"q","metadata":{"a":"b"}})");
  EXPECT_EQ(At(reply, "status"), Json("completed"));
  EXPECT_EQ(At(reply, "output", 0, "content", 0, "text"), Json("yes"));
  EXPECT_EQ(At(reply, "metadata", "a"), Json("b"));
  const HttpResponse kept = rig.Get("/v1/responses/" + TextOf(At(reply, "id")));
  EXPECT_EQ(*ParseJson(kept.body), reply);
  const HttpResponse unknown = rig.Get("/v1/responses/resp_nope");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(At(*ParseJson(unknown.body), "error", "type"), Json("invalid_request_error"));
  for (const char* member : {"input_messages", "output_messages", "kv_transfer_params"}) {
    EXPECT_NE(reply.Find(member), nullptr) << member;
  }
  EXPECT_EQ(At(reply, "output", 0, "content", 0).Find("logprobs")->is_null(), true);
}

TEST(Responses, AreNotKeptWhereThatIsNotWanted) {
  ApiRig rig(Says("yes"));
  const Json reply = rig.PostOk(kPath, R"({"input":"q","store":false})");
  EXPECT_EQ(rig.Get("/v1/responses/" + TextOf(At(reply, "id"))).status, 404);
}

TEST(Responses, SendEveryEventInOrder) {
  ApiRig rig(Says("yes"));
  const auto events = rig.Stream(kPath, R"({"input":"q","stream":true,"max_output_tokens":2})");
  EXPECT_EQ(
      KindsOf(events),
      (std::vector<std::string>{
          "response.created", "response.in_progress", "response.output_item.added",
          "response.content_part.added", "response.output_text.delta", "response.output_text.done",
          "response.content_part.done", "response.output_item.done", "response.completed"}));
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(At(events[i], "sequence_number"), Json(i));
  }
  const Json& last = At(events.back(), "response");
  EXPECT_EQ(At(last, "status"), Json("incomplete"));
  EXPECT_EQ(At(last, "incomplete_details", "reason"), Json("max_output_tokens"));
  EXPECT_EQ(At(last, "output", 0, "content", 0, "text"), Json("ye"));
}

TEST(Responses, GoOnWithAnEarlierOne) {
  ApiRig rig(Says("yes"));
  const Json first = rig.PostOk(kPath, R"({"input":"q","instructions":"be brief"})");
  const Json second = rig.PostOk(
      kPath, StrCat(R"({"input":"r","previous_response_id":")", TextOf(At(first, "id")), "\"}"));
  // "<user>q<assistant>yes<user>r<assistant>", without the earlier instructions.
  EXPECT_EQ(At(second, "usage", "input_tokens"), Json(39));
  EXPECT_EQ(rig.Refused(kPath, R"({"input":"r","previous_response_id":"resp_x"})", 404),
            "previous_response_id");
}

TEST(Responses, TellReasoningAndCallsAsItemsOfTheirOwn) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  ApiRig rig(Says("<think>hm</think>so<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n"
                  "</tool_call>"),
             options);
  const std::string body =
      R"({"input":"q","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}])";
  const Json reply = rig.PostOk(kPath, body + "}");
  EXPECT_EQ(At(reply, "output", 0, "type"), Json("reasoning"));
  EXPECT_EQ(At(reply, "output", 0, "content", 0, "text"), Json("hm"));
  EXPECT_EQ(At(reply, "output", 1, "content", 0, "text"), Json("so"));
  EXPECT_EQ(At(reply, "output", 2, "type"), Json("function_call"));
  EXPECT_EQ(At(reply, "output", 2, "arguments"), Json(R"({"a": 1})"));
  std::string arguments;
  for (const Json& event : rig.Stream(kPath, body + R"(,"stream":true})")) {
    if (TextOf(At(event, "type")) == "response.function_call_arguments.delta") {
      EXPECT_EQ(At(event, "output_index"), Json(2));
      arguments += TextOf(At(event, "delta"));
    }
  }
  EXPECT_EQ(arguments, R"({"a": 1})");
}

TEST(Responses, RunInTheBackgroundUntilTheyAreDoneOrCancelled) {
  ApiRig rig(Says(std::string(1900, 'a'), 1));
  const Json first = rig.PostOk(kPath, R"({"input":"q","background":true})");
  EXPECT_EQ(At(first, "status"), Json("in_progress"));
  const std::string path = "/v1/responses/" + TextOf(At(first, "id"));
  const Json cancelled = *ParseJson(rig.Begin("POST", path + "/cancel", "")->WaitForEnd().body);
  EXPECT_EQ(At(cancelled, "status"), Json("cancelled"));
  rig.engine().Drain();
  EXPECT_EQ(At(*ParseJson(rig.Get(path).body), "status"), Json("cancelled"));

  const Json second = rig.PostOk(kPath, R"({"input":"q","background":true,"max_output_tokens":3})");
  rig.engine().Drain();
  const std::string second_path = "/v1/responses/" + TextOf(At(second, "id"));
  const Json done = *ParseJson(rig.Get(second_path).body);
  EXPECT_EQ(At(done, "status"), Json("incomplete"));
  EXPECT_EQ(At(done, "output", 0, "content", 0, "text"), Json("aaa"));
  EXPECT_EQ(rig.Begin("POST", second_path + "/cancel", "")->WaitForEnd().status, 400);
}

TEST(Responses, NameWhatIsWrongWithTheirInput) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, const char*> cases[] = {
      {"input", R"("input":7)"},
      {"input", R"("model":"model")"},
      {"input[0]", R"("input":[7])"},
      {"input", R"("input":[])"},
      {"input[1].content[0]", R"("instructions":"i","input":[{"role":"user","content":"a"},)"
                              R"({"role":"user","content":[{"type":"input_image"}]}])"},
      {"input[1].role",
       R"("input":[{"role":"user","content":"a"},{"role":"wizard","content":"b"}])"},
      {"max_output_tokens", R"("input":"a","max_output_tokens":99999)"},
      {"top_logprobs",
       R"("input":"a","include":["message.output_text.logprobs"],"top_logprobs":500)"},
      {"text.format.schema",
       R"("input":"a","text":{"format":{"type":"json_schema","schema":{"type":"zz"}}})"},
      {"tools[0].name", R"("input":"a","tools":[{"type":"function","name":""}])"},
      {"tools[0].parameters",
       R"("input":"a","tools":[{"type":"function","name":"f","parameters":7}])"},
      {"reasoning.effort", R"("input":"a","reasoning":{"effort":"zz"})"},
      {"truncation", R"("input":"a","truncation":"zz")"},
      {"input[0].type", R"("input":[{"type":"item_reference","id":"x"}])"},
      {"input[1].call_id",
       R"("input":[{"role":"user","content":"a"},{"type":"function_call_output","output":"x"}])"},
      {"input[1].arguments", R"("input":[{"role":"user","content":"a"},{"type":"function_call",)"
                             R"("call_id":"c","name":"f","arguments":"{"}])"},
      {"input[2].arguments",
       R"("input":[{"role":"user","content":"a"},{"type":"reasoning","summary":[]},)"
       R"({"type":"function_call","call_id":"c","name":"f","arguments":"[1]"}])"},
      {"input[1].output[0]",
       R"("input":[{"role":"user","content":"a"},{"type":"function_call_output",)"
       R"("call_id":"c","output":[{"type":"input_image"}]}])"},
      {"tool_choice.name", R"("input":"a","tools":[{"type":"function","name":"f"}],)"
                           R"("tool_choice":{"type":"function","name":7})"},
      {"tools[0].type", R"("input":"a","tools":[{"type":"web_search"}])"},
      {"include", R"("input":"a","include":["file_search_call.results"])"},
      {"background", R"("input":"a","background":true,"store":false)"},
      {"text.format.type", R"("input":"a","text":{"format":{"type":"xml"}})"},
      {"truncation", R"("input":"a","truncation":"auto")"},
      {"max_output_tokens", R"("input":"a","max_output_tokens":0)"},
  };
  for (const auto& [param, members] : cases) {
    EXPECT_EQ(rig.Refused(kPath, StrCat("{", members, "}")), param) << members;
  }
}

TEST(Responses, CountTheTokensOfTheReasoning) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  ApiRig rig(Says("<think>hmm</think>so"), options);
  constexpr int kCount = 3;
  const Json whole = rig.PostOk(kPath, R"({"input":"q"})");
  EXPECT_EQ(At(whole, "usage", "output_tokens_details", "reasoning_tokens"), Json(kCount));
  const auto events = rig.Stream(kPath, R"({"input":"q","stream":true})");
  EXPECT_EQ(At(events.back(), "response", "usage", "output_tokens_details", "reasoning_tokens"),
            Json(kCount));
  const Json chat =
      rig.PostOk("/v1/chat/completions", R"({"messages":[{"role":"user","content":"q"}]})");
  EXPECT_EQ(At(chat, "usage", "completion_tokens_details", "reasoning_tokens"), Json(kCount));
}

TEST(Responses, ShowThePromptOfARequest) {
  ApiRig rig(Says("x"));
  const Json rendered =
      rig.PostOk("/v1/responses/render", R"({"input":"q","instructions":"be brief"})");
  EXPECT_EQ(At(rendered, "prompt_text"), Json("<system>be brief<user>q<assistant>"));
}

TEST(Responses, StreamFromTheBackgroundToWhoReadsAlongAndWhoComesLater) {
  ApiRig rig(Says(std::string(40, 'a'), 2));
  const auto first = rig.Begin(
      "POST", kPath, R"({"input":"q","background":true,"stream":true,"max_output_tokens":40})");
  first->WaitForWrites(2);
  const auto created = EventsOf(first->writes().at(1));
  ASSERT_FALSE(created.empty());
  const std::string path = "/v1/responses/" + TextOf(At(created[0], "response", "id"));
  const auto second = rig.Begin("GET", path + "?stream=true", "");
  const auto all = EventsOf(first->WaitForEnd().body);
  EXPECT_EQ(At(all.back(), "type"), Json("response.completed"));
  EXPECT_EQ(EventsOf(second->WaitForEnd().body), all);
  EXPECT_EQ(EventsOf(rig.Get(path + "?stream=true").body), all);
  const auto rest = EventsOf(rig.Get(path + "?stream=true&starting_after=5").body);
  EXPECT_EQ(rest, std::vector<Json>(all.begin() + 6, all.end()));
  EXPECT_EQ(At(*ParseJson(rig.Get(path).body), "status"), Json("incomplete"));
  EXPECT_EQ(rig.Get(path + "?stream=true&starting_after=x").status, 400);
}

TEST(Responses, GoOnInTheBackgroundWhenTheReaderLeaves) {
  ApiRig rig(Says(std::string(100, 'a'), 1));
  const auto reply = rig.Begin("POST", kPath, R"({"input":"q","background":true,"stream":true})");
  reply->set_max_writes(3);
  reply->WaitForWrites(2);
  const auto created = EventsOf(reply->writes().at(1));
  const std::string path = "/v1/responses/" + TextOf(At(created.at(0), "response", "id"));
  reply->Leave();
  rig.engine().Drain();
  EXPECT_EQ(At(*ParseJson(rig.Get(path).body), "status"), Json("completed"));
}

TEST(Responses, RefuseToStreamEventsThatWereNotKept) {
  ApiRig rig(Says("yes"));
  const Json reply = rig.PostOk(kPath, R"({"input":"q"})");
  const HttpResponse refused =
      rig.Get(StrCat("/v1/responses/", TextOf(At(reply, "id")), "?stream=true"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(At(*ParseJson(refused.body), "error", "param"), Json("stream"));
}

TEST(Responses, TellReadersOfACancelledOneThatItEnded) {
  ApiRig rig(Says(std::string(2000, 'a'), 1));
  const auto reply = rig.Begin("POST", kPath, R"({"input":"q","background":true,"stream":true})");
  reply->WaitForWrites(2);
  const auto created = EventsOf(reply->writes().at(1));
  const std::string path = "/v1/responses/" + TextOf(At(created.at(0), "response", "id"));
  rig.Begin("POST", path + "/cancel", "")->WaitForEnd();
  const auto events = EventsOf(reply->WaitForEnd().body);
  EXPECT_EQ(At(events.back(), "type"), Json("response.incomplete"));
  EXPECT_EQ(At(events.back(), "sequence_number"), Json(events.size() - 1));
  EXPECT_EQ(At(events.back(), "response", "status"), Json("cancelled"));
}

TEST(ResponseStore, LetsTheLeastRecentlyUsedGoFirst) {
  ResponseStore store(2, 1000);
  store.Put("a", {.body = "1"});
  store.Put("b", {.body = "2"});
  EXPECT_TRUE(store.Find("a").has_value());
  store.Put("c", {.body = "3"});
  EXPECT_FALSE(store.Find("b").has_value());
  EXPECT_TRUE(store.Find("a").has_value());
  store.Put("d", {.body = std::string(2000, 'x')});
  EXPECT_FALSE(store.Find("d").has_value());
}

}  // namespace
}  // namespace quire
