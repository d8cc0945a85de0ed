// A GGUF file's vocabulary: what loads must encode and decode.
#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/gguf.h"
#include "tokenizer_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto header = quire::GgufHeader::Parse(std::as_bytes(std::span(data, size)));
  if (!header.ok()) return 0;
  const auto tokenizer = quire::Tokenizer::FromGguf(*header);
  if (!tokenizer.ok()) return 0;
  quire::Exercise(**tokenizer, " Hello  w\xC3\xB6rld 1\n\xF0\x9F\x98\x80 <s>");
  return 0;
}
