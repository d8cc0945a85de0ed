// Small random models of each family against what their published implementation computes.
#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "golden/gguf_copy.h"
#include "golden/reference.h"
#include "golden/rig.h"
#include "model/testing.h"

namespace quire::golden {
namespace {

struct TinyModel {
  std::string name;
  std::string overrides = "null";
  // The longest prompt that the reference computes as the overridden config says.
  std::size_t max_prompt = 1000;
};

void PrintTo(const TinyModel& model, std::ostream* out) { *out << model.name; }

class TinyModelTest : public ::testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    path_ = TinyModelPath(GetParam().name);
    if (path_.empty()) GTEST_SKIP() << "models-tiny/" << GetParam().name << " is absent";
    Result<Reference> reference = ReadReference(path_);
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    reference_ = *std::move(reference);
    std::erase_if(reference_.prompts, [&](const ReferencePrompt& prompt) {
      return prompt.ids.size() > GetParam().max_prompt;
    });
    rig_ = MakeRig({});
    ASSERT_NE(rig_, nullptr);
  }

  std::unique_ptr<Rig> MakeRig(RigOptions options) const {
    if (options.overrides.is_null()) {
      options.overrides = ParseJson(GetParam().overrides).value();
    }
    Result<std::unique_ptr<Rig>> rig = Rig::Create(path_, options);
    EXPECT_TRUE(rig.ok()) << rig.status().message();
    return rig.ok() ? *std::move(rig) : nullptr;
  }

  double Tolerance() const {
    return std::max(2e-4, 20.0 * reference_.json.Find("noise")->Find("f64_max")->number());
  }

  // Infinite where a value is no number.
  static double LargestDistance(const Rows& a, const Rows& b) {
    double largest = 0.0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
      const double distance = std::abs(double{a.values[i]} - b.values[i]);
      largest = std::isnan(distance) ? INFINITY : std::max(largest, distance);
    }
    return largest;
  }

  void ExpectNear(const Rows& rows, const std::string& tensor) const {
    const Rows& expected = reference_.tensors.at(tensor);
    ASSERT_EQ(rows.values.size(), expected.values.size()) << tensor;
    EXPECT_LE(LargestDistance(rows, expected), Tolerance()) << tensor;
  }

  const ReferencePrompt& LongestPrompt() const {
    return *std::max_element(
        reference_.prompts.begin(), reference_.prompts.end(),
        [](const auto& a, const auto& b) { return a.ids.size() < b.ids.size(); });
  }

  // Prompt and greedy continuation but its last token: what is in the cache at the end.
  static std::vector<TokenId> WholeText(const ReferencePrompt& prompt) {
    std::vector<TokenId> tokens = prompt.ids;
    tokens.insert(tokens.end(), prompt.greedy.begin(), prompt.greedy.end() - 1);
    return tokens;
  }

  StepOutput RunAlone(Rig& rig, std::span<const TokenId> tokens, std::int64_t chunk = 0) const {
    Sequence sequence = rig.NewSequence();
    StepOutput out = rig.Run(sequence, tokens, chunk);
    rig.Free(sequence);
    return out;
  }

  std::string path_;
  Reference reference_;
  std::unique_ptr<Rig> rig_;
};

TEST_P(TinyModelTest, LogitsOfEveryPromptPositionAreTheReferences) {
  for (const ReferencePrompt& prompt : reference_.prompts) {
    ExpectNear(RunAlone(*rig_, prompt.ids).logits, "logits." + prompt.name);
  }
}

TEST_P(TinyModelTest, TheHiddenStatesAreTheReferences) {
  const std::string name = reference_.json.Find("hidden_prompt")->string();
  for (const ReferencePrompt& prompt : reference_.prompts) {
    if (prompt.name == name) ExpectNear(RunAlone(*rig_, prompt.ids).hidden, "hidden." + name);
  }
}

TEST_P(TinyModelTest, GreedyDecodingTakesTheReferencesTokens) {
  for (const ReferencePrompt& prompt : reference_.prompts) {
    Sequence sequence = rig_->NewSequence();
    StepOutput out = rig_->Run(sequence, prompt.ids);
    Rows steps;
    std::vector<TokenId> tokens;
    while (tokens.size() < prompt.greedy.size()) {
      const std::span<const float> last = out.logits[out.logits.count() - 1];
      steps.Append({out.logits.cols, {last.begin(), last.end()}});
      tokens.push_back(BestToken(last));
      const Chunk next{&sequence, {&tokens.back(), 1}};
      out = rig_->Step({&next, 1});
    }
    EXPECT_EQ(tokens, prompt.greedy) << prompt.name;
    const std::string tensor = "decode_logits." + prompt.name;
    if (reference_.tensors.count(tensor) != 0) ExpectNear(steps, tensor);
    rig_->Free(sequence);
  }
}

