// Faults that other engines were reported to have, held against the routes as a whole.
#include <gtest/gtest.h>

#include "server/api_testing.h"
#include "server/chat_templates.h"

namespace quire {
namespace {

constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kChat = "/v1/chat/completions";

std::string Ids(int count, int first = 97) {
  Json ids = Json(JsonArray());
  for (int i = 0; i < count; ++i) ids.array().emplace_back(first + i % 7);
  return ids.Dump();
}

// The texts of an answer in both modes, on both routes; they must be equal.
std::string TextInAllModes(ApiRig& rig, const std::string& more) {
  const std::string completion = StrCat(R"({"prompt":"a")", more);
  const std::string chat = StrCat(R"({"messages":[{"role":"user","content":"a"}])", more);
  const Json whole = rig.PostOk(kCompletions, completion + "}");
  std::string text = TextOf(At(whole, "choices", 0, "text"));
  EXPECT_EQ(JoinedText(rig.Stream(kCompletions, completion + R"(,"stream":true})")), text) << more;
  const Json message = rig.PostOk(kChat, chat + "}");
  EXPECT_EQ(TextOf(At(message, "choices", 0, "message", "content")), text) << more;
  EXPECT_EQ(JoinedText(rig.Stream(kChat, chat + R"(,"stream":true})")), text) << more;
  return text;
}

// A tokenizer that puts <s> before each text.
std::shared_ptr<const Tokenizer> TokenizerWithBos() {
  constexpr TokenId kBos = 257;
  Json file = *ParseJson(TestTokenizerJson());
  Json begin = At(file, "added_tokens", 0);
  begin["id"] = Json(kBos);
  begin["content"] = Json("<s>");
  file["added_tokens"].array().push_back(begin);
  file["model"]["vocab"]["<s>"] = Json(kBos);
  file["post_processor"] = *ParseJson(
      R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[{"Sequence":{"id":"A","type_id":0}},)"
      R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":)"
      R"({"<s>":{"id":"<s>","ids":[257],"tokens":["<s>"]}}})");
  const std::string text = file.Dump();
  HfTokenizerFiles files;
  files.tokenizer_json = text;
  files.tokenizer_config_json = R"({"eos_token":"<|end|>","bos_token":"<s>"})";
  return *Tokenizer::FromJson(files);
}

TEST(ReportedFaults, ACharacterOfSeveralTokensComesWholeOrEndsAlikeInAllModes) {
  // F0 9F and A7 AA are a token each; 258 and 259 are longer beginnings of the character.
  ApiRig rig(Gives({257, 260, ' ', 'o', 'k'}), ApiRig::SmallOptions(),
             {"\xF0\x9F\xA7\xAA", "\xA7\xAA"});
  EXPECT_EQ(TextInAllModes(rig, ""), "\xF0\x9F\xA7\xAA ok");
  TextInAllModes(rig, R"(,"max_tokens":1)");
  for (const Json& event : rig.Stream(kCompletions, R"({"prompt":"a","stream":true})")) {
    EXPECT_EQ(TextOf(At(event, "choices", 0, "text")).find("\xEF\xBF\xBD"), std::string::npos);
  }
}

TEST(ReportedFaults, StopsAreFoundInsideOfTokensAndEmptyOnesAreRefused) {
  ApiRig rig(Gives({kFirstWordToken + 5}), ApiRig::SmallOptions(), {" Lisbon"});
  EXPECT_EQ(TextInAllModes(rig, ""), " Lisbon");
  EXPECT_EQ(TextInAllModes(rig, R"(,"stop":["Lis"])"), " ");
  EXPECT_EQ(TextInAllModes(rig, R"(,"stop":[])"), " Lisbon");
  EXPECT_EQ(TextInAllModes(rig, R"(,"stop":null)"), " Lisbon");
  EXPECT_EQ(rig.Refused(kCompletions, R"({"prompt":"a","stop":["","Lis"]})"), "stop");
  EXPECT_EQ(rig.Refused(kCompletions, R"({"prompt":"a","stop":""})"), "stop");
}

TEST(ReportedFaults, AChunkWithoutChoicesComesOnceAndOnlyWhereItIsAskedFor) {
  ApiRig rig(Says("abc"));
  const std::pair<const char*, const char*> routes[] = {
      {kCompletions, R"({"prompt":"a","stream":true)"},
      {kChat, R"({"messages":[{"role":"user","content":"a"}],"stream":true)"}};
  for (const auto& [path, body] : routes) {
    for (const char* more : {"}", R"(,"stream_options":{"include_usage":false}})"}) {
      for (const Json& event : rig.Stream(path, StrCat(body, more))) {
        EXPECT_EQ(At(event, "choices").array().size(), 1U) << path;
      }
    }
    const std::vector<Json> events =
        rig.Stream(path, StrCat(body, R"(,"stream_options":{"include_usage":true}})"));
    for (std::size_t i = 0; i < events.size(); ++i) {
      const bool is_last = i + 1 == events.size();
      EXPECT_EQ(At(events[i], "choices").array().empty(), is_last) << path;
      ASSERT_NE(events[i].Find("usage"), nullptr);
      EXPECT_EQ(At(events[i], "usage").is_object(), is_last) << path;
    }
    EXPECT_EQ(At(events.back(), "usage", "completion_tokens"), Json(4));
  }
}

TEST(ReportedFaults, APromptIsCutOnlyWhereThatIsAskedForAndTheUsageShowsIt) {
  ApiRig rig(Says("x"));
  EXPECT_EQ(rig.Refused(kCompletions, StrCat(R"({"prompt":)", Ids(2048), "}")), "prompt");
  const Json cut =
      rig.PostOk(kCompletions, StrCat(R"({"prompt":)", Ids(3000), R"(,"truncate_prompt_tokens":5,)",
                                      R"("return_token_ids":true,"max_tokens":1})"));
  EXPECT_EQ(At(cut, "usage", "prompt_tokens"), Json(5));
  const Json all = *ParseJson(Ids(3000));
  EXPECT_EQ(At(cut, "choices", 0, "prompt_token_ids"),
            Json(JsonArray(all.array().end() - 5, all.array().end())));
}

TEST(ReportedFaults, TinyTemperaturesAreServedAndHugeOnesRefused) {
  ApiRig rig(Says("x"));
  for (const char* value : {"1e-2", "1e-3", "1e-5", "1e-6", "1e-12", "0", "2"}) {
    rig.PostOk(kCompletions, StrCat(R"({"prompt":"a","temperature":)", value, "}"));
  }
  rig.PostOk(kCompletions, R"({"prompt":"a","top_p":1e-4})");
  rig.PostOk(kCompletions, R"({"prompt":"a","top_k":7777777})");
  EXPECT_EQ(rig.Refused(kCompletions, R"({"prompt":"a","temperature":100})"), "temperature");
  for (const char* no_number : {"1e999", "NaN", "-Infinity"}) {
    rig.Refused(kCompletions, StrCat(R"({"prompt":"a","temperature":)", no_number, "}"));
  }
  EXPECT_EQ(rig.Refused(kCompletions, R"({"prompt":"a","top_p":0})"), "top_p");
}

// Answers that are forced to a word of their own each, together and alone.
TEST(ReportedFaults, SixtyFourAnswersAtOnceAreThoseOfEachAlone) {
  ApiRig rig(Says("nothing that any of them may say"));
  const auto body = [](int i, bool is_stream) {
    const std::string word = StrCat("word-", i, std::string(static_cast<std::size_t>(i % 9), '!'));
    const std::string prompt = StrCat(i % 2 == 0 ? "a beginning that many share, then " : "",
                                      std::string(static_cast<std::size_t>(i), 'p'), i);
    return std::pair(
        word, StrCat(R"({"prompt":")", prompt, R"(","max_tokens":40,"n":2,)", R"("request_id":"r)",
                     i, R"(","return_token_ids":true,)", R"("structured_outputs":{"choice":[")",
                     word, R"("]},"stream":)", is_stream ? "true}" : "false}"));
  };
  std::vector<std::shared_ptr<RecordingReply>> replies;
  for (int i = 0; i < 64; ++i) {
    replies.push_back(rig.Begin("POST", kCompletions, body(i, i % 3 == 0).second));
    if (i % 8 == 7) replies.back()->Leave();
  }
  for (int i = 0; i < 64; ++i) {
    if (i % 8 == 7) continue;
    const HttpResponse together = replies[static_cast<std::size_t>(i)]->WaitForEnd();
    const auto [word, alone] = body(i, false);
    const Json expected = rig.PostOk(kCompletions, alone);
    EXPECT_EQ(At(expected, "choices", 0, "text"), Json(word));
    if (i % 3 != 0) {
      const Json reply = *ParseJson(together.body);
      EXPECT_EQ(At(reply, "id"), Json(StrCat("cmpl-r", i)));
      EXPECT_EQ(At(reply, "choices"), At(expected, "choices"));
      EXPECT_EQ(At(reply, "usage"), At(expected, "usage"));
      continue;
    }
    std::string texts[2];
    for (const Json& event : EventsOf(together.body)) {
      EXPECT_EQ(At(event, "id"), Json(StrCat("cmpl-r", i)));
      const Json& choice = At(event, "choices", 0);
      texts[At(choice, "index").integer() == 0 ? 0 : 1] += TextOf(At(choice, "text"));
    }
    EXPECT_EQ(texts[0], word);
    EXPECT_EQ(texts[1], word);
  }
  rig.engine().Drain();
  EXPECT_EQ(rig.engine().stats().scheduler.num_running, 0);
}

