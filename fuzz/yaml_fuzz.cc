// A configuration file: whatever it holds is refused or read, and what is read is written as JSON
// that reads back as itself.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "formats/json.h"
#include "formats/yaml.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = quire::ParseYaml(text);
  if (!value.ok()) return 0;
  const auto again = quire::ParseJson(value->Dump(), {.python_literals = true});
  QUIRE_CHECK(again.ok()) << again.status().message();
  QUIRE_CHECK(again->Dump() == value->Dump());
  return 0;
}