TEST_P(TinyModelTest, ChunksOfAnySizeGiveTheSameBits) {
  const ReferencePrompt& longest = LongestPrompt();
  for (const ReferencePrompt& prompt : reference_.prompts) {
    const std::vector<TokenId> tokens = WholeText(prompt);
    const StepOutput whole = RunAlone(*rig_, tokens);
    const bool is_longest = &prompt == &longest;
    for (const std::int64_t chunk :
         is_longest ? std::vector<std::int64_t>{1, 7, 16, 100} : std::vector<std::int64_t>{7}) {
      const StepOutput cut = RunAlone(*rig_, tokens, chunk);
      EXPECT_EQ(whole.logits.values, cut.logits.values) << prompt.name << " by " << chunk;
    }
  }
}

TEST_P(TinyModelTest, WantedRowsHaveTheBitsThatTheyHaveAmongAll) {
  const std::vector<TokenId> tokens = WholeText(LongestPrompt());
  const auto rows = static_cast<std::int32_t>(tokens.size());
  const StepOutput all = RunAlone(*rig_, tokens);
  // Of two requests of the same text the last so many rows.
  for (const auto& [of_first, of_second] : std::vector<std::pair<std::int32_t, std::int32_t>>{
           {1, 1}, {0, 1}, {3, 0}, {1, 3}, {rows, 2}, {0, 0}}) {
    std::vector<std::int32_t> wanted;
    for (std::int32_t row = rows - of_first; row < rows; ++row) wanted.push_back(row);
    for (std::int32_t row = rows - of_second; row < rows; ++row) wanted.push_back(rows + row);
    Sequence first = rig_->NewSequence(), second = rig_->NewSequence();
    const Chunk chunks[] = {{&first, tokens}, {&second, tokens}};
    const StepOutput out = rig_->Step(chunks, wanted);
    for (const std::int32_t row : wanted) {
      EXPECT_TRUE(std::ranges::equal(all.logits[row % rows], out.logits[row])) << row;
    }
    rig_->Free(first);
    rig_->Free(second);
  }
}

TEST_P(TinyModelTest, ABatchGivesTheBitsOfEachRequestAlone) {
  std::vector<Sequence> sequences(reference_.prompts.size(), rig_->NewSequence());
  std::vector<Rows> alone;
  for (const ReferencePrompt& prompt : reference_.prompts) {
    alone.push_back(RunAlone(*rig_, WholeText(prompt)).logits);
  }
  std::vector<std::vector<TokenId>> texts;
  for (const ReferencePrompt& prompt : reference_.prompts) texts.push_back(WholeText(prompt));
  // Each request takes a number of tokens of its own a step, so prompts and decodes mix.
  bool is_done = false;
  while (!is_done) {
    std::vector<Chunk> chunks;
    std::vector<std::size_t> owners;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::size_t done = static_cast<std::size_t>(sequences[i].num_tokens);
      const std::size_t count = std::min(i * 5 + 1, texts[i].size() - done);
      if (count == 0) continue;
      chunks.push_back({&sequences[i], std::span(texts[i]).subspan(done, count)});
      owners.push_back(i);
    }
    is_done = chunks.empty();
    if (is_done) break;
    std::vector<std::int64_t> starts;
    for (const Chunk& chunk : chunks) starts.push_back(chunk.sequence->num_tokens);
    const StepOutput out = rig_->Step(chunks);
    std::int64_t row = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
      for (std::size_t i = 0; i < chunks[c].tokens.size(); ++i, ++row) {
        const auto expected = alone[owners[c]][starts[c] + static_cast<std::int64_t>(i)];
        const auto actual = out.logits[row];
        ASSERT_TRUE(std::equal(expected.begin(), expected.end(), actual.begin()))
            << reference_.prompts[owners[c]].name << " position "
            << starts[c] + static_cast<std::int64_t>(i);
      }
    }
  }
}

TEST_P(TinyModelTest, AnyNumberOfThreadsGivesTheSameBits) {
  const ReferencePrompt& prompt =
      *std::max_element(reference_.prompts.begin(), reference_.prompts.end(),
                        [](const auto& a, const auto& b) { return a.ids.size() < b.ids.size(); });
  const StepOutput expected = RunAlone(*rig_, prompt.ids);
  for (const int num_threads : {2, 3}) {
    const std::unique_ptr<Rig> rig = MakeRig({.num_threads = num_threads});
    EXPECT_EQ(expected.logits.values, RunAlone(*rig, prompt.ids).logits.values) << num_threads;
    EXPECT_EQ(expected.logits.values, RunAlone(*rig, prompt.ids, 7).logits.values) << num_threads;
  }
}

