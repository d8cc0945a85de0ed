#include "tokenizer/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/utf8.h"

namespace quire {
namespace {

// A byte-level tokenizer of 256 bytes, the merges given and some added tokens.
std::string ByteLevelJson(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  JsonObject vocab;
  for (int byte = 0; byte < 256; ++byte) {
    std::string piece;
    AppendUtf8(piece, kCharOfByte[byte]);
    vocab.emplace_back(piece, Json(byte));
  }
  JsonArray list;
  for (const auto& [left, right] : merges) {
    const std::string joined = left + right;
    const bool is_new = std::none_of(vocab.begin(), vocab.end(),
                                     [&](const auto& known) { return known.first == joined; });
    if (is_new) vocab.emplace_back(joined, Json(static_cast<int>(vocab.size())));
    list.push_back(JsonArray{Json(left), Json(right)});
  }
  JsonArray added;
  for (const char* text : {"<s>", "</s>", "<|end|>"}) {
    added.push_back(
        JsonObject{{"content", Json(text)}, {"special", Json(true)}, {"normalized", Json(false)}});
  }
  const Json root = JsonObject{
      {"version", Json("1.0")},
      {"added_tokens", Json(added)},
      {"pre_tokenizer", JsonObject{{"type", Json("ByteLevel")},
                                   {"add_prefix_space", Json(false)},
                                   {"use_regex", Json(true)}}},
      {"decoder", JsonObject{{"type", Json("ByteLevel")}}},
      {"model", JsonObject{{"type", Json("BPE")}, {"vocab", Json(vocab)}, {"merges", Json(list)}}}};
  return root.Dump();
}

std::shared_ptr<const Tokenizer> Load(const std::string& json, std::string_view config = "") {
  const auto tokenizer =
      Tokenizer::FromJson({.tokenizer_json = json, .tokenizer_config_json = config});
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  return *tokenizer;
}

std::vector<TokenId> BytesOf(std::string_view text) {
  std::vector<TokenId> ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

TEST(Detokenizer, ACharacterOverSeveralTokensComesWhole) {
  const auto tokenizer = Load(ByteLevelJson());
  for (const std::string text : {"\U0001F9EA ok", "\u20ac", "a\u00e9b"}) {
    const std::vector<TokenId> ids = BytesOf(text);
    IncrementalDetokenizer stream(*tokenizer);
    std::string joined;
    for (const TokenId id : ids) {
      const std::string delta = stream.Append(id);
      EXPECT_EQ(delta.find(kReplacementCharacter), std::string::npos);
      joined += delta;
    }
    EXPECT_EQ(joined + stream.Finish(), text);
    EXPECT_EQ(tokenizer->Decode(ids), text);
  }
}

TEST(Detokenizer, ACutCharacterEndsBothWaysTheSame) {
  const auto tokenizer = Load(ByteLevelJson());
  const std::vector<TokenId> ids = BytesOf("a\xF0\x9F");
  IncrementalDetokenizer stream(*tokenizer);
  std::string joined;
  for (const TokenId id : ids) joined += stream.Append(id);
  EXPECT_EQ(joined, "a");
  joined += stream.Finish();
  EXPECT_EQ(joined, "a\uFFFD");
  EXPECT_EQ(tokenizer->Decode(ids), joined);
}

TEST(Detokenizer, SpacePiecesKeepEverySpace) {
  const std::string json =
      R"({"model":{"type":"BPE","vocab":{"\u2581\u2581\u2581\u2581":0,".":1,"a":2,
      "\u2581":3,"b":4},"merges":[]},"decoder":{"type":"Sequence","decoders":[
      {"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},
      {"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]}})";
  const auto tokenizer = Load(json);
  for (const std::vector<TokenId>& ids :
       {std::vector<TokenId>{0, 1}, std::vector<TokenId>{2, 3, 3, 3, 4}}) {
    IncrementalDetokenizer stream(*tokenizer);
    std::string joined;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      joined += stream.Append(ids[i]);
      EXPECT_EQ(joined, tokenizer->Decode(std::span(ids).first(i + 1)));
    }
  }
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{2, 3, 3, 3, 4}), "a   b");
}

TEST(Detokenizer, SkippedIdsLeaveTheirTextOut) {
  const auto tokenizer = Load(ByteLevelJson());
  IncrementalDetokenizer stream(*tokenizer);
  for (const TokenId id : BytesOf("prompt")) stream.Skip(id);
  EXPECT_EQ(stream.Append('x'), "x");
}

TEST(Tokenizer, IdsWithoutATokenDecodeToNothing) {
  const auto tokenizer = Load(ByteLevelJson());
  const std::vector<TokenId> ids = {'a', 5000, -1, 1 << 30, 'b'};
  EXPECT_EQ(tokenizer->Decode(ids), "ab");
  EXPECT_EQ(tokenizer->TokenText(5000), "");
  EXPECT_EQ(tokenizer->TokenBytes(-7), "");
  EXPECT_FALSE(tokenizer->is_special(1 << 30));
}

TEST(Tokenizer, SpecialTokensAreTextWhereTheyAreNotToBeParsed) {
  const auto tokenizer =
      Load(ByteLevelJson(), R"({"bos_token":"<s>","eos_token":{"content":"</s>"}})");
  EXPECT_EQ(tokenizer->bos_id(), 256);
  EXPECT_EQ(tokenizer->eos_ids(), std::vector<TokenId>{257});
  EXPECT_EQ(*tokenizer->Encode("<s>a"), (std::vector<TokenId>{256, 'a'}));
  EXPECT_EQ(*tokenizer->Encode("<s>a", {.parse_special = false}), BytesOf("<s>a"));
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{256, 'a'}), "a");
  EXPECT_EQ(tokenizer->Decode(std::vector<TokenId>{256, 'a'}, {.skip_special_tokens = false}),
            "<s>a");
}

