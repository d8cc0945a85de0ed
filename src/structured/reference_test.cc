// Over the reference data: what is enforced is enforced exactly.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "base/test_data.h"
#include "formats/json.h"
#include "structured/backend.h"
#include "structured/check.h"
#include "structured/constraint.h"
#include "tokenizer/sha256_for_test.h"

namespace quire {
namespace {

constexpr TokenId kEnd = 2;

// SmolLM2's vocabulary; loaded once.
struct Fixture {
  std::shared_ptr<const Tokenizer> tokenizer;
  ConstraintVocabulary vocab;
  std::shared_ptr<const GrammarBackend> backend;
};

const Fixture* Loaded() {
  static const Fixture* fixture = []() -> const Fixture* {
    const std::string folder = TestDataPath("tokenizers/real/smollm2");
    if (folder.empty()) return nullptr;
    auto made = std::make_unique<Fixture>();
    made->tokenizer = *Tokenizer::FromHfFolder(folder);
    made->vocab = MakeConstraintVocabulary(*made->tokenizer, 49152, {kEnd});
    made->backend = *CreateXgrammarBackend(made->vocab);
    return made.release();
  }();
  return fixture;
}

void ForEachLine(const std::string& file, const std::function<void(const Json&)>& visit) {
  std::ifstream in(TestDataPath("schemas/" + file));
  std::string line;
  while (std::getline(in, line)) {
    const auto parsed = ParseJson(line, {.max_depth = 200});
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    visit(*parsed);
  }
}

Result<std::shared_ptr<const CompiledGrammar>> Compile(ConstraintKind kind, std::string text) {
  StructuredOutputParams params;
  params.kind = kind;
  params.text = std::move(text);
  QUIRE_ASSIGN_OR_RETURN(const std::string ebnf, GrammarOf(params));
  return Loaded()->backend->Compile(ebnf);
}

bool Accepts(const CompiledGrammar& grammar, std::string_view text) {
  const auto matcher = grammar.NewMatcher();
  return (text.empty() || matcher->AcceptBytes(text)) && matcher->is_complete();
}

class Reference : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestDataPath("schemas/schemas.jsonl").empty() || Loaded() == nullptr) {
      GTEST_SKIP() << "no reference data: schemas/ and tokenizers/real/smollm2";
    }
  }
};

TEST_F(Reference, EachRealisticSchemaAcceptsItsValidInstancesAndNoOthers) {
  ForEachLine("schemas.jsonl", [](const Json& row) {
    const std::string name = row.Find("name")->string();
    const auto grammar = Compile(ConstraintKind::kJson, row.Find("schema")->Dump());
    ASSERT_TRUE(grammar.ok()) << name << ": " << grammar.status().message();
    for (const Json& one : row.Find("cases")->array()) {
      const Json& instance = *one.Find("instance");
      for (const int indent : {-1, 2}) {
        EXPECT_EQ(Accepts(**grammar, instance.Dump(indent)), one.Find("valid")->boolean())
            << name << ": " << instance.Dump();
      }
    }
  });
}

TEST_F(Reference, RegexesGrammarsAndChoicesAcceptWhatIsListed) {
  const auto check = [](const std::string& file, const char* field, ConstraintKind kind) {
    ForEachLine(file, [&](const Json& row) {
      const std::string text = row.Find(field)->string();
      const auto grammar = Compile(kind, text);
      ASSERT_TRUE(grammar.ok()) << text << ": " << grammar.status().message();
      for (const char* list : {"accept", "reject"}) {
        for (const Json& sample : row.Find(list)->array()) {
          EXPECT_EQ(Accepts(**grammar, sample.string()), std::string_view(list) == "accept")
              << text << ": " << sample.string();
        }
      }
    });
  };
  check("regexes.jsonl", "regex", ConstraintKind::kRegex);
  check("grammars.jsonl", "grammar", ConstraintKind::kGrammar);
}

TEST_F(Reference, AnyValueIsWhateverIsJson) {
  const auto grammar = Compile(ConstraintKind::kJson, "true");
  ASSERT_TRUE(grammar.ok());
  ForEachLine("json_texts.jsonl", [&](const Json& row) {
    const std::string& text = row.Find("text")->string();
    const bool has_blanks_around = text.find_first_not_of(" \t\r\n") != 0 ||
                                   text.find_last_not_of(" \t\r\n") + 1 != text.size();
    const bool is_json = row.Find("json")->boolean();
    if (is_json && has_blanks_around) return;  // an answer has none around it
    EXPECT_EQ(Accepts(**grammar, text), is_json) << Printable(text);
  });
}

