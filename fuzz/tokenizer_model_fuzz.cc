// tokenizer.model, tekken.json and tiktoken files: what loads must encode and decode.
#include <cstdint>
#include <string_view>

#include "tokenizer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto tokenizer = data[0] % 4 == 1   ? quire::Tokenizer::FromTekken(text)
                         : data[0] % 4 == 2 ? quire::Tokenizer::FromTiktoken(text)
                                            : quire::Tokenizer::FromSentencePiece(text);
  if (!tokenizer.ok()) return 0;
  quire::Exercise(**tokenizer, " Hello  w\xC3\xB6rld 1\n\xF0\x9F\x98\x80 <s>");
  quire::Exercise(**tokenizer, text.substr(0, 100));
  return 0;
}