TEST(Tokenizer, NulAndInvalidBytesAreTaken) {
  const auto tokenizer = Load(ByteLevelJson());
  using namespace std::string_view_literals;
  EXPECT_EQ(*tokenizer->Encode("a\0b"sv), BytesOf("a\0b"sv));
  EXPECT_EQ(*tokenizer->Encode("a\xFF"), BytesOf("a\uFFFD"));
}

TEST(Tokenizer, TokenBytesAreWhatATokenStandsFor) {
  const auto tokenizer = Load(ByteLevelJson({{"\u0120", "t"}}));
  const auto id = tokenizer->Find("\u0120t");
  ASSERT_TRUE(id);
  EXPECT_EQ(tokenizer->TokenText(*id), "\u0120t");
  EXPECT_EQ(tokenizer->TokenBytes(*id), " t");
  EXPECT_EQ(tokenizer->TokenBytes(0xFF), "\xFF");
  EXPECT_EQ(tokenizer->TokenBytes(259), "<|end|>");
}

TEST(Tokenizer, MergesThatGoRoundInACircleAreTaken) {
  // "aa" + "a" and "a" + "aa" make the same piece, in both orders.
  const auto tokenizer = Load(ByteLevelJson({{"a", "a"}, {"aa", "a"}, {"a", "aa"}}));
  const auto ids = tokenizer->Encode(std::string(1001, 'a'));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(tokenizer->Decode(*ids), std::string(1001, 'a'));
}

// Quadratic time would run into the limit that the test runner has for a program.
TEST(Tokenizer, TextsWithoutASplitPointTakeAboutLinearTime) {
  const auto tokenizer = Load(ByteLevelJson({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}}));
  const auto ids = tokenizer->Encode(std::string(4'000'000, 'a'));
  ASSERT_TRUE(ids.ok());
  EXPECT_EQ(ids->size(), 500'000U);
}