TEST(ReportedFaults, HostileNumbersLeaveOtherAnswersAsTheyWere) {
  ApiRig rig(Says(std::string(1500, 'k') + "end"));
  const auto other =
      rig.Begin("POST", kCompletions, R"({"prompt":"a","max_tokens":1600,"stream":true})");
  for (const char* hostile :
       {R"("prompt":[-1])", R"("prompt":[300])", R"("prompt":"a","logit_bias":{"999999":1})",
        R"("prompt":"a","stop_token_ids":[999999])", R"("prompt":"a","allowed_token_ids":[-1])",
        R"("prompt":"a","logprobs":500000)", R"("prompt":"a","logprob_token_ids":[999999])",
        R"("prompt":"a","top_k":0.5)", R"("prompt":"a","n":9999999)",
        R"("prompt":"a","bad_words":[""])", R"("prompt":"a","min_tokens":2,"max_tokens":1)"}) {
    EXPECT_NE(rig.Refused(kCompletions, StrCat("{", hostile, "}")), "") << hostile;
  }
  EXPECT_EQ(rig.Refused(kChat, R"({"messages":[{"role":"user","content":"a"}],"logprobs":true,)"
                               R"("top_logprobs":500000})"),
            "top_logprobs");
  const std::string text = JoinedText(EventsOf(other->WaitForEnd().body));
  EXPECT_EQ(text, std::string(1500, 'k') + "end");
}

