#include "server/openai_completions.h"

#include <thread>

#include <gtest/gtest.h>

#include "server/api_testing.h"

namespace quire {
namespace {

// A text that, said slowly, outlasts what a test does meanwhile.
const std::string kLongText(2000, 'a');

constexpr const char* kPath = "/v1/completions";

TEST(Completions, AnswersWithTextReasonAndUsage) {
  ApiRig rig(Says("red green"));
  const Json reply = rig.PostOk(kPath, R"({"model":"alias","prompt":"ab","max_tokens":20})");
  EXPECT_TRUE(TextOf(At(reply, "id")).starts_with("cmpl-"));
  EXPECT_EQ(At(reply, "object"), Json("text_completion"));
  EXPECT_EQ(At(reply, "model"), Json("model"));
  EXPECT_EQ(At(reply, "choices", 0, "text"), Json("red green"));
  EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("stop"));
  EXPECT_EQ(At(reply, "usage", "prompt_tokens"), Json(2));
  EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(10));
  EXPECT_EQ(At(reply, "usage", "total_tokens"), Json(12));
}

TEST(Completions, TakesTextsIdsAndListsOfBoth) {
  ApiRig rig(Says("x"));
  for (const char* prompt : {R"("ab")", R"(["ab","cd"])", "[97,98]", "[[97],[98,99]]"}) {
    const Json reply = rig.PostOk(kPath, StrCat(R"({"prompt":)", prompt, "}"));
    const bool is_pair =
        std::string_view(prompt).starts_with("[[") || std::string_view(prompt).starts_with("[\"");
    ASSERT_EQ(At(reply, "choices").array().size(), is_pair ? 2U : 1U) << prompt;
    for (int i = 0; i < (is_pair ? 2 : 1); ++i) {
      EXPECT_EQ(At(reply, "choices", i, "index"), Json(i));
    }
  }
}

TEST(Completions, RefusesPromptsThatAreNone) {
  ApiRig rig(Says("x"));
  for (const char* prompt : {R"("")", R"([""])", "[]", "[[]]", R"(["hi",""])", "7", "null", "{}",
                             "[-1]", "[300]", "[1.5]", R"([97,"a"])", "[[97],98]"}) {
    EXPECT_EQ(rig.Refused(kPath, StrCat(R"({"prompt":)", prompt, "}")), "prompt") << prompt;
  }
  EXPECT_EQ(rig.Refused(kPath, "{}"), "prompt");
  rig.engine().Drain();
  EXPECT_EQ(rig.engine().num_live(), 0U);
}

TEST(Completions, ServesAPromptOfOneTokenBesideARefusedOne) {
  ApiRig rig(Says("x"));
  rig.Refused(kPath, R"({"prompt":["hi",""]})");
  EXPECT_EQ(At(rig.PostOk(kPath, R"({"prompt":"h"})"), "choices", 0, "text"), Json("x"));
}

TEST(Completions, StreamsDeltasThatJoinToTheWholeText) {
  ApiRig rig(Says("red green"));
  const auto events = rig.Stream(kPath, R"({"prompt":"ab","stream":true})");
  EXPECT_EQ(JoinedText(events), "red green");
  for (const Json& event : events) {
    EXPECT_EQ(At(event, "id"), At(events[0], "id"));
    EXPECT_EQ(At(event, "choices").array().size(), 1U);
    EXPECT_TRUE(At(event, "created").is_int());
    EXPECT_EQ(event.Find("usage"), nullptr);
  }
  EXPECT_EQ(At(events.back(), "choices", 0, "finish_reason"), Json("stop"));
  EXPECT_TRUE(
      rig.Post(kPath, R"({"prompt":"ab","stream":true})").body.ends_with("data: [DONE]\n\n"));
}

