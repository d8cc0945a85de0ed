#include "server/derender.h"

#include <gtest/gtest.h>

#include "server/api_testing.h"

namespace quire {
namespace {

Json Choices(Json reply) {
  Json choices = At(reply, "choices");
  for (Json& choice : choices.array()) {  // calls are named anew
    Json& message = choice["message"];
    if (!message.is_object() || message.Find("tool_calls") == nullptr) continue;
    for (Json& call : message["tool_calls"].array()) call["id"] = Json();
  }
  return choices;
}

// What comes of `request` by way of token ids.
Json ChatByIds(ApiRig& rig, const std::string& request) {
  const Json rendered = rig.PostOk("/v1/chat/completions/render", request);
  Json body;
  body["generate_response"] = rig.PostOk("/inference/v1/generate", rendered.Dump());
  body["prompt_tokens"] = Json(At(rendered, "token_ids").array().size());
  body["chat_request"] = *ParseJson(request);
  return rig.PostOk("/v1/chat/completions/derender", body.Dump());
}

void ExpectSameChat(ApiRig& rig, const std::string& more) {
  const std::string request = StrCat(R"({"messages":[{"role":"user","content":"hi"}])", more, "}");
  const Json direct = rig.PostOk("/v1/chat/completions", request);
  const Json by_ids = ChatByIds(rig, request);
  EXPECT_EQ(Choices(by_ids), Choices(direct)) << more << "\n" << by_ids.Dump();
  EXPECT_EQ(At(by_ids, "usage"), At(direct, "usage")) << more;
}

TEST(Derender, GivesTheAnswerOfTheChatThatWasRendered) {
  ApiRig rig(Says("red gr\xC3\xBCn blue"));
  ExpectSameChat(rig, "");
  ExpectSameChat(rig, R"(,"stop":["blue"])");
  ExpectSameChat(rig, R"(,"stop":[" bl"],"include_stop_str_in_output":true,"min_tokens":3)");
  ExpectSameChat(rig, R"(,"stop_token_ids":[110])");
  ExpectSameChat(rig, R"(,"max_tokens":7)");  // half a character
  ExpectSameChat(rig, R"(,"n":2,"logprobs":true,"top_logprobs":2,"max_tokens":3)");
  ExpectSameChat(rig, R"(,"return_token_ids":false,"return_tokens_as_token_ids":true,)"
                      R"("logprobs":true,"ignore_eos":true,"max_tokens":30)");
}

TEST(Derender, TellsReasoningAndCallsApartAsTheServerDoes) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "deepseek_r1";
  ApiRig rig(Says("why</think>so <tool_call>\n{\"name\": \"f\", \"arguments\": {\"k\": 1}}\n"
                  "</tool_call>"),
             std::move(options));
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  ExpectSameChat(rig, "");
  ExpectSameChat(rig, tools);
  ExpectSameChat(rig, tools + R"(,"include_reasoning":false)");
  // Without the request nobody knows that there were tools.
  const Json plain = rig.PostOk(
      "/v1/chat/completions/derender",
      R"({"generate_response":{"request_id":"r","choices":[{"token_ids":[97,60,47,299]}]}})");
  EXPECT_EQ(At(plain, "id"), Json("r"));
  EXPECT_TRUE(TextOf(At(plain, "choices", 0, "message", "content")).starts_with("a</"));
  EXPECT_EQ(At(plain, "choices", 0, "finish_reason"), Json("stop"));
  EXPECT_EQ(At(plain, "usage", "prompt_tokens"), Json(0));
}

TEST(Derender, KnowsByThePromptThatTheReasoningIsOver) {
  ApiOptions options = ApiRig::SmallOptions();
  options.reasoning_parser = "qwen3";
  options.chat_template = std::string(kTestTemplate) + "{{ tail }}";
  options.trust_request_chat_template = true;
  ApiRig rig(Says("a</think>b"), std::move(options));
  for (const char* tail : {"<think>", "<think></think>", ""}) {
    ExpectSameChat(rig, StrCat(R"(,"chat_template_kwargs":{"tail":")", tail, R"("})"));
  }
  // The prompt's ids tell the same.
  const auto body = [](std::string_view prompt) {
    Json ids = Json(JsonArray());
    for (const char byte : prompt) ids.array().emplace_back(static_cast<int>(byte));
    return StrCat(R"({"chat_request":{"messages":[{"role":"user","content":"x"}]},)",
                  R"("generate_response":{"choices":[{"token_ids":[97]}]},"prompt_token_ids":)",
                  ids.Dump(), "}");
  };
  const std::string path = "/v1/chat/completions/derender";
  const Json open = rig.PostOk(path, body("q<think>"));
  EXPECT_EQ(At(open, "choices", 0, "message", "reasoning"), Json("a"));
  EXPECT_EQ(At(open, "usage", "prompt_tokens"), Json(8));
  const Json over = rig.PostOk(path, body("q<think></think>"));
  EXPECT_EQ(At(over, "choices", 0, "message", "content"), Json("a"));
}

TEST(Derender, GivesTheCompletionThatWasRendered) {
  ApiRig rig(Says("red green blue"));
  for (const std::string more :
       {R"("prompt":"sun")", R"("prompt":["sun","moon and sun"],"n":2,"stop":["gr"])",
        R"("prompt":[[65,66],[67]],"echo":true,"max_tokens":2)",
        R"("prompt":[65,66],"echo":true,"logprobs":1,"max_tokens":3)",
        R"("prompt":["a","b"],"echo":true,"max_tokens":0)",
        R"("prompt":"sun","n":1,"best_of":3,"max_tokens":2,"temperature":1)"}) {
    const std::string request = StrCat("{", more, "}");
    const Json direct = rig.PostOk("/v1/completions", request);
    const Json rendered = rig.PostOk("/v1/completions/render", request);
    Json body;
    body["completion_request"] = *ParseJson(request);
    JsonArray answers, counts;
    for (const Json& prompt : rendered.array()) {
      answers.push_back(rig.PostOk("/inference/v1/generate", prompt.Dump()));
      counts.emplace_back(At(prompt, "token_ids").array().size());
    }
    body["generate_responses"] = Json(std::move(answers));
    body["prompt_tokens"] = Json(std::move(counts));
    const Json by_ids = rig.PostOk("/v1/completions/derender", body.Dump());
    EXPECT_EQ(At(by_ids, "choices"), At(direct, "choices")) << more;
    EXPECT_EQ(At(by_ids, "usage"), At(direct, "usage")) << more;
  }
}

TEST(Derender, NamesWhatItRefuses) {
  ApiRig rig(Says("a"));
  const auto refused = [&](std::string_view response, std::string_view more = "") {
    return rig.Refused("/v1/chat/completions/derender",
                       StrCat(R"({"generate_response":)", response, more, "}"));
  };
  const std::string at = "generate_response";
  const std::string one = R"({"choices":[{"token_ids":[97]}]})";
  EXPECT_EQ(rig.Refused("/v1/chat/completions/derender", "{}"), at);
  EXPECT_EQ(refused("[]"), at);
  EXPECT_EQ(refused("{}"), at + ".choices");
  EXPECT_EQ(refused(R"({"choices":[7]})"), at + ".choices[0]");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[-1]}]})"), at + ".choices[0].token_ids");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[300]}]})"), at + ".choices[0].token_ids");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[1],"index":2}]})"), at + ".choices[0].index");
  EXPECT_EQ(refused(R"({"choices":[{"finish_reason":"no"}]})"), at + ".choices[0].finish_reason");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[1],"logprobs":{"content":[]}}]})"),
            at + ".choices[0].logprobs.content");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[1],"logprobs":{"content":[)"
                    R"({"token":"a","logprob":-1}]}}]})"),
            at + ".choices[0].logprobs.content[0].token");
  EXPECT_EQ(refused(R"({"choices":[{"token_ids":[1],"logprobs":{"content":[)"
                    R"({"token":"token_id:999","logprob":-1}]}}]})"),
            at + ".choices[0].logprobs.content[0].token");
  EXPECT_EQ(refused(one, R"(,"prompt_tokens":-1)"), "prompt_tokens");
  EXPECT_EQ(refused(one, R"(,"prompt_tokens":9999999)"), "prompt_tokens");
  EXPECT_EQ(refused(one, R"(,"prompt_token_ids":[999])"), "prompt_token_ids");
  EXPECT_EQ(refused(one, R"(,"stream":true)"), "stream");
  EXPECT_EQ(refused(one, R"(,"chat_request":{})"), "chat_request.messages");
  EXPECT_EQ(refused(one, R"(,"chat_request":{"messages":[{"role":"user","content":7}]})"),
            "chat_request.messages[0].content");
  EXPECT_EQ(
      refused(one, R"(,"chat_request":{"messages":[{"role":"user","content":""}],"top_p":9})"),
      "chat_request.top_p");
  EXPECT_EQ(rig.Refused("/v1/completions/derender", R"({"generate_responses":[]})"),
            "generate_responses");
  EXPECT_EQ(rig.Refused("/v1/completions/derender",
                        StrCat(R"({"prompt_tokens":[1,2],"generate_responses":[)", one, "]}")),
            "prompt_tokens");
  EXPECT_EQ(rig.Refused("/v1/completions/derender",
                        StrCat(R"({"completion_request":{"prompt":["a","b"]},)",
                               R"("generate_responses":[)", one, "]}")),
            "generate_responses");
  EXPECT_EQ(rig.Refused("/v1/completions/derender",
                        StrCat(R"({"model":"none","generate_responses":[)", one, "]}"), 404),
            "model");
}

}  // namespace
}  // namespace quire
