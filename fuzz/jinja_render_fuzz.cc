// Values through a template that touches them in many ways.
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "tokenizer/chat_template.h"

namespace {

constexpr std::string_view kSource = R"({% for m in messages %}
{{ m }}|{{ m|tojson }}|{{ m|tojson(indent=2) }}|{{ m|string|length }}|{{ m|list }}
{% endfor %}{% for m in messages %}{{ m.content|trim|upper|title }}{{ m.role.split('a') }}
{{ m.content[::2] }}{{ m.content[1:-1] }}{{ m['content']|replace('a','b')|indent }}{% endfor %}
{{ messages|map(attribute='role')|join(',') }}{{ messages|selectattr('content')|list|length }})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* chat = new quire::ChatTemplate(*quire::ChatTemplate::Parse(kSource));
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto messages = quire::ParseJson(text, {.python_literals = true});
  if (!messages.ok()) return 0;
  quire::ChatInputs inputs;
  inputs.messages = *messages;
  inputs.limits.max_steps = 50'000;
  for (const bool continues : {false, true}) {
    inputs.continue_final_message = continues;
    (void)chat->Render(inputs).ok();
  }
  return 0;
}
