// Tokens that are looked for in a text before the model splits it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/id.h"

namespace quire {

struct AddedToken {
  TokenId id = -1;
  std::string content;
  bool is_special = false;
  bool strips_left = false;  // takes the white space before it along
  bool strips_right = false;
  bool is_single_word = false;
  bool is_normalized = true;  // looked for in the normalized text, by its normalized content
  bool is_matched = true;     // false: only named, never found in a text
};

// Finds any of a set of texts at a place, the longest first.
class TokenMatcher {
 public:
  TokenMatcher() : nodes_(1) {}

  void Add(std::string_view text, int value);  // a text that stands there already keeps its value
  bool empty() const { return nodes_.size() == 1; }
  int longest_bytes() const { return longest_; }

  // The next place at or after `at` where a text begins; size() where there is none.
  std::size_t NextStart(std::string_view text, std::size_t at) const;

  struct Match {
    std::size_t length;
    int value;  // -1: no match
  };
  // The longest text at `at`, of those for which `is_allowed` is true.
  template <typename Predicate>
  Match LongestAt(std::string_view text, std::size_t at, const Predicate& is_allowed) const {
    Match best{0, -1};
    int node = 0;
    for (std::size_t i = at; i < text.size(); ++i) {
      node = Child(node, static_cast<unsigned char>(text[i]));
      if (node < 0) break;
      if (nodes_[node].value >= 0 && is_allowed(nodes_[node].value)) {
        best = {i + 1 - at, nodes_[node].value};
      }
    }
    return best;
  }

 private:
  struct Node {
    std::int32_t first_child = -1, next_sibling = -1;
    std::int32_t value = -1;
    unsigned char byte = 0;
  };
  int Child(int node, unsigned char byte) const;

  std::vector<Node> nodes_;
  std::array<bool, 256> begins_{};
  int longest_ = 0;
};

// A part of a text: an added token, or text between them.
struct AddedSplit {
  std::size_t begin, end;
  int token_idx;  // -1: text
};

// Immutable once filled; any thread.
class AddedTokens {
 public:
  // A later token of the same id takes the place of the earlier one. `normalized` is the content as
  // the normalizer leaves it.
  void Add(AddedToken token, std::string normalized);
  // Builds the matchers; after the last Add.
  void Finish();

  bool empty() const { return tokens_.empty(); }
  const std::vector<AddedToken>& tokens() const { return tokens_; }
  const AddedToken* FindById(TokenId id) const;  // null: none
  const AddedToken* FindByContent(std::string_view content) const;
  // The text that decoding shows: the normalized content for a token that is found by it.
  std::string_view ShownText(const AddedToken& token) const;

  // Whether decoding without special tokens leaves it out. The original goes by the text that
  // decoding shows, so a normalized special token may stay.
  bool IsSkipped(const AddedToken& token) const { return is_skipped_[&token - tokens_.data()]; }

  // Cuts a text at the added tokens in it. `normalized`: those that are looked for after
  // normalization; else the others. Without `parse_special`, special tokens are taken as text.
  void Split(std::string_view text, bool normalized, bool parse_special,
             std::vector<AddedSplit>& out) const;

  bool has_normalized() const { return !normalized_matcher_.empty(); }
  const TokenMatcher& plain_matcher() const { return plain_matcher_; }

  // What becomes of a special token that is not to be parsed: the original of tokenizer.json still
  // lets it hide shorter tokens inside it; a GGUF's does not.
  bool skipped_hide_others = true;

 private:
  std::vector<AddedToken> tokens_;
  std::vector<std::string> normalized_;  // of each token
  std::vector<bool> is_skipped_;         // of each token
  std::unordered_map<TokenId, int> by_id_;
  std::unordered_map<std::string, int> by_content_;
  TokenMatcher plain_matcher_, normalized_matcher_;
};

}  // namespace quire