TEST(ReportedFaults, APromptInPartsSaysNothingBeforeItsEndAndCountsTheSameThroughout) {
  ApiRig rig(Says("xyz"));  // at most 512 tokens a step
  const auto usage = R"(,"stream":true,"stream_options":{"include_usage":true,)"
                     R"("continuous_usage_stats":true}})";
  const auto lengthy = rig.Begin("POST", kCompletions, StrCat(R"({"prompt":)", Ids(1800), usage));
  std::vector<std::shared_ptr<RecordingReply>> others;
  for (int i = 0; i < 9; ++i) {
    others.push_back(rig.Begin("POST", kCompletions, R"({"prompt":"short"})"));
  }
  const std::vector<Json> events = EventsOf(lengthy->WaitForEnd().body);
  EXPECT_EQ(JoinedText(events), "xyz");
  EXPECT_EQ(TextOf(At(events[0], "choices", 0, "text")).substr(0, 1), "x");
  for (const Json& event : events) EXPECT_EQ(At(event, "usage", "prompt_tokens"), Json(1800));
  EXPECT_EQ(At(events.back(), "usage", "completion_tokens"), Json(4));
  for (const auto& other : others) {
    const Json reply = *ParseJson(other->WaitForEnd().body);
    EXPECT_EQ(At(reply, "choices", 0, "text"), Json("xyz"));
    EXPECT_EQ(At(reply, "usage", "prompt_tokens"), Json(5));
  }
}

