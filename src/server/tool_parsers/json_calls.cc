#include "server/tool_parsers/json_calls.h"

#include <algorithm>
#include <optional>

#include "server/tool_parsers/marker.h"

namespace quire {
namespace {

// White space beyond this comes out even where a call may follow.
constexpr std::size_t kMaxSpaceBytes = 256;

// What may stand between the marker and the arguments of a named call.
constexpr std::size_t kMaxNamingBytes = 512;

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool IsNamingByte(char c) { return IsNameByte(c) || c == '[' || c == ']' || IsJsonSpace(c); }

bool IsAllSpace(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsJsonSpace);
}

// The name in NAME, NAME[ARGS] or NAME[CALL_ID]id[ARGS], with white space around it.
std::optional<std::string> NameOf(std::string_view naming) {
  const std::size_t start = naming.find_first_not_of(" \n\r\t");
  if (start == std::string_view::npos) return std::nullopt;
  naming.remove_prefix(start);
  const auto name_end = std::find_if_not(naming.begin(), naming.end(), IsNameByte);
  const std::string_view name(naming.data(), static_cast<std::size_t>(name_end - naming.begin()));
  std::string_view rest = naming.substr(name.size());
  constexpr std::string_view kCallId = "[CALL_ID]";
  if (rest.starts_with(kCallId)) rest.remove_prefix(std::min(rest.find("[ARGS]"), rest.size()));
  if (rest.starts_with("[ARGS]")) rest.remove_prefix(std::string_view("[ARGS]").size());
  const bool is_sound =
      !name.empty() && name.size() <= CallObjectReader::kMaxNameBytes && IsAllSpace(rest);
  return is_sound ? std::optional(std::string(name)) : std::nullopt;
}

}  // namespace

JsonCallParser::JsonCallParser(const JsonCallStyle& style, std::uint64_t id_seed)
    : style_(style), writer_(id_seed, style.ids), object_(style.keys) {
  if (style.is_all_calls) state_ = State::kAfterMarker;
}

void JsonCallParser::Feed(std::string_view delta, std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  for (const char c : delta) Put(c);
}

void JsonCallParser::Finish(std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  if (state_ == State::kArguments) return;
  const bool is_lost_space = is_after_call_ && held_.empty();
  const bool is_tail = state_ == State::kObject && writer_.in_call();
  if (is_lost_space || (is_tail && IsAllSpace(held_))) return;
  WriteContent(held_);
}

void JsonCallParser::Put(char c) {
  switch (state_) {
    case State::kText:
      return PutText(c);
    case State::kAfterMarker:
      return PutAfterMarker(c);
    case State::kName:
      return PutName(c);
    case State::kObject:
      return PutObject(c);
    case State::kArguments:
      return PutArguments(c);
  }
}

