// Pre-tokenizers that cut at blanks, words, scripts and lengths.
#pragma once

#include <cstddef>
#include <memory>

#include "tokenizer/pre_tokenizers.h"

namespace quire {

enum class PrependScheme { kAlways, kFirst, kNever };

// prepend_scheme of a Metaspace section, or its older add_prefix_space.
Result<PrependScheme> ReadPrependScheme(const Json& config);

// SentencePiece's: blanks become `replacement`, which is also put in front of a piece (kFirst: of
// the one that begins the text) that lacks it; `has_split` cuts before each.
std::unique_ptr<const PreTokenizer> MakeMetaspace(char32_t replacement, PrependScheme scheme,
                                                  bool has_split);
std::unique_ptr<const PreTokenizer> MakeWhitespace();       // words and what is neither; no blanks
std::unique_ptr<const PreTokenizer> MakeWhitespaceSplit();  // between blanks
std::unique_ptr<const PreTokenizer> MakeUnicodeScripts();
std::unique_ptr<const PreTokenizer> MakeFixedLength(std::size_t num_code_points);

}  // namespace quire