TEST(Completions, SendsUsageOnlyWhereItIsAskedFor) {
  ApiRig rig(Says("abc"));
  const auto events =
      rig.Stream(kPath, R"({"prompt":"ab","stream":true,"stream_options":{"include_usage":true}})");
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    ASSERT_NE(events[i].Find("usage"), nullptr);
    EXPECT_TRUE(At(events[i], "usage").is_null());
  }
  EXPECT_TRUE(At(events.back(), "choices").array().empty());
  EXPECT_EQ(At(events.back(), "usage", "completion_tokens"), Json(4));
  const auto running = rig.Stream(
      kPath,
      R"({"prompt":"ab","stream":true,"stream_options":{"include_usage":true,"continuous_usage_stats":true}})");
  EXPECT_EQ(At(running[0], "usage", "completion_tokens"), Json(1));
  EXPECT_EQ(At(running[0], "usage", "prompt_tokens"), Json(2));
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","stream_options":{"include_usage":true}})"),
            "stream_options");
}

TEST(Completions, HoldsBackWhatMayBeginAStopString) {
  ApiRig rig(Says("red green blue"));
  for (const char* stream : {"true", "false"}) {
    const HttpResponse response =
        rig.Post(kPath, StrCat(R"({"prompt":"a","stop":"green blue","stream":)", stream, "}"));
    const bool is_stream = std::string_view(stream) == "true";
    const Json last = is_stream ? EventsOf(response.body).back() : *ParseJson(response.body);
    const std::string text =
        is_stream ? JoinedText(EventsOf(response.body)) : TextOf(At(last, "choices", 0, "text"));
    EXPECT_EQ(text, "red ");
    EXPECT_EQ(At(last, "choices", 0, "finish_reason"), Json("stop"));
    EXPECT_EQ(At(last, "choices", 0, "stop_reason"), Json("green blue"));
  }
}

TEST(Completions, SendsNoRunOfEmptyChunks) {
  ApiRig rig(Says("abcdef"));
  const auto events = rig.Stream(
      kPath, R"({"prompt":"a","stream":true,"max_tokens":6,"stop":"########################"})");
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    EXPECT_NE(At(events[i], "choices", 0, "text"), Json("")) << i;
  }
  EXPECT_EQ(JoinedText(events), "abcdef");
}

TEST(Completions, NeverSendsHalfACharacter) {
  ApiRig rig(Says("\xF0\x9F\xA7\xAA ok"));
  const auto events = rig.Stream(kPath, R"({"prompt":"a","stream":true})");
  EXPECT_EQ(JoinedText(events), "\xF0\x9F\xA7\xAA ok");
  const auto cut = rig.Stream(kPath, R"({"prompt":"a","stream":true,"max_tokens":2})");
  const Json whole = rig.PostOk(kPath, R"({"prompt":"a","max_tokens":2})");
  EXPECT_EQ(JoinedText(cut), TextOf(At(whole, "choices", 0, "text")));
}

TEST(Completions, KeepsToTinyLimitsExactly) {
  ApiRig rig(Says("abcdefghijklmnopqrstuvwxyz"));
  for (const int limit : {1, 2, 3}) {
    const Json reply = rig.PostOk(kPath, StrCat(R"({"prompt":"a","max_tokens":)", limit, "}"));
    EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(limit));
    EXPECT_EQ(At(reply, "choices", 0, "finish_reason"), Json("length"));
  }
  EXPECT_EQ(At(rig.PostOk(kPath, R"({"prompt":"a"})"), "usage", "completion_tokens"), Json(16));
  const Json open = rig.PostOk(kPath, R"({"prompt":"a","max_tokens":null})");
  EXPECT_EQ(At(open, "usage", "completion_tokens"), Json(27));
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","max_tokens":0})"), "max_tokens");
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","max_tokens":100000})"), "max_tokens");
}