void JsonCallParser::PutText(char c) {
  held_ += c;
  const MarkerMatch begin = MatchMarker(style_.begin, held_);
  const MarkerMatch end = in_tag_ ? MatchMarker(style_.end, held_) : MarkerMatch::kNone;
  if (begin == MarkerMatch::kWhole || end == MarkerMatch::kWhole) {
    return MeetMarker(begin == MarkerMatch::kWhole);
  }
  if (begin == MarkerMatch::kPrefix || end == MarkerMatch::kPrefix) return;
  // No marker starts at the first byte held; the others, a part of a marker at most, are read
  // again.
  const std::string text = std::move(held_);
  held_.clear();
  PutPlain(text.front());
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

bool JsonCallParser::TakesSpace(char c) const {
  if (!is_quiet_ || space_.size() >= kMaxSpaceBytes) return false;
  if (IsJsonSpace(c)) return true;
  if (!is_after_call_) return false;
  const bool is_separator =
      in_list_ ? c == ',' : style_.separators.find(c) != std::string_view::npos;
  return is_separator && space_.find(c) == std::string::npos;
}

bool JsonCallParser::MayOpenObject() const {
  if (is_after_call_ && (in_tag_ || in_list_)) return true;
  return style_.may_be_bare && (is_line_start_ || is_after_call_);
}

void JsonCallParser::PutPlain(char c) {
  if (TakesSpace(c)) {
    space_ += c;
    return;
  }
  if (c == '{' && MayOpenObject()) return OpenObject(c);
  if (c == ']' && in_list_ && is_after_call_) {
    in_list_ = false;
    space_.clear();
    return;
  }
  WriteContent({&c, 1});
}

void JsonCallParser::MeetMarker(bool is_begin) {
  if (is_begin) {
    state_ = State::kAfterMarker;
    in_list_ = false;
    in_tag_ = !style_.end.empty();
    return;  // held_ keeps the marker, for the case that no call follows
  }
  held_.clear();
  space_.clear();
  in_tag_ = false;
}

void JsonCallParser::PutAfterMarker(char c) {
  if (IsJsonSpace(c) && held_.size() < kMaxSpaceBytes) {
    held_ += c;
  } else if (c == '{') {
    OpenObject(c);
  } else if (c == '[' && !in_list_) {
    held_ += c;
    in_list_ = true;
  } else if (style_.may_be_named && !in_list_ && IsNameByte(c)) {
    state_ = State::kName;
    held_ += c;
  } else {
    BreakOff(c);
  }
}

void JsonCallParser::PutName(char c) {
  if (c == '{') {
    const std::optional<std::string> name =
        NameOf(std::string_view(held_).substr(style_.begin.size()));
    if (!name.has_value()) return BreakOff(c);
    space_.clear();
    held_.clear();
    writer_.Begin(*name);
    arguments_.Reset();
    state_ = State::kArguments;
    return PutArguments(c);
  }
  if (!IsNamingByte(c) || held_.size() >= kMaxNamingBytes) return BreakOff(c);
  held_ += c;
}

void JsonCallParser::PutArguments(char c) {
  const ReadState read = arguments_.Put(c);
  if (read != ReadState::kBroken) writer_.Arguments({&c, 1});
  if (read == ReadState::kMore) return;
  EndCall();
  if (read == ReadState::kBroken) WriteContent({&c, 1});
}

void JsonCallParser::OpenObject(char c) {
  state_ = State::kObject;
  object_.Reset();
  PutObject(c);
}

void JsonCallParser::PutObject(char c) {
  const bool was_in_call = writer_.in_call();
  const bool was_streaming = object_.is_streaming();
  const ReadState read =
      held_.size() < kMaxHeldBytes ? object_.Put(c, writer_) : ReadState::kBroken;
  const bool has_begun = writer_.in_call() && !was_in_call;
  if (has_begun) {
    held_.clear();
    space_.clear();
  }
  if (read == ReadState::kBroken) return BreakOff(c);
  if (read == ReadState::kDone) return EndCall();
  if (!was_streaming && !has_begun) held_ += c;
}

void JsonCallParser::EndCall() {
  writer_.End();
  held_.clear();
  space_.clear();
  state_ = State::kText;
  is_quiet_ = true;
  is_after_call_ = true;
  is_line_start_ = false;
}

// What was held is no call, or the rest of a broken one.
void JsonCallParser::BreakOff(char c) {
  const std::string text = std::move(held_);
  const bool was_in_call = writer_.in_call();
  held_.clear();
  if (was_in_call) EndCall();
  state_ = State::kText;
  if (was_in_call && IsAllSpace(text)) {
    space_ = text;
  } else {
    in_list_ = false;
    WriteContent(text);
  }
  if (!was_in_call) in_tag_ = false;
  Put(c);
}

void JsonCallParser::WriteContent(std::string_view text) {
  writer_.Content(space_);
  writer_.Content(text);
  space_.clear();
  if (text.empty()) return;
  is_quiet_ = false;
  is_after_call_ = false;
  is_line_start_ = text.back() == '\n';
}

}  // namespace quire
