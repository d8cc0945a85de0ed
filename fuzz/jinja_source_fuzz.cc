// Templates: what parses must render, or fail, within its limits.
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/strings.h"
#include "tokenizer/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  quire::TemplateError error;
  const auto chat = quire::ChatTemplate::Parse(source, &error);
  if (!chat.ok()) {
    QUIRE_CHECK(error.line > 0 || source.size() > 1000);
    return 0;
  }
  const auto context = quire::ParseJson(
      R"({"s":"Hello W\u00f6rld","n":7,"f":2.5,"t":true,"no":null,"l":[3,1,2],"d":{"b":1,"a":[2]},
          "messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"text":"x"}]}]})");
  quire::RenderLimits limits;
  limits.max_steps = 50'000;
  limits.max_value_bytes = 4 << 20;
  const auto text = chat->RenderContext(*context, {}, limits, &error);
  QUIRE_CHECK(!text.ok() || text->size() <= limits.max_output_bytes);
  return 0;
}
