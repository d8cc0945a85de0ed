// The bytes as a regular expression: it becomes a grammar or an error, in bounded time.
#include <cstddef>
#include <cstdint>
#include <string>

#include "structured/constraint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  quire::StructuredOutputParams params;
  params.kind = quire::ConstraintKind::kRegex;
  params.text.assign(reinterpret_cast<const char*>(data), size);
  static_cast<void>(quire::GrammarOf(params).ok());
  return 0;
}
