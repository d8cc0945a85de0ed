#include "server/tool_parsers/call_writer.h"

#include <utility>

#include "base/rng.h"

namespace quire {

std::string MakeCallId(CallIdStyle style, std::uint64_t id_seed, int call_index) {
  const auto words =
      Philox({static_cast<std::uint32_t>(call_index), 0, 0, 0},
             {static_cast<std::uint32_t>(id_seed), static_cast<std::uint32_t>(id_seed >> 32)});
  std::uint64_t bits = (std::uint64_t{words[0]} << 32) | words[1];
  if (style == CallIdStyle::kNineCharacters) {
    constexpr std::string_view kLetters =
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    std::string id;
    for (; id.size() < 9; bits /= kLetters.size()) id += kLetters[bits % kLetters.size()];
    return id;
  }
  std::string id = "chatcmpl-tool-";
  for (int shift = 60; shift >= 0; shift -= 4) id += "0123456789abcdef"[(bits >> shift) & 15];
  return id;
}

void CallWriter::Begin(std::string name) {
  in_call_ = true;
  has_arguments_ = false;
  out_->push_back({.kind = AnswerEventKind::kCallBegin,
                   .call_index = call_index_,
                   .id = MakeCallId(id_style_, id_seed_, call_index_),
                   .name = std::move(name),
                   .text = {}});
}

void CallWriter::Arguments(std::string_view text) {
  has_arguments_ = has_arguments_ || !text.empty();
  Append(AnswerEventKind::kArguments, call_index_, text);
}

void CallWriter::End() {
  if (!has_arguments_) Arguments("{}");
  in_call_ = false;
  ++call_index_;
}

void CallWriter::Append(AnswerEventKind kind, int call_index, std::string_view text) {
  if (text.empty()) return;
  if (out_->size() > first_ && out_->back().kind == kind && out_->back().call_index == call_index) {
    out_->back().text += text;
    return;
  }
  out_->push_back(
      {.kind = kind, .call_index = call_index, .id = {}, .name = {}, .text = std::string(text)});
}

}  // namespace quire
