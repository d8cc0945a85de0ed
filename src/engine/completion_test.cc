#include "engine/completion.h"

#include <gtest/gtest.h>

#include "engine/testing.h"

namespace quire {
namespace {

EngineRequest Request(std::vector<std::string> stop = {}) {
  EngineRequest request;
  request.id = RequestId(1);
  request.prompt = {'h', 'i'};
  request.sampling.stop = std::move(stop);
  return request;
}

EngineCoreOutput Output(std::vector<TokenId> tokens,
                        std::optional<FinishReason> reason = std::nullopt) {
  EngineCoreOutput output;
  output.id = RequestId(1);
  output.new_tokens = std::move(tokens);
  output.finish_reason = reason;
  return output;
}

std::vector<TokenId> Bytes(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

// What a client sees of an answer that comes one token at a time.
struct Stream {
  std::string text;
  std::vector<std::string> deltas;
  bool ended_early = false;
  CompletionOutput last;
};

Stream Feed(const Tokenizer& tokenizer, const EngineRequest& request,
            const std::vector<TokenId>& tokens, FinishReason reason = FinishReason::kLength,
            StopReason stop_reason = {}) {
  Completion completion = *Completion::Create(&tokenizer, request, 0);
  Stream stream;
  for (std::size_t i = 0; i < tokens.size() && !completion.is_finished(); ++i) {
    const bool is_last = i + 1 == tokens.size();
    EngineCoreOutput output = Output({tokens[i]});
    if (is_last) {
      output.finish_reason = reason;
      output.stop_reason = stop_reason;
    }
    stream.ended_early |= completion.Append(output);
    stream.last = completion.TakeDelta();
    stream.deltas.push_back(stream.last.text);
    stream.text += stream.last.text;
  }
  return stream;
}

TEST(Completion, NeverSplitsACharacterOverTwoDeltas) {
  const auto tokenizer = MakeTestTokenizer();
  const Stream stream = Feed(*tokenizer, Request(), Bytes("\xF0\x9F\xA7\xAA ok"));
  EXPECT_EQ(stream.text, "\xF0\x9F\xA7\xAA ok");
  for (const std::string& delta : stream.deltas) {
    EXPECT_EQ(delta.find("\xEF\xBF\xBD"), std::string::npos) << delta;
  }
}

TEST(Completion, HoldsBackWhatMayBeginAStopString) {
  const auto tokenizer = MakeTestTokenizer();
  const Stream stream = Feed(*tokenizer, Request({"green blue"}), Bytes("red green blue, more"));
  EXPECT_EQ(stream.text, "red ");
  EXPECT_TRUE(stream.ended_early);
  EXPECT_EQ(stream.last.finish_reason, FinishReason::kStop);
  EXPECT_EQ(std::get<std::string>(stream.last.stop_reason), "green blue");
}

TEST(Completion, FindsAStopStringInsideAToken) {
  const auto tokenizer = MakeTestTokenizer({" Lisbon"});
  constexpr TokenId kLisbon = kFirstWordToken + 5;
  ASSERT_EQ(tokenizer->TokenText(kLisbon), "ĠLisbon");
  const Stream stream = Feed(*tokenizer, Request({"Lis"}), {kLisbon, 'x'});
  EXPECT_EQ(stream.text, " ");
  EngineRequest kept = Request({"Lis"});
  kept.sampling.include_stop_str_in_output = true;
  EXPECT_EQ(Feed(*tokenizer, kept, {kLisbon, 'x'}).text, " Lis");
}

TEST(Completion, DropsTokensAfterAStopStringOfTheSameStep) {
  const auto tokenizer = MakeTestTokenizer();
  EngineRequest request = Request({"b"});
  request.sampling.logprobs = 0;
  Completion completion = *Completion::Create(tokenizer.get(), request, 0);
  EngineCoreOutput output = Output({'a', 'b', 'c'});
  for (const TokenId token : output.new_tokens) {
    output.new_logprobs.push_back({.entries = {{.token = token, .logprob = -1.0F, .rank = 1}}});
  }
  EXPECT_TRUE(completion.Append(output));
  EXPECT_EQ(completion.so_far().token_ids, (std::vector<TokenId>{'a', 'b'}));
  EXPECT_EQ(completion.so_far().logprobs.size(), 2U);
  EXPECT_EQ(completion.so_far().cumulative_logprob, -2.0);
  EXPECT_EQ(completion.so_far().text, "a");
}

TEST(Completion, HoldsTextOnlyWhileItCanStillBeginAStop) {
  const auto tokenizer = MakeTestTokenizer();
  const Stream stream = Feed(*tokenizer, Request({std::string(40, '#')}), Bytes("plain ##"));
  EXPECT_EQ(stream.deltas, (std::vector<std::string>{"p", "l", "a", "i", "n", " ", "", "##"}));
}

TEST(Completion, PassesOverStopStringsUntilMinTokens) {
  const auto tokenizer = MakeTestTokenizer();
  EngineRequest request = Request({"ab"});
  request.sampling.min_tokens = 3;
  EXPECT_EQ(Feed(*tokenizer, request, Bytes("abcabc")).text, "abc");
}

TEST(Completion, ShowsNoEndOfSequenceToken) {
  const auto tokenizer = MakeTestTokenizer();
  const Stream stream = Feed(*tokenizer, Request(), {'a', kTestEos}, FinishReason::kStop);
  EXPECT_EQ(stream.text, "a");
  EXPECT_EQ(stream.last.token_ids, (std::vector<TokenId>{kTestEos}));
  EngineRequest plain_end = Request();
  plain_end.eos_token_ids = {'b'};
  EXPECT_EQ(Feed(*tokenizer, plain_end, {'a', 'b'}, FinishReason::kStop).text, "a")
      << "an end that the vocabulary does not count as special";
  EXPECT_EQ(Feed(*tokenizer, Request(), {'a', 'b'}, FinishReason::kStop).text, "ab")
      << "what ends a constrained answer without an end token is of its text";
  EngineRequest shown = Request();
  shown.sampling.skip_special_tokens = false;
  EXPECT_EQ(Feed(*tokenizer, shown, {'a', kTestEos}, FinishReason::kStop).text, "a<|end|>");
}

TEST(Completion, KeepsAStopTokenThatIsNotSpecial) {
  const auto tokenizer = MakeTestTokenizer();
  EXPECT_EQ(Feed(*tokenizer, Request(), Bytes("ab"), FinishReason::kStop, TokenId{'b'}).text, "ab");
}

TEST(Completion, AnswersThatEndAtOnceAreEmpty) {
  const auto tokenizer = MakeTestTokenizer();
  const Stream stream = Feed(*tokenizer, Request(), {kTestEos}, FinishReason::kStop);
  EXPECT_EQ(stream.text, "");
  EXPECT_EQ(stream.last.finish_reason, FinishReason::kStop);
}

TEST(Completion, ShowsHalfACharacterThatTheLimitCutsOffAsTheWholeDecodeDoes) {
  const auto tokenizer = MakeTestTokenizer();
  const std::vector<TokenId> ids = Bytes("a\xE2\x82");
  EXPECT_EQ(Feed(*tokenizer, Request(), ids).text, tokenizer->Decode(ids));
}

TEST(Completion, HasTokensButNoTextWithoutATokenizer) {
  Completion completion = *Completion::Create(nullptr, Request(), 3);
  EXPECT_FALSE(completion.Append(Output({1, 2}, FinishReason::kLength)));
  EXPECT_EQ(completion.so_far().text, "");
  EXPECT_EQ(completion.so_far().token_ids.size(), 2U);
  EXPECT_EQ(completion.so_far().index, 3);
}

}  // namespace
}  // namespace quire