TEST(Completions, EndWhereTheTextRepeatsItself) {
  ApiRig rig(Says("an abababababababab"));
  for (const bool is_stream : {false, true}) {
    const std::string body = StrCat(R"({"prompt":"abababab","max_tokens":18,"stream":)",
                                    is_stream ? "true" : "false", R"(,"repetition_detection":)");
    const auto end_of = [&](std::string_view repetition) {
      const HttpResponse response = rig.Post(kPath, StrCat(body, repetition, "}"));
      EXPECT_EQ(response.status, 200) << response.body;
      const Json last = is_stream ? EventsOf(response.body).back() : *ParseJson(response.body);
      return std::pair(
          is_stream ? JoinedText(EventsOf(response.body)) : TextOf(At(last, "choices", 0, "text")),
          last);
    };
    const auto [text, last] = end_of(R"({"max_pattern_size":4,"min_count":3})");
    EXPECT_EQ(text, "an ababab");
    EXPECT_EQ(At(last, "choices", 0, "finish_reason"), Json("repetition"));
    EXPECT_EQ(At(last, "choices", 0, "stop_reason"), Json("repetition_detected"));
    EXPECT_EQ(end_of(R"({"max_pattern_size":4,"min_pattern_size":3,"min_count":3})").first,
              "an abababababab")
        << "four are twice two";
    for (const char* off : {"null", "{}", R"({"max_pattern_size":1,"min_count":3})"}) {
      EXPECT_EQ(end_of(off).first, "an abababababababa") << off;
    }
  }
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","repetition_detection":3})"),
            "repetition_detection");
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","repetition_detection":{"max_pattern_size":3}})"),
            "repetition_detection");
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","repetition_detection":{"max_pattern_size":"x"}})"),
            "repetition_detection");
}

TEST(Completions, SayWhyArgumentsOfPlugInsAreRefused) {
  ApiRig rig(Says("ab"));
  for (const auto& [path, more] :
       {std::pair(kPath, R"("prompt":"a")"), std::pair("/v1/responses", R"("input":"a")"),
        std::pair("/v1/chat/completions", R"("messages":[{"role":"user","content":"a"}])"),
        std::pair("/v1/messages", R"("model":"model","max_tokens":1,)"
                                  R"("messages":[{"role":"user","content":"a"}])")}) {
    const HttpResponse response = rig.Post(path, StrCat(R"({"vllm_xargs":{"a":1},)", more, "}"));
    EXPECT_EQ(response.status, 400) << path;
    EXPECT_NE(response.body.find("vllm_xargs: is not served here: it is for plug-ins"),
              std::string::npos)
        << response.body;
  }
}

TEST(Completions, EchoesThePromptAloneForNoTokens) {
  ApiRig rig(Says("xyz"));
  const Json reply =
      rig.PostOk(kPath, R"({"prompt":"sun","max_tokens":0,"echo":true,"logprobs":1})");
  const Json& choice = At(reply, "choices", 0);
  EXPECT_EQ(At(choice, "text"), Json("sun"));
  EXPECT_EQ(At(choice, "finish_reason"), Json("length"));
  EXPECT_EQ(At(choice, "logprobs", "tokens"), Json(JsonArray{"s", "u", "n"}));
  EXPECT_TRUE(At(choice, "logprobs", "token_logprobs", 0).is_null());
  EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(0));
}

TEST(Completions, CountsOffsetsFromTheEchoedPromptInBothModes) {
  ApiRig rig(Says("\xC3\xA9z"), ApiRig::SmallOptions(), {"sun", " moon"});
  const std::string body =
      R"({"prompt":"sun moon","echo":true,"logprobs":1,"max_tokens":3,"stream":)";
  const Json whole = rig.PostOk(kPath, body + "false}");
  std::vector<std::string> tokens;
  std::vector<std::int64_t> offsets;
  for (const Json& event : rig.Stream(kPath, body + "true}")) {
    const Json& logprobs = At(event, "choices", 0, "logprobs");
    if (logprobs.is_null()) continue;
    for (const Json& token : At(logprobs, "tokens").array()) tokens.push_back(token.string());
    for (const Json& offset : At(logprobs, "text_offset").array()) {
      offsets.push_back(offset.integer());
    }
  }
  const Json& logprobs = At(whole, "choices", 0, "logprobs");
  ASSERT_EQ(At(logprobs, "tokens").array().size(), tokens.size());
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(At(logprobs, "tokens", static_cast<int>(i)), Json(tokens[i]));
    EXPECT_EQ(At(logprobs, "text_offset", static_cast<int>(i)), Json(offsets[i]));
    EXPECT_EQ(offsets[i], sum) << i;
    sum += static_cast<std::int64_t>(tokens[i].size());
  }
  EXPECT_EQ(tokens[0] + tokens[1], "sun moon");
}