TEST(Tokenizer, ATextOfMoreIdsThanAreWantedIsNotEncodedToItsEnd) {
  const auto tokenizer = Load(ByteLevelJson({{"a", "a"}, {"aa", "aa"}}));
  const auto size = [&](const std::string& text, std::size_t max_ids) {
    return tokenizer->Encode(text, {.max_ids = max_ids})->size();
  };
  const std::string words = "ab ab ab<|end|>ab ab";
  const std::size_t all = tokenizer->Encode(words)->size();
  EXPECT_EQ(size(words, all), all);
  for (std::size_t max_ids = 0; max_ids < all; ++max_ids) {
    EXPECT_GT(size(words, max_ids), max_ids);
    EXPECT_LE(size(words, max_ids), all);
  }
  // One piece whose ids would take minutes, in the cache of long texts and outside of it.
  const std::string endless(std::size_t{64} << 20, 'a');
  EXPECT_EQ(size(endless, 1000), 1001U);
  EXPECT_EQ(tokenizer->Encode(endless, {.parse_special = false, .max_ids = 1000})->size(), 1001U);
  EXPECT_EQ(*tokenizer->Encode("aaaa"), (std::vector<TokenId>{257})) << "limits are forgotten";
}

TEST(Tokenizer, ATextThatGoesOnFromAnotherGetsTheSameIdsAsAlone) {
  const std::string json = ByteLevelJson({{"a", "b"}, {"\u0120", "a"}, {"\u0120a", "b"}});
  const auto warm = Load(json);
  std::mt19937 random(3);
  std::vector<std::string> chats = {""};
  for (int round = 0; round < 300; ++round) {
    // Goes on from any earlier chat, sometimes with its end changed.
    std::string chat = chats[random() % chats.size()];
    if (random() % 3 == 0)
      chat.resize(chat.size() - std::min<std::size_t>(chat.size(), random() % 40));
    for (int i = 0; i < 3; ++i) {
      chat += random() % 2 == 0 ? "<s>" : "<|en";
      for (std::size_t k = random() % 900; k > 0; --k) chat += "ab \n"[random() % 4];
      chat += random() % 2 == 0 ? "<|end|>" : "</s";
    }
    chats.push_back(chat.substr(0, 20'000));
    ASSERT_EQ(*warm->Encode(chats.back()), *Load(json)->Encode(chats.back())) << round;
  }
}

TEST(Tokenizer, BrokenFilesAreRefusedWithTheFieldsName) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "tokenizer.json"},
      {"[]", "object"},
      {R"({"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}})", "vocab"},
      {R"({"model":{"type":"BPE","vocab":{"a":99999999},"merges":[]}})", "vocab"},
      {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":["a b"]}})", "merges"},
      {R"({"model":{"type":"BPE","vocab":{"a":0},"merges":[],"dropout":0.1}})", "dropout"},
      {R"({"model":{"type":"Nonsense"}})", "Nonsense"},
      {R"({"normalizer":{"type":"Odd"},"model":{}})", "normalizer"},
      {R"({"model":{"type":"Unigram","vocab":[["a",0]],"unk_id":7}})", "unk_id"},
      {R"({"added_tokens":[{"content":"a"},{"content":5}],"model":{"type":"BPE","vocab":{"a":0},)"
       R"("merges":[]}})",
       "added_tokens: number 1: content: must be a string"},
  };
  for (const auto& [json, wanted] : cases) {
    const auto tokenizer = Tokenizer::FromJson({.tokenizer_json = json});
    ASSERT_FALSE(tokenizer.ok()) << json;
    EXPECT_NE(tokenizer.status().message().find(wanted), std::string::npos)
        << tokenizer.status().message();
  }
}

TEST(Tokenizer, MembersOfAWrongKindAreRefusedWithTheirFile) {
  const auto message = [](std::string_view config, std::string_view special) {
    return Tokenizer::FromJson({.tokenizer_json = ByteLevelJson(),
                                .tokenizer_config_json = config,
                                .special_tokens_map_json = special})
        .status()
        .message();
  };
  EXPECT_EQ(message(R"({"add_bos_token": "yes"})", ""),
            "tokenizer_config.json: add_bos_token: must be a boolean, got a string");
  EXPECT_NE(message(R"({"eos_token": 2})", ""), "");
  EXPECT_NE(message(R"({"bos_token": {"content": 2}})", ""), "");
  EXPECT_NE(message(R"({"tokenizer_class": []})", ""), "");
  EXPECT_NE(message(R"({"chat_template": 5})", ""), "");
  EXPECT_NE(message(R"({"chat_template": [{"name": "default"}]})", ""), "");
  EXPECT_NE(message(R"({"added_tokens_decoder": []})", ""), "");
  EXPECT_EQ(message("", R"({"unk_token": true})").substr(0, 34),
            "special_tokens_map.json: unk_token");
  EXPECT_EQ(message(R"({"bos_token": null, "add_bos_token": null, "chat_template": null,
                        "eos_token": {"content": "</s>"}, "image_token": 7})",
                    ""),
            "");
}

