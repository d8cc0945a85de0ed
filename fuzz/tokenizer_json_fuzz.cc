// tokenizer.json: a file that loads must encode and decode.
#include <cstdint>
#include <string_view>

#include "tokenizer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto tokenizer = quire::Tokenizer::FromJson({.tokenizer_json = text});
  if (!tokenizer.ok()) {
    QUIRE_CHECK(quire::IsValidUtf8(tokenizer.status().message()));
    return 0;
  }
  quire::Exercise(**tokenizer,
                  " Hello, w\xC3\xB6rld! don't 123\n\n\xF0\x9F\x98\x80 <s></s>[CLS]\xFF");
  quire::Exercise(**tokenizer, text.substr(0, 200));
  return 0;
}