TEST(Completions, GivesParallelArraysOfLogprobs) {
  ApiRig rig(Says("ab"));
  const Json reply = rig.PostOk(kPath, R"({"prompt":"x","logprobs":2})");
  const Json& logprobs = At(reply, "choices", 0, "logprobs");
  for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"}) {
    EXPECT_EQ(At(logprobs, name).array().size(), 3U) << name;
  }
  EXPECT_NE(At(logprobs, "top_logprobs", 0).Find("a"), nullptr);
}

TEST(Completions, NumbersTheAnswersOfEachPrompt) {
  ApiRig rig(Says("ab"));
  const Json reply = rig.PostOk(kPath, R"({"prompt":["x","y"],"n":2})");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(At(reply, "choices", i, "index"), Json(i));
  std::vector<int> ends(4);
  for (const Json& event : rig.Stream(kPath, R"({"prompt":["x","y"],"n":2,"stream":true})")) {
    const Json& choice = At(event, "choices", 0);
    if (At(choice, "finish_reason").is_string()) {
      ++ends[static_cast<std::size_t>(At(choice, "index").integer())];
    }
  }
  EXPECT_EQ(ends, (std::vector<int>{1, 1, 1, 1}));
}

TEST(Completions, AnswersWithTheBestOfSeveral) {
  ApiRig rig(Says("ab"));
  const Json reply = rig.PostOk(kPath, R"({"prompt":"x","n":1,"best_of":3})");
  EXPECT_EQ(At(reply, "choices").array().size(), 1U);
  EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(9));
  EXPECT_TRUE(At(reply, "choices", 0, "logprobs").is_null());
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"x","n":2,"best_of":1})"), "best_of");
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"x","best_of":2,"stream":true})"), "best_of");
}

TEST(Completions, TellsTokenIdsWhereAskedFor) {
  ApiRig rig(Says("ab"));
  const Json reply = rig.PostOk(kPath, R"({"prompt":"x","return_token_ids":true})");
  EXPECT_EQ(At(reply, "choices", 0, "token_ids"), Json(JsonArray{97, 98, kTestEos}));
  EXPECT_EQ(At(reply, "choices", 0, "prompt_token_ids"), Json(JsonArray{120}));
  JsonArray ids;
  for (const Json& event :
       rig.Stream(kPath, R"({"prompt":"x","return_token_ids":true,"stream":true})")) {
    for (const Json& id : At(event, "choices", 0, "token_ids").array()) ids.push_back(id);
  }
  EXPECT_EQ(Json(ids), Json(JsonArray{97, 98, kTestEos}));
}

TEST(Completions, NamesTheFieldOfEveryRefusal) {
  ApiRig rig(Says("x"));
  const std::pair<const char*, const char*> cases[] = {
      {"temperature", R"("hot")"},
      {"temperature", "-1"},
      {"temperature", "3"},
      {"top_p", "0"},
      {"top_k", "0.5"},
      {"top_k", "-2"},
      {"n", "0"},
      {"n", "100000"},
      {"stop", R"([""])"},
      {"stop", "[7]"},
      {"logprobs", "-2"},
      {"logprobs", "500000"},
      {"logit_bias", R"({"x":1})"},
      {"logit_bias", R"({"999999":1})"},
      {"logit_bias", R"({"1":"a"})"},
      {"stop_token_ids", "[999999]"},
      {"stop_token_ids", "[-1]"},
      {"allowed_token_ids", "[]"},
      {"presence_penalty", "5"},
      {"min_tokens", "-1"},
      {"seed", "1e300"},
      {"priority", "1"},
      {"cache_salt", R"("")"},
      {"suffix", R"("x")"},
      {"prompt_embeds", R"("AAAA")"},
      {"watermarking", "true"},
      {"truncation_side", R"("right")"},
      {"bad_words", R"([""])"},
      {"stream", "1"},
      {"guided_choice", "[]"},
      {"response_format.type", R"({"type":"jsn"})"},
      {"structured_outputs.regex", R"({"regex":"a","choice":["b"]})"},
  };
  for (const auto& [field, value] : cases) {
    const std::string name(std::string_view(field).substr(0, std::string_view(field).find('.')));
    const std::string param =
        rig.Refused(kPath, StrCat(R"({"prompt":"a",")", name, "\":", value, "}"));
    if (name == "structured_outputs") {
      EXPECT_TRUE(param.starts_with("structured_outputs.")) << param;
    } else {
      EXPECT_EQ(param, field) << value;
    }
  }
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","model":"nope"})", 404), "model");
  EXPECT_EQ(rig.Refused(kPath, R"({"prompt":"a","stream":true,"prompt_logprobs":1})"),
            "prompt_logprobs");
}