TEST(Tokenizer, AFolderWithALinkToNothingIsNamed) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "quire_tokenizer_link";
  fs::remove_all(folder);
  fs::create_directories(folder);
  fs::create_symlink("../blobs/absent", folder / "tokenizer.json");
  EXPECT_EQ(Tokenizer::FromHfFolder(folder.string()).status().message(),
            (folder / "tokenizer.json").string() + ": is a link to a file that is not there");
  fs::remove(folder / "tokenizer.json");
  std::ofstream(folder / "tokenizer.json") << "[]";
  EXPECT_EQ(Tokenizer::FromHfFolder(folder.string()).status().message().find(folder.string()), 0);
  fs::remove_all(folder);
}

TEST(Tokenizer, ABrokenSentencePieceModelIsRefused) {
  for (const std::string& bytes : {std::string(), std::string("\x0a\xff\xff\xff\xff\x0f"),
                                   std::string("\x0a\x02\x18\x09"), std::string(100, '\xff')}) {
    EXPECT_FALSE(Tokenizer::FromSentencePiece(bytes).ok());
  }
}

TEST(Tokenizer, TiktokenRanksMergeByRank) {
  // a b c ab bc: of ab and bc, the lower rank goes first.
  const auto tokenizer = Tokenizer::FromTiktoken("YQ== 0\nYg== 1\nYw== 2\nYmM= 3\nYWI= 4\n");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().message();
  EXPECT_EQ(*(*tokenizer)->Encode("abc"), (std::vector<TokenId>{0, 3}));
  EXPECT_FALSE(Tokenizer::FromTiktoken("YQ==\n").ok());
}

// Merges are looked up many at a time; of several faults the first in the file is told.
TEST(TokenizerJson, TellsTheFirstFaultOfTheMerges) {
  const auto error_of = [](std::string_view merges) {
    const std::string json = StrCat(R"({"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, )",
                                    R"("ab": 2, "c": 3}, "merges": [)", merges, "]}}");
    const auto tokenizer = Tokenizer::FromJson({.tokenizer_json = json});
    return tokenizer.ok() ? std::string("ok") : tokenizer.status().message();
  };
  const auto many = [](int count, std::string_view merge) {
    std::string out;
    for (int i = 0; i < count; ++i) out += StrCat(merge, ",");
    return out;
  };
  EXPECT_EQ(error_of(R"("#version: 0.2", "a b", ["a", "\u0062"])"), "ok");
  EXPECT_EQ(
      error_of(StrCat(many(100, "\"a b\""), R"("a c", "a b", "abc")")),
      "tokenizer.json: model: merges: number 100, \"a\" and \"c\", has a piece that is not in "
      "the vocabulary");
  EXPECT_EQ(error_of(StrCat(many(70, "[\"a\",\"b\"]"), R"("a  b", "a c")")),
            "tokenizer.json: model: merges: number 70 must be two pieces");
  EXPECT_EQ(error_of(StrCat("\"#version: 0.2\",", many(42, "\"a b\""), "7")),
            "tokenizer.json: model: merges: number 42 must be two pieces");
}

// The ids of a text with a tokenizer.json of these sections.
std::vector<TokenId> IdsWith(std::string_view sections, std::string_view text) {
  const auto tokenizer = Load(StrCat("{", sections, "}"));
  return *tokenizer->Encode(text);
}

TEST(TokenizerJson, FallsBackToTheBytesOfPrefixAndSuffixToo) {
  constexpr std::string_view kModel =
      R"("model": {"type": "BPE", "byte_fallback": true, "continuing_subword_prefix": "#",
          "end_of_word_suffix": "$", "merges": [],
          "vocab": {"<0x23>": 0, "<0x62>": 1, "<0x24>": 2, "a": 3, "#c$": 4}})";
  EXPECT_EQ(IdsWith(kModel, "abc"), (std::vector<TokenId>{3, 0, 1, 4}));
  EXPECT_EQ(IdsWith(kModel, "ab"), (std::vector<TokenId>{3, 0, 1, 2}));
  EXPECT_EQ(IdsWith(kModel, "b"), (std::vector<TokenId>{1, 2}));
}

