#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/piece_trie.h"

namespace quire {
namespace {

std::string RandomPiece(std::minstd_rand& random) {
  std::string piece;
  for (auto left = 1 + random() % 14; left > 0; --left) {
    piece += "abc"[random() % (random() % 3 == 0 ? 3 : 2)];
    if (random() % 40 == 0) piece += '\0';
  }
  return piece;
}

TEST(Vocabulary, FindsWhatAMapFindsThroughAdditionsMovesAndLosses) {
  std::minstd_rand random(1);
  Vocabulary vocabulary;
  std::map<std::string, TokenId> ids;     // what Find() must say
  std::map<TokenId, std::string> pieces;  // what Text() must say
  for (int i = 0; i < 20000; ++i) {
    const std::string piece = RandomPiece(random);
    const auto id = static_cast<TokenId>(random() % 2000);
    const bool moves = random() % 2 == 0;
    ASSERT_TRUE((moves ? vocabulary.AddOrMove(piece, id) : vocabulary.Add(piece, id)).ok());
    const auto before = pieces.find(id);
    if (before != pieces.end()) {
      const auto known = ids.find(before->second);
      if (known != ids.end() && known->second == id) {
        if (before->second == piece) continue;
        ids.erase(known);
      }
    }
    pieces[id] = piece;
    if (moves || !ids.contains(piece)) ids[piece] = id;
  }
  EXPECT_EQ(vocabulary.num_pieces(), static_cast<int>(ids.size()));
  for (const auto& [piece, id] : ids) EXPECT_EQ(vocabulary.Find(piece), id);
  for (const auto& [id, piece] : pieces) EXPECT_EQ(vocabulary.Text(id), piece);
  for (int i = 0; i < 5000; ++i) {
    const std::string piece = RandomPiece(random);
    EXPECT_EQ(vocabulary.Find(piece), ids.contains(piece) ? ids[piece] : kNoToken);
  }
}

TEST(Vocabulary, FindsManyAsItFindsEach) {
  std::minstd_rand random(2);
  Vocabulary vocabulary;
  std::vector<std::string> texts;
  for (TokenId id = 0; id < 3000; ++id) {
    texts.push_back(RandomPiece(random));
    if (id % 2 == 0) {
      ASSERT_TRUE(vocabulary.Add(texts.back(), id).ok());
    }
  }
  for (std::size_t begin = 0; begin + Vocabulary::kMaxBatch <= texts.size(); begin += 100) {
    std::vector<std::string_view> pieces(
        texts.begin() + static_cast<std::ptrdiff_t>(begin),
        texts.begin() + static_cast<std::ptrdiff_t>(begin + Vocabulary::kMaxBatch));
    std::vector<TokenId> ids(pieces.size(), -7);
    vocabulary.FindAll(pieces, ids);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(ids[i], vocabulary.Find(pieces[i])) << Printable(pieces[i]);
    }
  }
  TokenId id = 5;
  const std::string_view piece = "a";
  Vocabulary().FindAll({&piece, 1}, {&id, 1});
  EXPECT_EQ(id, kNoToken);
}

// An id that goes from piece to piece once cost a pass over the whole table each time.
TEST(Vocabulary, OneIdForManyPiecesTakesLittleTime) {
  Vocabulary vocabulary;
  vocabulary.Reserve(1000000, 1000000);
  for (int i = 0; i < 100000; ++i) ASSERT_TRUE(vocabulary.AddOrMove(StrCat("piece", i), 0).ok());
  EXPECT_EQ(vocabulary.num_pieces(), 1);
  EXPECT_EQ(vocabulary.Find("piece99999"), 0);
  EXPECT_EQ(vocabulary.Find("piece99998"), kNoToken);
}

TEST(PieceTrie, VisitsThePiecesThatATextBeginsWith) {
  std::minstd_rand random(3);
  for (const int count : {0, 1, 2, 7, 300, 3000}) {
    Vocabulary vocabulary;
    std::vector<TokenId> ids;
    for (TokenId id = 0; id < count; ++id) {
      ASSERT_TRUE(vocabulary.Add(RandomPiece(random), id).ok());
      if (id % 5 != 0) ids.push_back(id);
    }
    const PieceTrie trie(vocabulary, ids);
    std::map<std::string, TokenId, std::less<>> last_of;
    for (const TokenId id : ids) last_of[std::string(vocabulary.Text(id))] = id;
    for (int i = 0; i < 300; ++i) {
      const std::string text = RandomPiece(random) + (i % 2 == 0 ? RandomPiece(random) : "");
      std::vector<std::pair<TokenId, std::size_t>> wanted, got;
      for (std::size_t size = 1; size <= text.size(); ++size) {
        const auto found = last_of.find(std::string_view(text).substr(0, size));
        if (found != last_of.end()) wanted.emplace_back(found->second, size);
      }
      trie.VisitPrefixes(text, [&](TokenId id, std::size_t size) { got.emplace_back(id, size); });
      EXPECT_EQ(got, wanted) << Printable(text);
    }
  }
}

}  // namespace
}  // namespace quire