TEST(Completions, RefusesAPromptThatFillsTheContextByName) {
  ApiRig rig(Says("x"));
  const HttpResponse response =
      rig.Post(kPath, StrCat(R"({"prompt":")", std::string(3000, 'a'), "\"}"));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("3000"), std::string::npos) << response.body;
  EXPECT_NE(response.body.find("2048"), std::string::npos) << response.body;
}

TEST(Completions, RefusesAnEndlessWordAndServesOthersBesideIt) {
  ApiRig rig(Says("x"));
  for (const std::string_view piece : {"a", "=", " ", "\u4e00"}) {
    std::string text;
    while (text.size() < 1'000'000) text += piece;
    const auto endless = rig.Begin("POST", kPath, StrCat(R"({"prompt":")", text, "\"}"));
    rig.PostOk(kPath, R"({"prompt":[97]})");
    const HttpResponse refused = endless->WaitForEnd();
    EXPECT_EQ(refused.status, 400);
    EXPECT_NE(refused.body.find("has more than 4096 tokens"), std::string::npos) << refused.body;
  }
}

TEST(Completions, MakesAnIdOfItsOwnWhereTheClientsIsAbsurd) {
  ApiRig rig(Says("x"));
  const Json reply =
      rig.PostOk(kPath, StrCat(R"({"prompt":"a","request_id":")", std::string(10'000, 'i'), "\"}"));
  EXPECT_LT(TextOf(At(reply, "id")).size(), 50U);
}

TEST(Completions, WarnsOfUnknownFieldsOrRefusesThem) {
  ApiRig rig(Says("x"));
  const HttpResponse warned = rig.Post(kPath, R"({"prompt":"a","temprature":1})");
  EXPECT_EQ(warned.status, 200);
  ASSERT_EQ(warned.headers.size(), 1U);
  EXPECT_EQ(warned.headers[0].name, "Warning");
  EXPECT_NE(warned.headers[0].value.find("temprature"), std::string::npos);
  EXPECT_NE(warned.headers[0].value.find("temperature?"), std::string::npos);
  EXPECT_TRUE(rig.Post(kPath, R"({"prompt":"a","temperature":1})").headers.empty());
  ApiOptions strict = ApiRig::SmallOptions();
  strict.strict_fields = true;
  ApiRig strict_rig(Says("x"), strict);
  EXPECT_EQ(strict_rig.Refused(kPath, R"({"prompt":"a","temprature":1})"), "temprature");
}

