// Counts the tokens of an answer's reasoning: those between its markers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"

namespace quire {

// One per answer. A token counts once a byte of its text is known to be reasoning; the tokens that
// spell a marker do not count.
class ReasoningCounter {
 public:
  // `parser` is one of a ReasoningFormat, fresh.
  explicit ReasoningCounter(std::unique_ptr<AnswerParser> parser);

  // How many tokens the next token, whose text is `bytes`, turns out to add.
  std::int64_t Hear(std::string_view bytes);
  // The same of the end of the answer; no token comes after it.
  std::int64_t Finish();

 private:
  // Bytes of reasoning that `events_` tells of, which are dropped.
  std::size_t TakeTold();

  std::unique_ptr<AnswerParser> parser_;
  std::vector<std::size_t> waiting_;  // bytes of the latest tokens, which may be of a marker
  std::vector<AnswerEvent> events_;
};

}  // namespace quire