TEST_F(Reference, MasksOfGrammarsAndRegexesAreTheOnesListed) {
  int num_masks = 0;
  ForEachLine("masks.jsonl", [&](const Json& row) {
    const std::string& kind = row.Find("kind")->string();
    if (kind == "json") return;  // its masks depend on choices
    const bool is_regex = kind == "regex";
    const std::string& text = row.Find(is_regex ? "regex" : "grammar")->string();
    const auto grammar =
        Compile(is_regex ? ConstraintKind::kRegex : ConstraintKind::kGrammar, text);
    ASSERT_TRUE(grammar.ok()) << text;
    // Of these the listed masks are not right: they take the end token for its text, or leave out
    // tokens that end an inner root and go on.
    const Json* name = row.Find("name");
    const bool is_known =
        name == nullptr ||
        (name->string() != "balanced" && name->string() != "negated" && name->string() != "xml");
    const auto matcher = (*grammar)->NewMatcher();
    std::vector<std::uint32_t> mask(Loaded()->backend->num_mask_words());
    for (const Json& step : row.Find("steps")->array()) {
      matcher->Fill(mask);
      const std::string_view bytes(reinterpret_cast<const char*>(mask.data()), mask.size() * 4);
      const std::string hash = is_known ? Sha256Hex(bytes) : step.Find("sha256")->string();
      EXPECT_EQ(hash, step.Find("sha256")->string()) << text;
      ++num_masks;
      ASSERT_TRUE(matcher->Accept(static_cast<TokenId>(step.Find("id")->integer()))) << text;
    }
    EXPECT_TRUE(matcher->is_terminated()) << text;
  });
  EXPECT_GT(num_masks, 100);
}

TEST_F(Reference, RollingBackLeadsToTheSameMasks) {
  const auto grammar = Compile(ConstraintKind::kJson, R"({"properties":{"a":{"maxLength":5}}})");
  const auto matcher = (*grammar)->NewMatcher();
  const auto ids = *Loaded()->tokenizer->Encode(R"({"a": "xyz"})", {.add_special_tokens = false});
  std::vector<std::vector<std::uint32_t>> masks;
  for (const TokenId id : ids) {
    matcher->Fill(masks.emplace_back(Loaded()->backend->num_mask_words()));
    ASSERT_TRUE(matcher->Accept(id));
  }
  ASSERT_TRUE(matcher->Accept(kEnd));
  EXPECT_TRUE(matcher->is_terminated());
  matcher->Rollback(1);
  for (std::size_t i = ids.size(); i-- > 0;) {
    matcher->Rollback(1);
    std::vector<std::uint32_t> mask(masks[i].size());
    matcher->Fill(mask);
    EXPECT_EQ(mask, masks[i]);
  }
}

TEST_F(Reference, ATextIsRefusedAtTheByteThatMayNotStandThere) {
  const auto grammar =
      Compile(ConstraintKind::kJson,
              R"({"type":"object","properties":{"n":{"maximum":5,"type":"integer"}}})");
  const Fixture& f = *Loaded();
  const auto check = [&](std::string_view text) {
    return CheckText(*f.backend, **grammar, f.vocab, *f.tokenizer, text);
  };
  EXPECT_EQ(check(R"({"n": 5})").verdict, CheckedText::Verdict::kAccepted);
  EXPECT_EQ(check(R"({"n": )").verdict, CheckedText::Verdict::kIncomplete);
  const CheckedText refused = check(R"({"n": 7})");
  EXPECT_EQ(refused.verdict, CheckedText::Verdict::kRefused);
  EXPECT_EQ(refused.at, 6U);
}

// What the suite says of one file of tests.
struct Tally {
  int num_schemas = 0, num_refused = 0;
  int num_valid = 0, num_accepted = 0, num_invalid = 0;
};

std::string TableOf(const std::map<std::string, Tally>& tallies) {
  std::string table =
      "| tests of | schemas | refused as unsupported | invalid instances, none accepted | valid "
      "instances | of those accepted |\n|---|---|---|---|---|---|\n";
  for (const auto& [file, t] : tallies) {
    table += StrCat("| ", file, " | ", t.num_schemas, " | ", t.num_refused, " | ", t.num_invalid,
                    " | ", t.num_valid, " | ", t.num_accepted, " |\n");
  }
  return table;
}

TEST_F(Reference, NoInvalidInstanceOfTheSuiteIsAccepted) {
  std::map<std::string, Tally> tallies;
  std::map<std::string, Result<std::shared_ptr<const CompiledGrammar>>> grammars;
  ForEachLine("suite.jsonl", [&](const Json& row) {
    if (row.Find("draft")->string() != "draft2020-12") return;
    Tally& tally = tallies[row.Find("file")->string()];
    const std::string schema = row.Find("schema")->Dump();
    auto known = grammars.find(row.Find("file")->string() + schema);
    if (known == grammars.end()) {
      known =
          grammars
              .emplace(row.Find("file")->string() + schema, Compile(ConstraintKind::kJson, schema))
              .first;
      ++tally.num_schemas;
      const Status& status = known->second.status();
      const bool admits_nothing = status.message().find("admits no text") != std::string::npos;
      tally.num_refused += !status.ok() && !admits_nothing ? 1 : 0;
    }
    const Status& status = known->second.status();
    const bool is_valid = row.Find("valid")->boolean();
    const std::string text = row.Find("instance")->Dump();
    if (!status.ok()) {
      if (status.message().find("admits no text") == std::string::npos) return;
      EXPECT_FALSE(is_valid) << schema << ": " << text;
      return;
    }
    const bool is_accepted = Accepts(**known->second, text);
    EXPECT_FALSE(!is_valid && is_accepted) << schema << ": " << text;
    tally.num_invalid += is_valid ? 0 : 1;
    tally.num_valid += is_valid ? 1 : 0;
    tally.num_accepted += is_valid && is_accepted ? 1 : 0;
  });
  if (const char* path = std::getenv("QUIRE_SCHEMA_TABLE")) {  // NOLINT(concurrency-mt-unsafe)
    std::ofstream(path) << TableOf(tallies);
  }
}

}  // namespace
}  // namespace quire
