#include "server/responses.h"

#include <thread>

#include <gtest/gtest.h>

#include "exec/null_executor.h"
#include "server/api_testing.h"
#include "server/response_store.h"

namespace quire {
namespace {

constexpr const char* kPath = "/v1/responses";

AsyncEngine::ExecutorFactory Says(std::string text, int delay_ms = 0) {
  return [text, delay_ms]() -> Result<std::unique_ptr<Executor>> {
    const auto script = [text, delay_ms](RequestId, std::int32_t idx) -> TokenId {
      if (delay_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
      const auto i = static_cast<std::size_t>(idx);
      return i < text.size() ? static_cast<unsigned char>(text[i]) : kTestEos;
    };
    return std::unique_ptr<Executor>(new NullExecutor(NullExecutor::SmallFacts(300, 2048), script));
  };
}

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
  EXPECT_EQ(rig.Get("/v1/responses/resp_nope").status, 404);
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
  ApiRig rig(Says(std::string(300, 'a'), 1));
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
      {"input[0].type", R"("input":[{"type":"item_reference","id":"x"}])"},
      {"input[1].call_id",
       R"("input":[{"role":"user","content":"a"},{"type":"function_call_output","output":"x"}])"},
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
