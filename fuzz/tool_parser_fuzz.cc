// Parsers of answers: every cut of a text must give what the whole text gives.
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "server/tool_parsers/formats.h"
#include "server/tool_parsers/testing.h"

namespace {

using quire::AnswerParser;
using quire::AnswerParserOptions;
using quire::JoinedAnswer;

std::unique_ptr<AnswerParser> MakeParser(unsigned choice) {
  const auto tools = quire::ToolFormats();
  const auto reasoning = quire::ReasoningFormats();
  AnswerParserOptions options;
  options.tools = &tools[choice % tools.size()];
  switch (choice / tools.size() % 5) {
    case 0:
      return MakeAnswerParser(options);
    case 1:
      options.reasoning = &reasoning[choice % reasoning.size()];
      options.prompt_end = "<|start|>assistant";
      return MakeAnswerParser(options);
    case 2:
      options.reasoning = &reasoning[choice % reasoning.size()];
      options.tools = nullptr;
      options.prompt_end = "<think>\n";
      return MakeAnswerParser(options);
    case 3:
      return MakeRequiredCallParser(options);
    default:
      return MakeNamedCallParser(options, "f");
  }
}

}  // namespace

// The first byte chooses the parser, the second how the text is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
  const JoinedAnswer whole = ParseWhole(*MakeParser(data[0]), text);
  QUIRE_CHECK(whole.is_sound) << "calls out of order";
  std::uint32_t state = data[1];
  const auto next_length = [&] {
    state = state * 1664525U + 1013904223U;
    return std::size_t{(state >> 24) % 8 + 1};
  };
  const bool is_same = ParseInPieces(*MakeParser(data[0]), text, next_length) == whole;
  QUIRE_CHECK(is_same) << "the cuts change the answer";
  const auto one = [] { return std::size_t{1}; };
  QUIRE_CHECK(ParseInPieces(*MakeParser(data[0]), text, one) == whole) << "cut into bytes";
  return 0;
}