TEST_P(TinyModelTest, AnyBlockSizeStaysWithinTheTolerance) {
  for (const int block_size : {8, 32, 64}) {
    const std::unique_ptr<Rig> rig = MakeRig({.block_size = block_size});
    for (const ReferencePrompt& prompt : reference_.prompts) {
      ExpectNear(RunAlone(*rig, prompt.ids, 13).logits, "logits." + prompt.name);
    }
  }
}

// The reference records how far the logits of its longest prompt move when a field is changed.
TEST_P(TinyModelTest, EveryFieldThatMattersMovesTheLogitsAsFarAsInTheReference) {
  if (GetParam().overrides != "null") return;  // the reference's base config is another
  const ReferencePrompt& prompt = LongestPrompt();
  const Rows& base = reference_.tensors.at("logits." + prompt.name);
  for (const Json& change : reference_.json.Find("sensitivity")->array()) {
    const std::unique_ptr<Rig> rig = MakeRig({.overrides = *change.Find("override")});
    ASSERT_NE(rig, nullptr);
    const StepOutput out = RunAlone(*rig, prompt.ids);
    EXPECT_NEAR(LargestDistance(out.logits, base), change.Find("max_abs_logit_change")->number(),
                Tolerance())
        << change.Find("override")->Dump();
  }
}

// A cache of 16-bit values costs precision but must not change what the model says.
TEST_P(TinyModelTest, SmallerCacheTypesStayNear) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    const std::unique_ptr<Rig> rig = MakeRig({.kv_dtype = dtype});
    for (const ReferencePrompt& prompt : reference_.prompts) {
      const Rows& expected = reference_.tensors.at("logits." + prompt.name);
      const StepOutput out = RunAlone(*rig, prompt.ids);
      double sum = 0.0;
      for (std::size_t i = 0; i < expected.values.size(); ++i) {
        sum += std::abs(double{out.logits.values[i]} - expected.values[i]);
      }
      const double bound = reference_.json.Find("noise")->Find("bf16_mean")->number();
      EXPECT_LE(sum / static_cast<double>(expected.values.size()), bound)
          << ToString(dtype) << " " << prompt.name;
    }
  }
}

// The same weights as GGUF: other names, other order of q's and k's rows, metadata for config.json.
TEST_P(TinyModelTest, AGgufOfItGivesTheReferencesLogits) {
  // What GGUF metadata cannot say: a window of some layers only.
  const ModelConfig& config = rig_->model().config();
  const std::vector<std::int64_t>& windows = config.layer_windows;
  if (std::adjacent_find(windows.begin(), windows.end(), std::not_equal_to<>()) != windows.end() ||
      config.rope.scaling == RopeScaling::kDynamic) {
    return;
  }
  const auto checkpoint = Checkpoint::Open(path_, {});
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status().message();
  for (const bool is_split : {false, true}) {
    const TempFolder folder;
    const auto path = WriteGgufCopy(**checkpoint, config, folder.Path(), is_split);
    ASSERT_TRUE(path.ok()) << path.status().message();
    const Result<std::unique_ptr<Rig>> rig = Rig::Create(*path, {});
    ASSERT_TRUE(rig.ok()) << rig.status().message();
    for (const ReferencePrompt& prompt : reference_.prompts) {
      ExpectNear(RunAlone(**rig, prompt.ids).logits, "logits." + prompt.name);
    }
  }
}

// The reference of llama-rope-dynamic changes its base with the length of a pass, which no paged
// cache can follow; up to max_position_embeddings it turns as if there were no scaling.
const TinyModel kModels[] = {
    {"granite"},
    {"llama-bias-mqa"},
    {"llama-config-v5"},
    {"llama-gqa-untied"},
    {"llama-headdim-f16"},
    {"llama-mha-tied-f32"},
    {"llama-rope-dynamic", R"({"rope_scaling": null})", 33},
    {"llama-rope-dynamic-fixed"},
    {"llama-rope-linear"},
    {"llama-rope-llama3"},
    {"llama-rope-yarn"},
    {"llama-sharded"},
    {"mistral-window"},
    {"phi3"},
    {"qwen2-tied"},
    {"qwen2-window"},
    {"qwen3"},
    {"smollm3"},
};

std::string CaseName(const ::testing::TestParamInfo<TinyModel>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Models, TinyModelTest, ::testing::ValuesIn(kModels), CaseName);

}  // namespace
}  // namespace quire::golden