TEST(Completions, RefusesBodiesThatAreNoJson) {
  ApiRig rig(Says("x"));
  std::string deep = R"({"prompt":"a","x":)" + std::string(20000, '[') + std::string(20000, ']');
  for (const std::string& body :
       {std::string(), std::string(R"({"model" 5})"), std::string("[]"), std::string("\"a\""),
        std::string("{\"prompt\":\"\xFF\"}"), std::string("{\"prompt\":\"caf\xE9\"}"),
        std::string(R"({"prompt":"a"} x)"), deep + "}"}) {
    const HttpResponse response = rig.Post(kPath, body);
    EXPECT_EQ(response.status, 400) << body.substr(0, 40);
    EXPECT_TRUE(IsValidUtf8(response.body));
    EXPECT_TRUE(ParseJson(response.body).ok());
  }
  EXPECT_EQ(rig.Post(kPath, R"({"prompt":"a"})", {{"Content-Type", "text/plain"}}).status, 400);
  EXPECT_EQ(rig.Post(kPath, R"({"prompt":"a"})", {{"Content-Type", "Application/JSON; charset=x"}})
                .status,
            200);
}

TEST(Completions, EndsTheRequestOfAClientThatLeft) {
  ApiRig rig(Says(kLongText, 2));
  for (const char* stream : {"true", "false"}) {
    const auto reply = rig.Begin(
        "POST", kPath, StrCat(R"({"prompt":"a","max_tokens":2000,"stream":)", stream, "}"));
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    reply->Leave();
    rig.engine().Drain();
    EXPECT_EQ(rig.engine().num_live(), 0U);
    EXPECT_EQ(rig.engine().stats().scheduler.num_running, 0);
  }
  EXPECT_EQ(rig.engine().stats().num_aborted, 2);
}

TEST(Completions, EndsTheRequestOfAClientThatReadsTooSlowly) {
  ApiRig rig(Says(kLongText, 1));
  const auto reply = rig.Begin("POST", kPath, R"({"prompt":"a","max_tokens":2000,"stream":true})");
  reply->set_max_writes(3);
  rig.engine().Drain();
  EXPECT_EQ(rig.engine().stats().num_aborted, 1);
}

TEST(Completions, ServesTwoRequestsOfOneClientChosenId) {
  ApiRig rig(Says(kLongText, 1));
  const auto first =
      rig.Begin("POST", kPath, R"({"prompt":"a","max_tokens":2000,"request_id":"abc"})");
  const auto second =
      rig.Begin("POST", kPath, R"({"prompt":"a","max_tokens":50,"request_id":"abc"})");
  first->Leave();
  const Json reply = *ParseJson(second->WaitForEnd().body);
  EXPECT_TRUE(TextOf(At(reply, "id")).starts_with("cmpl-abc-")) << "the first one has cmpl-abc";
  EXPECT_EQ(At(reply, "usage", "completion_tokens"), Json(50));
}

TEST(Completions, GivesAnIdThatIsFreeAgainToTheNextRequest) {
  ApiRig rig(Says("a"));
  for (int i = 0; i < 2; ++i) {
    const Json reply = rig.PostOk(kPath, R"({"prompt":"a","request_id":"abc"})");
    rig.engine().Drain();
    EXPECT_EQ(At(reply, "id"), Json("cmpl-abc"));
  }
}

TEST(Completions, TellsOfAFailureInTheMiddleOfAStream) {
  ApiRig rig(Says(kLongText, 2));
  const auto reply = rig.Begin("POST", kPath, R"({"prompt":"a","max_tokens":2000,"stream":true})");
  reply->WaitForWrites(3);
  rig.engine().Shutdown(std::chrono::milliseconds(0));
  const std::vector<Json> events = EventsOf(reply->WaitForEnd().body);
  const Json& error = At(events.back(), "error");
  EXPECT_EQ(At(error, "code"), Json(503));
  EXPECT_TRUE(At(error, "message").is_string());
  EXPECT_TRUE(At(error, "type").is_string());
  EXPECT_EQ(rig.Post(kPath, R"({"prompt":"a"})").status, 503);
}

TEST(Completions, TakesALongListOfPromptsAPartAtATime) {
  ApiRig rig(Says("x"));
  std::string list = "[97]";
  for (int i = 0; i < 1999; ++i) list += ",[97]";
  const Json reply = rig.PostOk(kPath, StrCat(R"({"max_tokens":1,"prompt":[)", list, "]}"));
  EXPECT_EQ(At(reply, "choices").array().size(), 2000U);
}

}  // namespace
}  // namespace quire
