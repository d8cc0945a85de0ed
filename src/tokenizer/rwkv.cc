#include "tokenizer/rwkv.h"

#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "base/strings.h"
#include "tokenizer/byte_chars.h"
#include "tokenizer/piece_trie.h"
#include "tokenizer/utf8.h"

namespace quire {

namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string Unescape(std::string_view token) {
  std::string out;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '\\' || i + 1 == token.size()) {
      out += token[i];
      continue;
    }
    const char c = token[++i];
    const int high = c == 'x' && i + 2 < token.size() ? HexDigit(token[i + 1]) : -1;
    const int low = high < 0 ? -1 : HexDigit(token[i + 2]);
    if (low >= 0) {
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c;
    }
  }
  return out;
}

class RwkvModel final : public TokenModel {
 public:
  RwkvModel(const Vocabulary& vocabulary, TokenId unk_id) : unk_id_(unk_id) {
    std::vector<TokenId> ids(static_cast<std::size_t>(vocabulary.id_end()));
    std::iota(ids.begin(), ids.end(), 0);
    trie_ = PieceTrie(vocabulary, ids);
  }

  Status Encode(std::string_view piece, ModelScratch& scratch,
                std::vector<TokenId>& out) const override {
    scratch.text.clear();
    AppendByteChars(scratch.text, piece);
    for (std::string_view rest = scratch.text; !rest.empty();) {
      TokenId best = unk_id_;
      auto length = static_cast<std::size_t>(FirstCodePoint(rest).length);
      trie_.VisitPrefixes(rest, [&](TokenId id, std::size_t size) {
        best = id;
        length = size;
      });
      if (best == kNoToken) {
        return InvalidArgument(
            "the vocabulary has neither a byte of the text nor an unknown token");
      }
      out.push_back(best);
      rest.remove_prefix(length);
    }
    return {};
  }

 private:
  TokenId unk_id_;
  PieceTrie trie_;
};

}  // namespace

Status BuildRwkv(const std::vector<std::string_view>& tokens, std::optional<TokenId> unk_id,
                 TokenizerBuilder& builder) {
  Pipeline& pipeline = builder.pipeline();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    std::string piece;
    AppendByteChars(piece, Unescape(tokens[i]));
    if (piece.empty()) continue;
    QUIRE_RETURN_IF_ERROR(pipeline.vocabulary.Add(piece, static_cast<TokenId>(i)));
  }
  pipeline.model = std::make_unique<RwkvModel>(pipeline.vocabulary, unk_id.value_or(kNoToken));
  pipeline.decoder.steps.push_back(MakeByteLevelDecoder());
  pipeline.decoder.traits.has_byte_chars = true;
  builder.description().model = "RWKV";
  return {};
}

}  // namespace quire
