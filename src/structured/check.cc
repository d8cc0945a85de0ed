#include "structured/check.h"

#include <algorithm>
#include <string>
#include <vector>

namespace quire {
namespace {

// The text's tokens, where they write exactly the text; else none.
std::vector<TokenId> TokensOf(const ConstraintVocabulary& vocab, const Tokenizer& tokenizer,
                              std::string_view text) {
  auto ids = tokenizer.Encode(text, {.add_special_tokens = false, .parse_special = false});
  if (!ids.ok()) return {};
  std::string written;
  for (const TokenId id : *ids) {
    const auto index = static_cast<std::size_t>(id);
    if (id < 0 || index >= vocab.bytes.size() || vocab.bytes[index].empty()) return {};
    written += vocab.bytes[index];
  }
  return written == text ? *std::move(ids) : std::vector<TokenId>();
}

// The longest token that begins `text`; -1 where there is none.
TokenId LongestToken(const ConstraintVocabulary& vocab, const Tokenizer& tokenizer,
                     std::string_view text) {
  auto ids =
      tokenizer.Encode(text.substr(0, 64), {.add_special_tokens = false, .parse_special = false});
  if (ids.ok()) {
    for (const TokenId id : *ids) {
      const auto index = static_cast<std::size_t>(id);
      if (index < vocab.bytes.size() && !vocab.bytes[index].empty() &&
          text.starts_with(vocab.bytes[index])) {
        return id;
      }
    }
  }
  TokenId best = -1;
  std::size_t length = 0;
  for (std::size_t i = 0; i < vocab.bytes.size(); ++i) {
    if (vocab.bytes[i].size() <= length || !text.starts_with(vocab.bytes[i])) continue;
    best = static_cast<TokenId>(i);
    length = vocab.bytes[i].size();
  }
  return best;
}

bool IsSet(std::span<const std::uint32_t> mask, TokenId token) {
  return (mask[static_cast<std::size_t>(token) / 32] >> (token % 32) & 1) != 0;
}

// How many bytes of `text` may follow.
std::size_t AcceptedPrefix(Matcher& matcher, std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && matcher.AcceptBytes(text.substr(length, 1))) ++length;
  return length;
}

}  // namespace

CheckedText CheckText(const GrammarBackend& backend, const CompiledGrammar& grammar,
                      const ConstraintVocabulary& vocab, const Tokenizer& tokenizer,
                      std::string_view text) {
  using Verdict = CheckedText::Verdict;
  const std::unique_ptr<Matcher> matcher = grammar.NewMatcher();
  std::vector<std::uint32_t> mask(backend.num_mask_words());
  const std::vector<TokenId> tokens = TokensOf(vocab, tokenizer, text);
  std::size_t at = 0;
  for (std::size_t i = 0; at < text.size(); ++i) {
    if (matcher->is_terminated()) return {Verdict::kRefused, at};
    const std::string_view rest = text.substr(at);
    const TokenId token = i < tokens.size() ? tokens[i] : LongestToken(vocab, tokenizer, rest);
    // A text that the vocabulary cannot write is followed byte by byte.
    const std::size_t length = token < 0 ? 1 : vocab.bytes[static_cast<std::size_t>(token)].size();
    bool is_accepted = false;
    if (token >= 0) {
      std::ranges::fill(mask, 0);
      matcher->Fill(mask);
      is_accepted = IsSet(mask, token) && matcher->Accept(token);
    } else {
      is_accepted = matcher->AcceptBytes(rest.substr(0, 1));
    }
    if (!is_accepted) {
      return {Verdict::kRefused, at + AcceptedPrefix(*matcher, rest.substr(0, length))};
    }
    at += length;
  }
  const bool is_complete = matcher->is_complete() || matcher->is_terminated();
  return {is_complete ? Verdict::kAccepted : Verdict::kIncomplete, at};
}

}  // namespace quire
