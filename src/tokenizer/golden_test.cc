// Every tokenizer of the reference data over the whole corpus: ids, decoded texts, deltas.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/sha256_for_test.h"
#include "tokenizer/testing.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace quire {
namespace {

namespace fs = std::filesystem;
using testing::Ids;
using testing::ReadJsonLines;
using testing::ReadText;

constexpr int kMaxShown = 4;  // failures printed of each kind and tokenizer

fs::path Root() {
  const fs::path data = testing::ReferenceData();
  return data.empty() ? data : data / "tokenizers";
}

std::string Brief(std::string_view text) { return Printable(text, 100); }

std::string Brief(const std::vector<TokenId>& ids) {
  std::string out = StrCat(ids.size(), " ids [");
  for (std::size_t i = 0; i < ids.size() && i < 24; ++i) out += StrCat(i == 0 ? "" : " ", ids[i]);
  return out + (ids.size() > 24 ? " …]" : "]");
}

std::string Brief(bool value) { return value ? "true" : "false"; }

// Counts checks and prints the first failures of each kind.
class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}
  ~Tally() {
    for (const auto& [kind, count] : failed_) {
      ADD_FAILURE() << name_ << ": " << kind << " differ in " << count << " of " << total_[kind];
    }
  }

  template <typename T>
  void Check(const std::string& kind, const T& expected, const T& got, const std::string& place) {
    ++total_[kind];
    if (expected == got) return;
    if (failed_[kind]++ >= kMaxShown) return;
    std::printf("%s %s %s\n  want %s\n  got  %s\n", name_.c_str(), kind.c_str(), place.c_str(),
                Brief(expected).c_str(), Brief(got).c_str());
  }

  int num_checks() const {
    int sum = 0;
    for (const auto& [kind, count] : total_) sum += count;
    return sum;
  }

 private:
  std::string name_;
  std::map<std::string, int> total_, failed_;
};

std::string HashOfIds(const std::vector<TokenId>& ids) {
  std::string bytes;
  for (const TokenId id : ids) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>(static_cast<std::uint32_t>(id) >> shift & 0xFF);
    }
  }
  return Sha256Hex(bytes);
}

void CheckIds(Tally& tally, const Json& row, const std::string& key,
              const std::vector<TokenId>& got, const std::string& place) {
  if (const Json* ids = row.Find(key)) {
    tally.Check(key, Ids(*ids), got, place);
  } else if (const Json* hash = row.Find(key + "_sha256")) {
    tally.Check(key, hash->string(), HashOfIds(got), place);
  }
}

// The text that a row gives, or `fallback` where it gives none; longer ones are given by hash.
void CheckText(Tally& tally, const Json& row, const std::string& key, const std::string& got,
               const std::string& fallback, const std::string& place) {
  if (const Json* hash = row.Find(key + "_sha256")) {
    tally.Check(key, hash->string(), Sha256Hex(got), place);
    return;
  }
  const Json* text = row.Find(key);
  tally.Check(key, text == nullptr ? fallback : text->string(), got, place);
}

void CheckStream(Tally& tally, const Tokenizer& tokenizer, const std::vector<TokenId>& ids,
                 const Json& row, const std::string& place) {
  IncrementalDetokenizer stream(tokenizer);
  std::vector<std::string> deltas;
  for (const TokenId id : ids) deltas.push_back(stream.Append(id));
  const std::string rest = stream.Finish();
  std::string joined = Join(deltas, "") + rest;
  const Json* exact = row.Find("stream_exact");
  if (exact != nullptr) {
    tally.Check("valid streams", true, IsValidUtf8(joined), place);
    return;
  }
  tally.Check("joined streams", tokenizer.Decode(ids), joined, place);
  const Json* expected = row.Find("deltas");
  if (expected == nullptr) return;
  std::vector<std::string> wanted;
  for (const Json& delta : expected->array()) wanted.push_back(delta.string());
  tally.Check("deltas", Join(wanted, "|"), Join(deltas, "|"), place);
  tally.Check("rest", row.Find("rest")->string(), rest, place);
}