TEST(ReportedFaults, CachedTokensAreWholeBlocksAndNeverTheWholePrompt) {
  ApiOptions options = ApiRig::SmallOptions();
  options.enable_prompt_tokens_details = true;
  ApiRig rig(Says("xyz"), options);
  for (const int length : {15, 16, 17, 32, 33}) {
    const std::string body = StrCat(R"({"prompt":)", Ids(length, 33 + length), "}");
    const Json cold = rig.PostOk(kCompletions, body);
    const Json warm = rig.PostOk(kCompletions, body);
    EXPECT_EQ(At(warm, "choices"), At(cold, "choices"));
    EXPECT_EQ(At(cold, "usage", "prompt_tokens_details", "cached_tokens"), Json(0));
    EXPECT_EQ(At(warm, "usage", "prompt_tokens_details", "cached_tokens"),
              Json((length - 1) / 16 * 16));
  }
  const Json lengthy = rig.PostOk(kCompletions, StrCat(R"({"prompt":)", Ids(100, 90), "}"));
  const Json part = rig.PostOk(kCompletions, StrCat(R"({"prompt":)", Ids(20, 90), "}"));
  EXPECT_EQ(At(part, "choices"), At(lengthy, "choices"));
  EXPECT_EQ(At(part, "usage", "prompt_tokens_details", "cached_tokens"), Json(16));
}

TEST(ReportedFaults, TheBeginningOfATextStandsOnce) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template = "<s>{% for m in messages %}{{ m.role }}:{{ m.content }}{% endfor %}";
  ApiRig rig(Says("x"), options, TokenizerWithBos());
  const auto check = [](const Json& ids, std::size_t length, const char* what) {
    ASSERT_TRUE(ids.is_array()) << what;
    ASSERT_EQ(ids.array().size(), length) << what;
    EXPECT_EQ(ids.array()[0], Json(257)) << what;
    EXPECT_EQ(std::ranges::count(ids.array(), Json(257)), 1) << what;
  };
  const std::string messages = R"("messages":[{"role":"user","content":"hi"}])";
  const std::string more = R"(,"return_token_ids":true)";
  const Json chat = rig.PostOk(kChat, StrCat("{", messages, more, "}"));
  check(At(chat, "prompt_token_ids"), 8, "a chat");
  const Json rendered = rig.PostOk("/v1/chat/completions/render", StrCat("{", messages, "}"));
  EXPECT_EQ(At(rendered, "token_ids"), At(chat, "prompt_token_ids"));
  EXPECT_EQ(At(rig.PostOk("/tokenize", StrCat("{", messages, "}")), "tokens"),
            At(chat, "prompt_token_ids"));
  const Json raw = rig.PostOk(kCompletions, StrCat(R"({"prompt":"hi")", more, "}"));
  check(At(raw, "choices", 0, "prompt_token_ids"), 3, "a text");
  const Json written = rig.PostOk(
      kCompletions, StrCat(R"({"prompt":"<s>user:hi","add_special_tokens":false)", more, "}"));
  EXPECT_EQ(At(written, "choices", 0, "prompt_token_ids"), At(chat, "prompt_token_ids"));
  // With a beginning an empty text is a prompt.
  const Json empty = rig.PostOk(kCompletions, StrCat(R"({"prompt":"")", more, "}"));
  check(At(empty, "choices", 0, "prompt_token_ids"), 1, "an empty text");
  const Json batch = rig.PostOk(kCompletions, StrCat(R"({"prompt":["hi",""])", more, "}"));
  check(At(batch, "choices", 1, "prompt_token_ids"), 1, "an empty text of a list");
}

