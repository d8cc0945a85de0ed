#include "tokenizer/added_tokens.h"

#include <algorithm>

#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace quire {

int TokenMatcher::Child(int node, unsigned char byte) const {
  int child = nodes_[node].first_child;
  while (child >= 0 && nodes_[child].byte != byte) child = nodes_[child].next_sibling;
  return child;
}

void TokenMatcher::Add(std::string_view text, int value) {
  if (text.empty()) return;
  begins_[static_cast<unsigned char>(text[0])] = true;
  longest_ = std::max(longest_, static_cast<int>(text.size()));
  int node = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    int child = Child(node, byte);
    if (child < 0) {
      child = static_cast<int>(nodes_.size());
      nodes_.push_back({-1, nodes_[node].first_child, -1, byte});
      nodes_[node].first_child = child;
    }
    node = child;
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;
}

std::size_t TokenMatcher::NextStart(std::string_view text, std::size_t at) const {
  while (at < text.size() && !begins_[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

void AddedTokens::Add(AddedToken token, std::string normalized) {
  const auto [place, is_new] = by_id_.emplace(token.id, static_cast<int>(tokens_.size()));
  by_content_[token.content] = place->second;
  if (is_new) {
    tokens_.push_back(std::move(token));
    normalized_.push_back(std::move(normalized));
  } else {
    tokens_[place->second] = std::move(token);
    normalized_[place->second] = std::move(normalized);
  }
}

void AddedTokens::Finish() {
  for (const AddedToken& token : tokens_) {
    const AddedToken* shown = FindByContent(ShownText(token));
    is_skipped_.push_back(shown != nullptr && shown->is_special);
  }
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& token = tokens_[i];
    if (!token.is_matched) continue;
    if (token.is_normalized) {
      normalized_matcher_.Add(normalized_[i], static_cast<int>(i));
    } else {
      plain_matcher_.Add(token.content, static_cast<int>(i));
    }
  }
}

const AddedToken* AddedTokens::FindById(TokenId id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::FindByContent(std::string_view content) const {
  const auto found = by_content_.find(std::string(content));
  return found == by_content_.end() ? nullptr : &tokens_[found->second];
}

std::string_view AddedTokens::ShownText(const AddedToken& token) const {
  return token.is_normalized ? std::string_view(normalized_[&token - tokens_.data()])
                             : std::string_view(token.content);
}

namespace {

bool EndsWithWord(std::string_view text) {
  return !text.empty() && unicode::IsWord(LastCodePoint(text).code);
}

bool StartsWithWord(std::string_view text) {
  return !text.empty() && unicode::IsWord(FirstCodePoint(text).code);
}

// Where the white space before `end` begins, but not before `first`.
std::size_t TrailingSpace(std::string_view text, std::size_t first, std::size_t end) {
  while (end > first) {
    const CodePoint point = LastCodePoint(text.substr(0, end));
    if (!unicode::IsWhiteSpace(point.code)) break;
    end -= point.length;
  }
  return end;
}

// Where the white space that begins at `at` ends.
std::size_t LeadingSpace(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const CodePoint point = FirstCodePoint(text.substr(at));
    if (!unicode::IsWhiteSpace(point.code)) break;
    at += point.length;
  }
  return at;
}

}  // namespace

void AddedTokens::Split(std::string_view text, bool normalized, bool parse_special,
                        std::vector<AddedSplit>& out) const {
  out.clear();
  const TokenMatcher& matcher = normalized ? normalized_matcher_ : plain_matcher_;
  std::size_t done = 0;  // what is in `out` already
  const auto is_allowed = [&](int idx) {
    return parse_special || skipped_hide_others || !tokens_[idx].is_special;
  };
  if (!matcher.empty()) {
    std::size_t at = matcher.NextStart(text, 0);
    while (at < text.size()) {
      const TokenMatcher::Match match = matcher.LongestAt(text, at, is_allowed);
      if (match.value < 0) {
        at = matcher.NextStart(text, at + 1);
        continue;
      }
      std::size_t begin = at, end = at + match.length;
      at = matcher.NextStart(text, end);
      const AddedToken& token = tokens_[match.value];
      if (!parse_special && token.is_special) continue;
      if (token.is_single_word &&
          (EndsWithWord(text.substr(0, begin)) || StartsWithWord(text.substr(end)))) {
        continue;
      }
      if (token.strips_left) begin = TrailingSpace(text, done, begin);
      if (token.strips_right) end = LeadingSpace(text, end);
      if (done < begin) out.push_back({done, begin, -1});
      out.push_back({begin, end, match.value});
      done = end;
    }
  }
  if (done < text.size()) out.push_back({done, text.size(), -1});
}

}  // namespace quire
