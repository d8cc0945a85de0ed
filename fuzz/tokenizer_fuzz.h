// What fuzz targets of tokenizers do with one that loaded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/strings.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/tokenizer.h"

namespace quire {

// Encodes and decodes a few texts; whatever comes out must be well-formed.
inline void Exercise(const Tokenizer& tokenizer, std::string_view text) {
  for (const bool special : {false, true}) {
    const auto ids =
        tokenizer.Encode(text, {.add_special_tokens = special, .parse_special = special});
    if (!ids.ok()) continue;
    QUIRE_CHECK(IsValidUtf8(tokenizer.Decode(*ids)));
    IncrementalDetokenizer stream(tokenizer, {.skip_special_tokens = special});
    std::string joined;
    for (const TokenId id : *ids) {
      const std::string delta = stream.Append(id);
      QUIRE_CHECK(IsValidUtf8(delta));
      joined += delta;
    }
    QUIRE_CHECK(IsValidUtf8(joined + stream.Finish()));
  }
  (void)tokenizer.EncodeFully(text, text.substr(text.size() / 2)).ok();
  for (TokenId id = -1; id < 300; ++id) {
    (void)tokenizer.TokenBytes(id);
    QUIRE_CHECK(tokenizer.has_token(id) || tokenizer.TokenText(id).empty());
  }
}

}  // namespace quire
