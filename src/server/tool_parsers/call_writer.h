// What parsers of answers write their events through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_parser.h"

namespace quire {

// How the id of a call looks: vLLM's own form, or the nine letters and digits that the templates
// of Mistral insist on.
enum class CallIdStyle { kVllm, kNineCharacters };

// An id for call number `call_index` of the answer with that seed.
std::string MakeCallId(CallIdStyle style, std::uint64_t id_seed, int call_index);

// Appends events, joining neighbours of one kind that came in one Feed, and numbers the calls.
class CallWriter {
 public:
  explicit CallWriter(std::uint64_t id_seed, CallIdStyle id_style = CallIdStyle::kVllm)
      : id_seed_(id_seed), id_style_(id_style) {}

  // Events go to the end of `out` from now on. It must outlive the writing.
  void Attach(std::vector<AnswerEvent>& out) {
    out_ = &out;
    first_ = out.size();
  }

  void Content(std::string_view text) { Append(AnswerEventKind::kContent, 0, text); }
  void Reasoning(std::string_view text) { Append(AnswerEventKind::kReasoning, 0, text); }

  // Begin, any number of Arguments, End; End writes "{}" where no arguments came.
  void Begin(std::string name);
  void Arguments(std::string_view text);
  void End();

  // Whether a call has begun and not ended.
  bool in_call() const { return in_call_; }

 private:
  void Append(AnswerEventKind kind, int call_index, std::string_view text);

  std::uint64_t id_seed_;
  CallIdStyle id_style_;
  std::vector<AnswerEvent>* out_ = nullptr;
  std::size_t first_ = 0;  // of this Feed in *out_
  int call_index_ = 0;
  bool in_call_ = false;
  bool has_arguments_ = false;
};

}  // namespace quire
