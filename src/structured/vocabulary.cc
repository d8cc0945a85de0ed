#include <algorithm>

#include "structured/backend.h"

namespace quire {

ConstraintVocabulary MakeConstraintVocabulary(const Tokenizer& tokenizer, std::int64_t vocab_size,
                                              const std::vector<TokenId>& end_ids) {
  ConstraintVocabulary vocab;
  const std::int64_t size = std::max<std::int64_t>(vocab_size, 0);
  vocab.bytes.resize(static_cast<std::size_t>(size));
  for (TokenId id = 0; id < size && id < tokenizer.vocab_size(); ++id) {
    if (!tokenizer.has_token(id) || tokenizer.is_special(id) || tokenizer.unk_id() == id) continue;
    vocab.bytes[static_cast<std::size_t>(id)] = tokenizer.TokenBytes(id);
  }
  for (const TokenId id : end_ids) {
    if (id < 0 || id >= size || std::ranges::count(vocab.end_ids, id) != 0) continue;
    vocab.end_ids.push_back(id);
    vocab.bytes[static_cast<std::size_t>(id)].clear();
  }
  return vocab;
}

}  // namespace quire