// What a template leaves are two sequences for the next step; Bert's and Roberta's leave one.
TEST(TokenizerJson, PostProcessorsInSequenceSeeThePartsOfThoseBefore) {
  const auto sections = [](std::string_view processors) {
    return StrCat(R"("model": {"type": "WordLevel", "unk_token": "a", "vocab":
                     {"a": 0, "x": 1, "y": 2, "z": 3}}, "post_processor":
                     {"type": "Sequence", "processors": [)",
                  processors, "]}");
  };
  constexpr std::string_view kTemplate =
      R"({"type": "TemplateProcessing",
          "single": [{"SpecialToken": {"id": "x", "type_id": 0}},
                     {"Sequence": {"id": "A", "type_id": 0}}],
          "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                   {"SpecialToken": {"id": "x", "type_id": 0}},
                   {"Sequence": {"id": "B", "type_id": 1}}],
          "special_tokens": {"x": {"id": "x", "ids": [1], "tokens": ["x"]}}})";
  constexpr std::string_view kBert =
      R"({"type": "BertProcessing", "sep": ["y", 2], "cls": ["z", 3]})";
  constexpr std::string_view kRoberta =
      R"({"type": "RobertaProcessing", "sep": ["y", 2], "cls": ["z", 3], "trim_offsets": true,
          "add_prefix_space": false})";
  const auto ids = [&](std::string_view first, std::string_view second) {
    return IdsWith(sections(StrCat(first, ",", second)), "a");
  };
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(ids(kBert, kTemplate), (Ids{1, 3, 0, 2}));
  EXPECT_EQ(ids(kTemplate, kBert), (Ids{3, 1, 2, 0, 2}));
  EXPECT_EQ(ids(kTemplate, kRoberta), (Ids{3, 1, 2, 2, 0, 2}));
  EXPECT_EQ(ids(kTemplate, kTemplate), (Ids{1, 1, 0}));
  EXPECT_EQ(ids(kBert, kBert), (Ids{3, 3, 0, 2, 2}));
}

TEST(TokenizerJson, BracketNamesHoldWhatTheyHoldInTheOriginalsRegexes) {
  const auto left = [](std::string_view regex, std::string_view text) {
    const std::string json = ByteLevelJson();
    const std::string normalizer =
        StrCat(R"({"normalizer": {"type": "Replace", "content": "", "pattern": {"Regex": )",
               Json(regex).Dump(), "}},", json.substr(1));
    const auto tokenizer = Load(normalizer);
    return tokenizer->Decode(*tokenizer->Encode(text));
  };
  EXPECT_EQ(left("[[:punct:]]", "a!$\u00a3\u2192\u00b2"), "a\u00b2");
  EXPECT_EQ(left("[[:^punct:]]", "a!$\u00a3\u2192\u00b2"), "!$\u00a3\u2192");
  EXPECT_EQ(left("[[:alnum:]]", "a1\u00b2\u2160!"), "\u00b2!");
  EXPECT_EQ(left("[[:alpha:]]", "a1\u2160!"), "1!");
  EXPECT_EQ(left("[[:lower:]x]", "aA\u00aaXx"), "AX");
  // Outside of brackets some numbers are word characters.
  EXPECT_EQ(left("\\w", "a\u00b2\u00bd\u2074!"), "\u2074!");
  EXPECT_EQ(left("[\\w]", "a\u00b2\u00bd\u2074!"), "\u00b2\u00bd\u2074!");
}

}  // namespace
}  // namespace quire