class Corpus {
 public:
  Corpus() : rows_(ReadJsonLines(Root() / "corpus.jsonl")) {}
  const std::string& Text(const Json& row) const {
    return rows_[static_cast<std::size_t>(row.Find("i")->integer())].Find("text")->string();
  }
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<Json> rows_;
};

const Corpus& TheCorpus() {
  static const Corpus* corpus = new Corpus();
  return *corpus;
}

void CheckHfRows(const std::string& name, const Tokenizer& tokenizer, const fs::path& expected) {
  Tally tally(name);
  for (const Json& row : ReadJsonLines(expected)) {
    const std::string& text = TheCorpus().Text(row);
    const std::string place = StrCat("i=", row.Find("i")->integer(), " ", Brief(text));
    const auto plain = tokenizer.Encode(text, {.add_special_tokens = false});
    const auto full = tokenizer.Encode(text);
    if (!plain.ok() || !full.ok()) {
      tally.Check("statuses", std::string("ok"),
                  plain.ok() ? full.status().message() : plain.status().message(), place);
      continue;
    }
    CheckIds(tally, row, "ids", *plain, place);
    const bool has_special = row.Find("ids_special") || row.Find("ids_special_sha256");
    if (has_special) {
      CheckIds(tally, row, "ids_special", *full, place);
    } else {
      tally.Check("ids_special", *plain, *full, place);
    }
    const std::string decoded = tokenizer.Decode(*full);
    CheckText(tally, row, "decoded", decoded, text, place);
    CheckText(tally, row, "decoded_all", tokenizer.Decode(*full, {.skip_special_tokens = false}),
              decoded, place);
    if (full->size() < 5000) CheckStream(tally, tokenizer, *full, row, place);
  }
  EXPECT_GT(tally.num_checks(), 1000) << name;
}

void CheckDecodeRows(const std::string& name, const Tokenizer& tokenizer, const fs::path& path) {
  Tally tally(name + ".decode");
  for (const Json& row : ReadJsonLines(path)) {
    const std::vector<TokenId> ids = Ids(*row.Find("ids"));
    const std::string place = Brief(ids);
    tally.Check("text", row.Find("text")->string(), tokenizer.Decode(ids), place);
    tally.Check("text_all", row.Find("text_all")->string(),
                tokenizer.Decode(ids, {.skip_special_tokens = false}), place);
    CheckStream(tally, tokenizer, ids, row, place);
  }
}

