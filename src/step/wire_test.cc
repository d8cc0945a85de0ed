#include "step/wire.h"

#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace quire {
namespace {

using Bytes = std::vector<std::uint8_t>;

Bytes Encode(const StepPlan& plan) {
  Bytes bytes;
  EncodePlan(plan, bytes);
  return bytes;
}

Bytes Encode(const StepResult& result) {
  Bytes bytes;
  EncodeResult(result, bytes);
  return bytes;
}

SamplingParams FullSampling() {
  SamplingParams sampling;
  sampling.temperature = 0.1 + 0.2;
  sampling.seed = std::numeric_limits<std::uint64_t>::max();
  sampling.stop = {"", "end", std::string("a\0b", 3)};
  sampling.stop_token_ids = {1, -1};
  sampling.ignore_eos = true;
  sampling.max_tokens.reset();
  sampling.logprobs = kAllLogprobs;
  sampling.prompt_logprobs = 0;
  sampling.logprob_token_ids = {4};
  sampling.detokenize = false;
  sampling.logit_bias = {{3, -0.0F}, {5, 100.0F}};
  sampling.allowed_token_ids = std::vector<TokenId>{};
  sampling.bad_words = {"x"};
  sampling.bad_words_ids = {{}, {1, 2}};
  sampling.truncate_prompt_tokens = -1;
  sampling.output_kind = OutputKind::kFinalOnly;
  return sampling;
}

StepPlan FullPlan() {
  StepPlan plan;
  plan.step_id = 1ULL << 60;
  NewRequestData data;
  data.id = RequestId(1LL << 40);
  data.tokens = {1, 2, 3};
  data.num_prompt_tokens = 2;
  data.sampling = FullSampling();
  data.eos_token_ids = {2};
  data.seed = 99;
  data.blocks = {{BlockId(1), BlockId(2)}, {BlockId(0)}};
  plan.new_requests = {data, NewRequestData()};
  ScheduledRow row;
  row.id = data.id;
  row.num_computed_tokens = 7;
  row.num_new_tokens = 3;
  row.draft_tokens = {8, 9};
  row.new_blocks = {{BlockId(5)}, {}};
  row.samples = true;
  row.grammar_row = 0;
  row.forced_token = 77;
  plan.rows = {row, ScheduledRow()};
  plan.finished = {RequestId(3)};
  plan.num_tokens = 3;
  return plan;
}

StepResult FullResult() {
  StepResult result;
  result.step_id = 5;
  RowResult row;
  row.id = RequestId(4);
  row.tokens = {1, 2};
  row.logprobs = {{{{1, -0.5F, 1}, {2, -std::numeric_limits<float>::infinity(), 2}}}, {}};
  row.prompt_logprobs = {{}, {{{7, std::numeric_limits<float>::quiet_NaN(), 0}}}};
  row.draft_tokens = {3};
  RowResult failed;
  failed.error = ResourceExhausted("no room");
  result.rows = {row, failed};
  return result;
}

TEST(StepWire, APlanComesBackAsItWas) {
  const StepPlan plan = FullPlan();
  StepPlan decoded;
  ASSERT_TRUE(DecodePlan(Encode(plan), decoded).ok());
  EXPECT_EQ(Encode(decoded), Encode(plan));
  ASSERT_EQ(decoded.new_requests.size(), 2U);
  const NewRequestData& data = decoded.new_requests[0];
  EXPECT_EQ(data.tokens, (std::vector<TokenId>{1, 2, 3}));
  EXPECT_EQ(data.blocks, plan.new_requests[0].blocks);
  EXPECT_EQ(data.sampling.stop, FullSampling().stop);
  EXPECT_EQ(data.sampling.temperature, 0.1 + 0.2);
  EXPECT_EQ(data.sampling.max_tokens, std::nullopt);
  EXPECT_EQ(data.sampling.allowed_token_ids, std::vector<TokenId>{});
  EXPECT_EQ(decoded.rows[0].draft_tokens, (std::vector<TokenId>{8, 9}));
  EXPECT_TRUE(decoded.rows[0].samples);
  EXPECT_EQ(decoded.rows[1].grammar_row, -1);
  EXPECT_EQ(decoded.rows[0].forced_token, 77);
  EXPECT_EQ(decoded.rows[1].forced_token, -1);
  EXPECT_EQ(decoded.finished, plan.finished);
}

TEST(StepWire, AResultComesBackAsItWas) {
  StepResult decoded;
  ASSERT_TRUE(DecodeResult(Encode(FullResult()), decoded).ok());
  EXPECT_EQ(Encode(decoded), Encode(FullResult()));
  EXPECT_EQ(decoded.rows[0].logprobs[0].entries[1].rank, 2);
  EXPECT_EQ(decoded.rows[1].error.code(), Code::kResourceExhausted);
  EXPECT_EQ(decoded.rows[1].error.message(), "no room");
  EXPECT_TRUE(decoded.rows[0].error.ok());
}

TEST(StepWire, MasksComeBackAsTheyWere) {
  const StepMasks masks = {.step_id = 5, .words = {0xFFFFFFFF, 1, 0}};
  Bytes bytes;
  EncodeMasks(masks, bytes);
  StepMasks decoded = {.words = std::vector<std::uint32_t>(9)};
  ASSERT_TRUE(DecodeMasks(bytes, decoded).ok());
  EXPECT_EQ(decoded.step_id, 5U);
  EXPECT_EQ(decoded.words, masks.words);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeMasks(std::span(bytes).first(size), decoded).code(), Code::kDataLoss);
  }
}