TEST(ReportedFaults, EveryRolesPartsAreWhatItsTextIs) {
  const char* const concatenates =
      "{% for m in messages %}{{ '<' + m.role + '>' + (m.content or '') }}{% endfor %}";
  const char* const walks =
      "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}{{ m.content }}"
      "{% elif m.content %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}"
      "{% endfor %}";
  for (const char* source : {concatenates, walks}) {
    ApiOptions options = ApiRig::SmallOptions();
    options.chat_template = source;
    ApiRig rig(Says("x"), options);
    const auto text_of = [&](std::string_view role, std::string_view content,
                             std::string_view more = "") {
      const Json rendered =
          rig.PostOk("/v1/chat/completions/render",
                     StrCat(R"({"messages":[{"role":"user","content":"q"},{"role":")", role,
                            R"(","content":)", content, more, "}]}"));
      return TextOf(At(rendered, "prompt_text"));
    };
    for (const char* role : {"user", "assistant", "system", "tool"}) {
      const std::string more =
          std::string_view(role) == "tool" ? R"(,"tool_call_id":"1")" : std::string();
      const std::string parts =
          text_of(role, R"([{"type":"text","text":"ab"},{"type":"text","text":"cd"}])", more);
      const std::string one = text_of(role, R"([{"type":"text","text":"abcd"}])", more);
      const std::string plain = text_of(role, R"("abcd")", more);
      EXPECT_EQ(one, plain) << role;
      EXPECT_NE(parts.find("ab"), std::string::npos) << parts;
      EXPECT_NE(parts.find("cd"), std::string::npos) << parts;
      EXPECT_EQ(parts.find('['), std::string::npos) << parts;
    }
    EXPECT_EQ(text_of("assistant", "null",
                      R"(,"tool_calls":[{"id":"1","type":"function","function":{"name":"f",)"
                      R"("arguments":"{}"}}])"),
              "<user>q<assistant>");
    EXPECT_EQ(rig.Refused(kChat, R"({"messages":[{"role":"user","content":[{"type":"poem"}]}]})"),
              "messages[0].content[0]");
  }
}

TEST(ReportedFaults, TemplatesRefuseInTheirOwnWordsAndDropNothing) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template =
      "{% for m in messages %}{% if loop.previtem is defined and loop.previtem.role == m.role %}"
      "{{ raise_exception('roles must alternate') }}{% endif %}[{{ m.role }}"
      "{% for c in m.tool_calls or [] %} {{ c.function.name }}={{ c.function.arguments | tojson }}"
      "{% endfor %}]{% endfor %}";
  ApiRig rig(Says("x"), options);
  const HttpResponse refused = rig.Post(
      kChat, R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":"b"}]})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_NE(refused.body.find("roles must alternate"), std::string::npos) << refused.body;
  const Json rendered =
      rig.PostOk("/v1/chat/completions/render",
                 R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,)"
                 R"("tool_calls":[{"id":"1","type":"function","function":{"name":"f",)"
                 R"("arguments":"{\"k\": 1}"}}]}]})");
  EXPECT_EQ(At(rendered, "prompt_text"), Json("[user][assistant f={\"k\": 1}]"));
  for (const char* broken : {"{% for m in messages %}{{ m.content }}", "{% import 'x' as y %}"}) {
    ApiOptions at_start = ApiRig::SmallOptions();
    at_start.chat_template = broken;
    const auto loaded = ChatTemplates::Load(at_start, MakeTestTokenizer().get());
    ASSERT_FALSE(loaded.ok()) << broken;
    EXPECT_NE(loaded.status().message().find("chat-template"), std::string::npos);
  }
}