std::vector<std::string> FolderNames(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

#define SKIP_WITHOUT_DATA() \
  if (Root().empty() || TheCorpus().empty()) GTEST_SKIP() << "the reference tokenizers are absent"

TEST(GoldenTokenizers, FoldersWithATokenizerJsonGiveTheOriginalsIdsAndTexts) {
  SKIP_WITHOUT_DATA();
  for (const std::string kind : {"small", "real"}) {
    for (const std::string& name : FolderNames(Root() / kind)) {
      if (!fs::exists(Root() / kind / name / "tokenizer.json")) continue;
      const auto tokenizer = Tokenizer::FromHfFolder((Root() / kind / name).string());
      ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.status().message();
      const fs::path expected = Root() / "expected" / kind;
      CheckHfRows(name, **tokenizer, expected / (name + ".jsonl"));
      CheckDecodeRows(name, **tokenizer, expected / (name + ".decode.jsonl"));
    }
  }
}

void CheckPlainRows(const std::string& name, const Tokenizer& tokenizer, const fs::path& expected) {
  Tally tally(name);
  for (const Json& row : ReadJsonLines(expected)) {
    const std::string& text = TheCorpus().Text(row);
    const std::string place = StrCat("i=", row.Find("i")->integer(), " ", Brief(text));
    const auto plain =
        tokenizer.Encode(text, {.add_special_tokens = false, .parse_special = false});
    ASSERT_TRUE(plain.ok()) << name << " " << place << ": " << plain.status().message();
    CheckIds(tally, row, "ids", *plain, place);
    if (row.Find("ids_parsed")) {
      const auto parsed = tokenizer.Encode(text, {.add_special_tokens = false});
      CheckIds(tally, row, "ids_parsed", *parsed, place);
    }
    const std::string decoded = tokenizer.Decode(*plain, {.skip_special_tokens = false});
    CheckText(tally, row, "decoded_all", decoded, text, place);
    if (plain->size() >= 5000) continue;
    IncrementalDetokenizer stream(tokenizer, {.skip_special_tokens = false});
    std::string joined;
    for (const TokenId id : *plain) joined += stream.Append(id);
    tally.Check("joined streams", decoded, joined + stream.Finish(), place);
  }
  EXPECT_GT(tally.num_checks(), 1000) << name;
}

TEST(GoldenTokenizers, GgufVocabulariesGiveTheOriginalsIdsAndTexts) {
  SKIP_WITHOUT_DATA();
  for (const std::string& name : FolderNames(Root() / "gguf")) {
    if (!name.ends_with(".gguf")) continue;
    const auto tokenizer = testing::LoadGguf(Root() / "gguf" / name);
    ASSERT_TRUE(tokenizer.ok()) << name << ": " << tokenizer.status().message();
    const std::string stem = name.substr(0, name.size() - 5);
    CheckPlainRows(stem, **tokenizer, Root() / "expected" / "gguf" / (stem + ".jsonl"));
  }
}

// The texts of a .inp file, between lines that say so.
std::vector<std::string> SplitVectors(const std::string& text) {
  constexpr std::string_view kBetween = "\n__ggml_vocab_test__\n";
  std::vector<std::string> out;
  std::size_t start = 0;
  for (std::size_t at = text.find(kBetween); at != std::string::npos;
       at = text.find(kBetween, start)) {
    out.push_back(text.substr(start, at - start));
    start = at + kBetween.size();
  }
  out.push_back(text.substr(start));
  return out;
}

TEST(GoldenTokenizers, GgufVocabulariesReproduceTheirOwnVectors) {
  SKIP_WITHOUT_DATA();
  for (const std::string& name : FolderNames(Root() / "gguf")) {
    if (!name.ends_with(".inp")) continue;
    const std::string file = name.substr(0, name.size() - 4);
    const auto tokenizer = testing::LoadGguf(Root() / "gguf" / file);
    ASSERT_TRUE(tokenizer.ok()) << file << ": " << tokenizer.status().message();
    const std::vector<std::string> texts = SplitVectors(ReadText(Root() / "gguf" / name));
    const std::string output = ReadText(Root() / "gguf" / (file + ".out"));
    const std::vector<std::string_view> lines = Split(output, '\n');
    Tally tally(file);
    for (std::size_t i = 0; i < texts.size() && i < lines.size(); ++i) {
      std::vector<TokenId> wanted;
      for (const std::string_view id : Split(lines[i], ' ')) {
        if (!id.empty()) wanted.push_back(*ParseNumber<TokenId>(id));
      }
      const auto got =
          (*tokenizer)->Encode(texts[i], {.add_special_tokens = false, .parse_special = false});
      ASSERT_TRUE(got.ok());
      tally.Check("vectors", wanted, *got, Brief(texts[i]));
    }
  }
}

TEST(GoldenTokenizers, SentencePieceModelsGiveTheOriginalsIdsAndTexts) {
  SKIP_WITHOUT_DATA();
  const auto tokenizer = Tokenizer::FromHfFolder((Root() / "real" / "mistral-spm-v3").string());
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  CheckPlainRows("mistral-spm-v3", **tokenizer,
                 Root() / "expected" / "real" / "mistral-spm-v3.jsonl");
}

std::string Unzip(const fs::path& path) {
  std::string out;
  FILE* pipe = popen(StrCat("gzip -dc '", path.string(), "'").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 65536> buffer;
  for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    out.append(buffer.data(), got);
  }
  pclose(pipe);
  return out;
}

TEST(GoldenTokenizers, TekkenFilesGiveTheOriginalsIdsAndTexts) {
  SKIP_WITHOUT_DATA();
  const std::string json = Unzip(Root() / "real" / "mistral-tekken" / "tekken.json.gz");
  if (json.empty()) GTEST_SKIP() << "tekken.json.gz is absent or gzip is not installed";
  const auto tokenizer = Tokenizer::FromTekken(json);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  CheckPlainRows("mistral-tekken", **tokenizer,
                 Root() / "expected" / "real" / "mistral-tekken.jsonl");
}

std::vector<TokenId> Widen(const std::vector<std::uint8_t>& values) {
  return std::vector<TokenId>(values.begin(), values.end());
}

TEST(GoldenTokenizers, PairsGetTheOriginalsIdsTypesAndMasks) {
  SKIP_WITHOUT_DATA();
  Tally tally("pairs");
  std::map<std::string, std::shared_ptr<const Tokenizer>> loaded;
  for (const Json& row : ReadJsonLines(Root() / "expected" / "small" / "pairs.jsonl")) {
    const std::string& name = row.Find("tokenizer")->string();
    if (name.starts_with("limits")) continue;  // their own truncation is off there
    auto& tokenizer = loaded[name];
    if (tokenizer == nullptr) {
      tokenizer = *Tokenizer::FromHfFolder((Root() / "small" / name).string());
    }
    const auto got = tokenizer->EncodeFully(row.Find("a")->string(), row.Find("b")->string());
    ASSERT_TRUE(got.ok()) << name << ": " << got.status().message();
    const std::string place = StrCat(name, " ", Brief(row.Find("a")->string()));
    tally.Check("ids", Ids(*row.Find("ids")), got->ids, place);
    tally.Check("type_ids", Ids(*row.Find("type_ids")), got->type_ids, place);
    tally.Check("special_tokens_mask", Ids(*row.Find("special_tokens_mask")),
                Widen(got->special_tokens_mask), place);
    tally.Check("attention_mask", Ids(*row.Find("attention_mask")), Widen(got->attention_mask),
                place);
  }
}

TEST(GoldenTokenizers, TruncationAndPaddingDoWhatTheOriginalsDo) {
  SKIP_WITHOUT_DATA();
  Tally tally("limits");
  for (const Json& row : ReadJsonLines(Root() / "expected" / "small" / "limits.jsonl")) {
    const std::string& name = row.Find("tokenizer")->string();
    const auto tokenizer = *Tokenizer::FromHfFolder((Root() / "small" / name).string());
    std::vector<std::string_view> texts;
    for (const Json& text : row.Find("texts")->array()) texts.push_back(text.string());
    const auto batch = tokenizer->EncodeBatch(texts);
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    for (std::size_t i = 0; i < batch->size(); ++i) {
      const Encoding& got = (*batch)[i];
      const std::string place = StrCat(name, " ", Brief(texts[i]));
      tally.Check("ids", Ids(row.Find("ids")->array()[i]), got.ids, place);
      tally.Check("attention_mask", Ids(row.Find("attention_mask")->array()[i]),
                  Widen(got.attention_mask), place);
      const JsonArray& overflow = row.Find("overflow")->array()[i].array();
      ASSERT_EQ(overflow.size(), got.overflow.size()) << place;
      for (std::size_t k = 0; k < overflow.size(); ++k) {
        tally.Check("overflow", Ids(overflow[k]), got.overflow[k].ids, place);
      }
    }
  }
}

}  // namespace
}  // namespace quire