// The example of docs/wire.md.
TEST(StepWire, HasTheDocumentedBytes) {
  StepPlan plan;
  plan.step_id = 258;
  ScheduledRow& row = plan.rows.emplace_back();
  row.id = RequestId(3);
  row.num_computed_tokens = 16;
  row.num_new_tokens = 1;
  row.new_blocks = {{BlockId(9)}};
  row.samples = true;
  plan.num_tokens = 1;
  const Bytes expected = {
      'Q', 'S', 'P', '3',                          // kind and version
      2,   1,   0,   0,   0, 0, 0, 0,              // step_id
      0,   0,   0,   0,                            // no new requests
      1,   0,   0,   0,                            // one row:
      3,   0,   0,   0,   0, 0, 0, 0,              //   id
      16,  0,   0,   0,                            //   num_computed_tokens
      1,   0,   0,   0,                            //   num_new_tokens
      0,   0,   0,   0,                            //   no drafts
      1,   0,   0,   0,   1, 0, 0, 0, 9, 0, 0, 0,  //   one group of one block, number 9
      1,                                           //   samples
      255, 255, 255, 255,                          //   grammar_row
      255, 255, 255, 255,                          //   forced_token
      0,   0,   0,   0,                            // none finished
      1,   0,   0,   0,                            // num_tokens
  };
  EXPECT_EQ(Encode(plan), expected);
}

TEST(StepWire, DecodingIntoAnOlderMessageLeavesNothingOfIt) {
  StepPlan decoded = FullPlan();
  StepPlan small;
  small.rows.resize(1);
  ASSERT_TRUE(DecodePlan(Encode(small), decoded).ok());
  EXPECT_EQ(Encode(decoded), Encode(small));
}

TEST(StepWire, EveryCutOffMessageIsRefused) {
  const Bytes plan = Encode(FullPlan());
  const Bytes result = Encode(FullResult());
  StepPlan decoded_plan;
  StepResult decoded_result;
  for (std::size_t size = 0; size < plan.size(); ++size) {
    EXPECT_EQ(DecodePlan(std::span(plan).first(size), decoded_plan).code(), Code::kDataLoss);
  }
  for (std::size_t size = 0; size < result.size(); ++size) {
    EXPECT_EQ(DecodeResult(std::span(result).first(size), decoded_result).code(), Code::kDataLoss);
  }
}

TEST(StepWire, BytesAfterTheEndAndOtherKindsAreRefused) {
  Bytes bytes = Encode(FullPlan());
  StepPlan plan;
  StepResult result;
  EXPECT_FALSE(DecodeResult(bytes, result).ok());
  bytes.push_back(0);
  EXPECT_FALSE(DecodePlan(bytes, plan).ok());
}

TEST(StepWire, CountsWithoutBytesCostNothing) {
  Bytes bytes = Encode(StepPlan());
  for (std::size_t at = 12; at < bytes.size(); at += 4) {
    Bytes hostile = bytes;
    for (std::size_t i = 0; i < 4; ++i) hostile[at + i] = 0xFF;
    StepPlan plan;
    const Status status = DecodePlan(hostile, plan);
    EXPECT_EQ(status.ok(), at + 4 == bytes.size()) << at;  // the last four are num_tokens
    EXPECT_TRUE(plan.rows.empty());
  }
}

// Whatever is accepted means something: it encodes to the very same bytes.
TEST(StepWire, DamagedMessagesAreRefusedOrMeanWhatTheySay) {
  const Bytes plan_bytes = Encode(FullPlan());
  const Bytes result_bytes = Encode(FullResult());
  std::mt19937 random(1);
  StepPlan plan;
  StepResult result;
  for (int i = 0; i < 20000; ++i) {
    Bytes bytes = i % 2 == 0 ? plan_bytes : result_bytes;
    for (unsigned flips = random() % 3 + 1; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<std::uint8_t>(1U << random() % 8);
    }
    const bool is_plan = DecodePlan(bytes, plan).ok();
    const bool is_result = DecodeResult(bytes, result).ok();
    EXPECT_TRUE(!is_plan || Encode(plan) == bytes);
    EXPECT_TRUE(!is_result || Encode(result) == bytes);
  }
}

}  // namespace
}  // namespace quire
