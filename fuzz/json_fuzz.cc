// ParseJson and Dump: what is read and written must read back as the same.
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "formats/json.h"

namespace {

using quire::Json;
using quire::JsonLimits;
using quire::ParseJson;
using quire::Result;

void Check(std::string_view text, const JsonLimits& limits) {
  const Result<Json> json = ParseJson(text, limits);
  if (!json.ok()) {
    const std::string& message = json.status().message();
    QUIRE_CHECK(quire::IsValidUtf8(message) && message.size() < 1000);
    return;
  }
  const std::string dumped = json->Dump();
  for (const int indent : {-1, 0, 2}) {
    const Result<Json> again = ParseJson(json->Dump(indent), limits);
    QUIRE_CHECK(again.ok()) << again.status().message();
    QUIRE_CHECK(again->Dump() == dumped);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Check(text, {});
  Check(text, {.max_depth = 8, .unique_names = true, .python_literals = true});
  return 0;
}