TEST(ReportedFaults, StreamsOfCallsCountTheirOwn) {
  constexpr std::string_view kTools = R"(,"tools":[{"type":"function","function":{"name":"f"}},)"
                                      R"({"type":"function","function":{"name":"g"}}])";
  ApiRig rig(
      Says("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"k\": 140, "
           "\"ratio\": 2.5, \"note\": \"\", \"extra\": {\"q\": \"a\\\"b\"}}}\n"
           "</tool_call>\n<tool_call>\n{\"name\": \"g\"}\n</tool_call>"));
  std::vector<std::shared_ptr<RecordingReply>> replies;
  for (int i = 0; i < 3; ++i) {
    replies.push_back(rig.Begin(
        "POST", kChat,
        StrCat(R"({"messages":[{"role":"user","content":"a"}],"stream":true)", kTools, "}")));
  }
  for (const auto& reply : replies) {
    std::vector<std::string> names, arguments;
    for (const Json& event : EventsOf(reply->WaitForEnd().body)) {
      const Json& calls = At(event, "choices", 0, "delta", "tool_calls");
      if (!calls.is_array()) continue;
      const Json& call = At(calls, 0);
      if (At(call, "id").is_string()) {
        EXPECT_EQ(At(call, "index"), Json(names.size()));
        EXPECT_EQ(At(call, "type"), Json("function"));
        EXPECT_EQ(At(call, "function", "arguments"), Json(""));
        names.push_back(TextOf(At(call, "function", "name")));
        arguments.emplace_back();
      } else {
        EXPECT_EQ(At(call, "index"), Json(names.size() - 1));
        EXPECT_EQ(At(call, "function").Find("name"), nullptr);
        arguments.back() += TextOf(At(call, "function", "arguments"));
      }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"f", "g"}));
    ASSERT_EQ(arguments.size(), 2U);
    EXPECT_EQ(arguments[0], R"({"k": 140, "ratio": 2.5, "note": "", "extra": {"q": "a\"b"}})");
    EXPECT_EQ(arguments[1], "{}");
  }
}

TEST(ReportedFaults, CountersTellFinishedFromAbortedAndGaugesEndAtZero) {
  ApiRig rig(Says(std::string(1500, 'a')));
  for (int i = 0; i < 4; ++i) {  // clients that take one piece and no more
    rig.Begin("POST", kCompletions, R"({"prompt":"a","max_tokens":1600,"stream":true})", {}, 1);
  }
  const std::string ordinary = R"({"prompt":"b","max_tokens":3})";
  for (int i = 0; i < 5; ++i) rig.PostOk(kCompletions, ordinary);
  rig.engine().Drain();
  rig.PostOk(kCompletions, ordinary);
  const std::string page = rig.engine().metrics().Expose();
  const auto value = [&](std::string_view name, std::string_view label) {
    for (const std::string_view line : Split(page, '\n')) {
      if (!line.starts_with(name) || line.find(label) == std::string_view::npos) continue;
      return ParseNumber<double>(line.substr(line.rfind(' ') + 1)).value_or(-1);
    }
    return -1.0;
  };
  EXPECT_EQ(value("vllm:request_success_total{", R"(finished_reason="abort")"), 4);
  EXPECT_EQ(value("vllm:request_success_total{", R"(finished_reason="length")"), 6);
  for (const char* gauge : {"vllm:num_requests_running{", "vllm:num_requests_waiting{",
                            "vllm:kv_cache_usage_perc{", "vllm:prefix_cache_hits_total{"}) {
    EXPECT_EQ(value(gauge, ""), 0) << gauge;
  }
}

TEST(ReportedFaults, AStreamComesInLargerPiecesWhereThatIsAskedFor) {
  ApiRig rig(Says(std::string(60, 'a')));
  const std::string body = R"({"prompt":"a","max_tokens":41,"stream":true,"stream_interval":)";
  std::vector<std::size_t> pieces;
  for (const Json& event : rig.Stream(kCompletions, body + "20}")) {
    pieces.push_back(TextOf(At(event, "choices", 0, "text")).size());
  }
  EXPECT_EQ(pieces, (std::vector<std::size_t>{1, 20, 20}));
  EXPECT_EQ(JoinedText(rig.Stream(kCompletions, body + "null}")), std::string(41, 'a'));
  EXPECT_EQ(rig.Refused(kCompletions, body + "0}"), "stream_interval");
  std::size_t num_chunks = 0;
  for (const Json& event :
       rig.Stream("/inference/v1/generate",
                  R"({"token_ids":[1],"stream":true,)"
                  R"("sampling_params":{"stream_interval":20,"max_tokens":41}})")) {
    num_chunks += At(event, "choices").array().size();
  }
  EXPECT_EQ(num_chunks, 3U);
}

