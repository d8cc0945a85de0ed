#include "server/tool_parsers/harmony.h"

#include <algorithm>
#include <array>

#include "server/tool_parsers/json_value.h"
#include "server/tool_parsers/marker.h"

namespace quire {
namespace {

constexpr std::string_view kStart = "<|start|>";
constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::array kMarkers = {kStart,
                                 kChannel,
                                 kConstrain,
                                 kHarmonyMessage,
                                 std::string_view("<|end|>"),
                                 std::string_view("<|call|>"),
                                 std::string_view("<|return|>")};
constexpr std::string_view kFunctions = "functions.";

// Beyond this it is no header but text.
constexpr std::size_t kMaxHeaderBytes = 1024;

// The word after `key` in a header; empty where there is none.
std::string_view WordAfter(std::string_view header, std::string_view key) {
  const std::size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + key.size());
  return header.substr(0, header.find_first_of(" \n\t<"));
}

// What the end of the prompt has of an open message: its header, as the template wrote it.
std::string_view OpenHeader(std::string_view prompt_end) {
  const std::size_t start = prompt_end.rfind(kStart);
  return start == std::string_view::npos ? std::string_view() : prompt_end.substr(start);
}

}  // namespace

HarmonyParser::HarmonyParser(const Options& options)
    : writer_(options.id_seed), has_calls_(options.has_calls) {
  const std::string_view header = OpenHeader(options.prompt_end);
  if (header.empty() || header.size() > kMaxHeaderBytes) return;
  std::vector<AnswerEvent> unused;
  writer_.Attach(unused);
  for (const char c : header) Put(c);
  num_prompt_bytes_ = header_.size();
  is_header_sure_ = header_.find(kChannel) != std::string::npos;
}

void HarmonyParser::Feed(std::string_view delta, std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  for (const char c : delta) Put(c);
}

void HarmonyParser::Finish(std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  if (state_ == State::kBody) {
    WriteBody(marker_);
    EndBody();
  } else {
    header_ += marker_;
    BreakOff();
  }
}

void HarmonyParser::Put(char c) {
  marker_ += c;
  bool is_prefix = false;
  for (const std::string_view marker : kMarkers) {
    const MarkerMatch match = MatchMarker(marker, marker_);
    if (match == MarkerMatch::kWhole) return MeetMarker(marker);
    is_prefix = is_prefix || match == MarkerMatch::kPrefix;
  }
  if (is_prefix) return;
  const std::string text = std::move(marker_);
  marker_.clear();
  PutPlain(text.front());
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

// Before any marker of a header only the rest of one may stand that the prompt began: " to=…".
bool HarmonyParser::MayStartHeader() const {
  constexpr std::string_view kRecipient = "to=";
  std::string_view text = std::string_view(header_).substr(num_prompt_bytes_);
  while (!text.empty() && IsJsonSpace(text.front())) text.remove_prefix(1);
  const std::size_t shared = std::min(text.size(), kRecipient.size());
  return text.substr(0, shared) == kRecipient.substr(0, shared);
}

void HarmonyParser::PutPlain(char c) {
  if (state_ == State::kBody) return WriteBody({&c, 1});
  header_ += c;
  const bool is_sound = is_header_sure_ || MayStartHeader();
  if (!is_sound || header_.size() > kMaxHeaderBytes) BreakOff();
}

void HarmonyParser::MeetMarker(std::string_view marker) {
  marker_.clear();
  if (marker == kHarmonyMessage) {
    if (state_ == State::kBody) return;  // a header within a body is none
    return BeginBody();
  }
  const bool is_of_header = marker == kStart || marker == kChannel || marker == kConstrain;
  if (state_ == State::kBody) EndBody();
  if (!is_of_header) {
    ClearHeader();
    state_ = State::kBetween;
    return;
  }
  if (marker == kStart) ClearHeader();
  state_ = State::kHeader;
  is_header_sure_ = true;
  header_ += marker;
}

void HarmonyParser::BeginBody() {
  const std::string_view recipient = WordAfter(header_, "to=");
  const std::string_view channel = WordAfter(header_, kChannel);
  const bool is_call = recipient.starts_with(kFunctions) && recipient.size() > kFunctions.size();
  if (is_call && has_calls_) {
    body_ = Body::kCall;
    writer_.Begin(std::string(recipient.substr(kFunctions.size())));
  } else {
    const bool is_hidden = channel == "analysis" || (!recipient.empty() && !is_call);
    body_ = is_hidden ? Body::kReasoning : Body::kContent;
  }
  ClearHeader();
  state_ = State::kBody;
}

void HarmonyParser::EndBody() {
  if (writer_.in_call()) writer_.End();
  ClearHeader();
  state_ = State::kBetween;
}

void HarmonyParser::WriteBody(std::string_view text) {
  switch (body_) {
    case Body::kReasoning:
      return writer_.Reasoning(text);
    case Body::kContent:
      return writer_.Content(text);
    case Body::kCall:
      return writer_.Arguments(text);
  }
}

// What was taken for a header is text.
void HarmonyParser::BreakOff() {
  body_ = Body::kContent;
  state_ = State::kBody;
  writer_.Content(std::string_view(header_).substr(num_prompt_bytes_));
  ClearHeader();
}

void HarmonyParser::ClearHeader() {
  header_.clear();
  num_prompt_bytes_ = 0;
  is_header_sure_ = false;
}

}  // namespace quire
