// Single normalizers, pre-tokenizers and decoders of the reference data.
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/decode_stages.h"
#include "tokenizer/decoders.h"
#include "tokenizer/normalizers.h"
#include "tokenizer/pre_tokenizers.h"
#include "tokenizer/testing.h"

namespace quire {
namespace {

std::vector<Json> Rows(const std::string& name) {
  const auto data = testing::ReferenceData();
  return data.empty() ? std::vector<Json>()
                      : testing::ReadJsonLines(data / "tokenizers" / "components" / name);
}

TEST(GoldenComponents, NormalizersGiveTheOriginalsTexts) {
  const std::vector<Json> rows = Rows("normalizers.jsonl");
  if (rows.empty()) GTEST_SKIP() << "the reference components are absent";
  for (const Json& row : rows) {
    const auto normalizer = MakeNormalizer(*row.Find("config"));
    ASSERT_TRUE(normalizer.ok()) << row.Find("config")->Dump() << normalizer.status().message();
    std::string text = row.Find("in")->string();
    ASSERT_TRUE((*normalizer)->Apply(text).ok());
    EXPECT_EQ(Printable(text, 200), Printable(row.Find("out")->string(), 200))
        << row.Find("config")->Dump() << " of " << Printable(row.Find("in")->string(), 200);
  }
}

TEST(GoldenComponents, PreTokenizersGiveTheOriginalsPieces) {
  const std::vector<Json> rows = Rows("pre_tokenizers.jsonl");
  if (rows.empty()) GTEST_SKIP() << "the reference components are absent";
  for (const Json& row : rows) {
    const auto pre_tokenizer = MakePreTokenizer(*row.Find("config"));
    ASSERT_TRUE(pre_tokenizer.ok())
        << row.Find("config")->Dump() << pre_tokenizer.status().message();
    for (const Json& one : row.Find("cases")->array()) {
      Pieces pieces;
      pieces.Reset(one.Find("in")->string(), true);
      ASSERT_TRUE((*pre_tokenizer)->Apply(pieces).ok());
      std::string got, wanted;
      for (const Piece& piece : pieces.list) got += StrCat("[", pieces.View(piece), "]");
      for (const Json& piece : one.Find("out")->array()) {
        wanted += StrCat("[", piece.array()[0].string(), "]");
      }
      EXPECT_EQ(Printable(got, 300), Printable(wanted, 300))
          << row.Find("config")->Dump() << " of " << Printable(one.Find("in")->string(), 200);
    }
  }
}

class Gather final : public DecodeStage {
 public:
  void Push(const TokenPart& part) override { text += part.text; }
  void Finish() override {}
  std::string text;
};

TEST(GoldenComponents, DecodersGiveTheOriginalsTexts) {
  const std::vector<Json> rows = Rows("decoders.jsonl");
  if (rows.empty()) GTEST_SKIP() << "the reference components are absent";
  for (const Json& row : rows) {
    const auto chain = MakeDecoder(*row.Find("config"));
    ASSERT_TRUE(chain.ok()) << row.Find("config")->Dump() << chain.status().message();
    std::vector<std::unique_ptr<DecodeStage>> stages;
    auto gather = std::make_unique<Gather>();
    const Gather& out = *gather;
    stages.push_back(std::move(gather));
    for (auto step = chain->steps.rbegin(); step != chain->steps.rend(); ++step) {
      (*step)->MakeStages(stages, false);
    }
    for (const Json& token : row.Find("in")->array()) stages.back()->Push({token.string()});
    stages.back()->Finish();
    if (row.Find("out")->is_null()) continue;  // the original fails; this one must only not crash
    EXPECT_EQ(Printable(out.text, 200), Printable(row.Find("out")->string(), 200))
        << row.Find("config")->Dump() << " of " << row.Find("in")->Dump();
  }
}

}  // namespace
}  // namespace quire