// A field that does nothing is named, wherever it does nothing.
TEST(FieldsWithoutEffect, AreNamedInAWarning) {
  ApiOptions options = ApiRig::SmallOptions();
  options.chat_template =
      "{% for m in messages %}{{ m.content }}{% endfor %}{{ mood }}{{ reasoning_effort }}";
  ApiRig reads(Says("x"), options);
  ApiRig reads_none(Says("x"));
  const auto warnings = [](ApiRig& rig, const char* path, std::string_view body) {
    const HttpResponse response = rig.Post(path, std::string(body));
    EXPECT_EQ(response.status, 200) << response.body;
    std::string all;
    for (const HttpHeader& header : response.headers) {
      if (header.name == "Warning") all += header.value;
    }
    return all;
  };
  const std::string messages = R"({"messages":[{"role":"user","content":"q"}])";
  const std::string kwargs = R"(,"chat_template_kwargs":{"mood":"calm"}})";
  for (const char* path : {kChat, "/tokenize"}) {
    EXPECT_EQ(warnings(reads, path, messages + kwargs), "");
    EXPECT_NE(warnings(reads_none, path, messages + kwargs).find("chat_template_kwargs.mood"),
              std::string::npos);
    EXPECT_NE(
        warnings(reads_none, path, messages + R"(,"documents":[{"text":"a"}]})").find("documents"),
        std::string::npos);
  }
  const std::string effort = messages + R"(,"reasoning_effort":"low"})";
  EXPECT_EQ(warnings(reads, kChat, effort), "");
  EXPECT_NE(warnings(reads_none, kChat, effort).find("reasoning_effort"), std::string::npos);
  EXPECT_NE(warnings(reads_none, "/v1/responses", R"({"input":"q","reasoning":{"effort":"low"}})")
                .find("reasoning.effort"),
            std::string::npos);
  const std::string anthropic =
      R"({"model":"model","messages":[{"role":"user","content":"q"}],"output_config":)"
      R"({"effort":"low"},"thinking":{"type":"enabled","budget_tokens":1024})";
  for (const std::string& body : {anthropic + R"(,"max_tokens":4})", anthropic + "}"}) {
    const bool counts = body.find("max_tokens\":4") == std::string::npos;
    const std::string told =
        warnings(reads_none, counts ? "/v1/messages/count_tokens" : "/v1/messages", body);
    EXPECT_NE(told.find("output_config.effort"), std::string::npos) << told;
    EXPECT_NE(told.find("thinking"), std::string::npos) << told;
    EXPECT_EQ(told.find("chat_template_kwargs"), std::string::npos) << told;
  }
  EXPECT_NE(warnings(reads_none, kCompletions, R"({"prompt":"a","length_penalty":2})")
                .find("length_penalty"),
            std::string::npos);
  const std::string told = warnings(reads_none, "/tokenize",
                                    R"({"prompt":"a","add_special_tokens":true,"tools":[],)"
                                    R"("chat_template_kwargs":{},"add_generation_prompt":true})");
  for (const char* name : {"tools", "chat_template_kwargs", "add_generation_prompt"}) {
    EXPECT_NE(told.find(name), std::string::npos) << told;
  }
  EXPECT_EQ(told.find("add_special_tokens"), std::string::npos) << told;
  EXPECT_EQ(warnings(reads_none, "/tokenize", R"({"prompt":"a","add_special_tokens":true})"), "");
}

}  // namespace
}  // namespace quire
