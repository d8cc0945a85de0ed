#include "server/tool_parsers/xml_calls.h"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/json.h"
#include "server/tool_parsers/json_value.h"
#include "server/tool_parsers/marker.h"

namespace quire {
namespace {

// White space beyond this comes out even where a call may follow.
constexpr std::size_t kMaxSpaceBytes = 256;
constexpr std::size_t kMaxNameBytes = 256;  // of a function or a parameter

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxNameBytes && std::ranges::all_of(text, IsNameByte);
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsJsonSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsJsonSpace(text.back())) text.remove_suffix(1);
  return text;
}

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) AppendEscaped(out, c);
  return out + "\"";
}

// A value that need not be a string: JSON as it stands, a word of Python's, or a string after all.
std::string ValueText(std::string_view text) {
  const std::string_view bare = Trimmed(text);
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kWords = {
      {{"True", "true"}, {"False", "false"}, {"None", "null"}}};
  for (const auto& [word, value] : kWords) {
    if (bare == word) return std::string(value);
  }
  if (ParseJson(bare).ok()) return std::string(bare);
  return Quoted(text);
}

bool IsNull(std::string_view text) { return text == "null" || text == "None"; }

// How the held bytes stand to any of `markers`.
template <std::size_t kCount>
MarkerMatch MatchAny(const std::array<std::string_view, kCount>& markers, std::string_view held,
                     std::string_view& whole) {
  bool is_prefix = false;
  for (const std::string_view marker : markers) {
    const MarkerMatch match = MatchMarker(marker, held);
    if (match == MarkerMatch::kWhole) {
      whole = marker;
      return match;
    }
    is_prefix = is_prefix || match == MarkerMatch::kPrefix;
  }
  return is_prefix ? MarkerMatch::kPrefix : MarkerMatch::kNone;
}

}  // namespace

XmlCallParser::XmlCallParser(const XmlCallStyle& style, std::uint64_t id_seed,
                             const ParameterTypes* types)
    : style_(style), types_(types), writer_(id_seed) {}

void XmlCallParser::Feed(std::string_view delta, std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  for (const char c : delta) Put(c);
}

void XmlCallParser::Finish(std::vector<AnswerEvent>& out) {
  writer_.Attach(out);
  if (writer_.in_call()) {  // broken off: what came of the arguments stays
    const bool is_text = state_ == State::kValue && type_ == ParameterType::kString;
    for (const char c : is_text ? held_ : std::string()) PutValueByte(c);
    return;
  }
  const bool is_lost_space = is_after_call_ && held_.empty();
  if (!is_lost_space) WriteContent(held_);
}

void XmlCallParser::Put(char c) {
  switch (state_) {
    case State::kText:
      return PutText(c);
    case State::kOpening:
      return PutOpening(c);
    case State::kInside:
      return PutInside(c);
    case State::kKey:
      return PutKey(c);
    case State::kValueBegin:
      return PutValueBegin(c);
    case State::kValue:
      return PutValue(c);
  }
}

void XmlCallParser::Reread(void (XmlCallParser::*put_first)(char)) {
  const std::string text = std::exchange(held_, std::string());
  (this->*put_first)(text.front());
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

void XmlCallParser::PutText(char c) {
  held_ += c;
  std::string_view whole;
  const std::array markers = {style_.begin, style_.function_begin,
                              in_tag_ ? style_.end : std::string_view()};
  const MarkerMatch match = MatchAny(markers, held_, whole);
  if (match == MarkerMatch::kWhole) return MeetMarker(whole);
  if (match == MarkerMatch::kNone) Reread(&XmlCallParser::PutPlain);
}

void XmlCallParser::PutPlain(char c) {
  if (is_quiet_ && IsJsonSpace(c) && space_.size() < kMaxSpaceBytes) {
    space_ += c;
    return;
  }
  WriteContent({&c, 1});
}

void XmlCallParser::MeetMarker(std::string_view marker) {
  if (marker == style_.end) {
    held_.clear();
    space_.clear();
    in_tag_ = false;
    return;
  }
  state_ = State::kOpening;  // held_ keeps the marker, for the case that no call follows
  if (marker == style_.begin) in_tag_ = true;
}

// `begin`, white space, and what names the function.
void XmlCallParser::PutOpening(char c) {
  held_ += c;
  std::string_view opening = held_;
  if (opening.starts_with(style_.begin)) opening.remove_prefix(style_.begin.size());
  while (!opening.empty() && IsJsonSpace(opening.front())) opening.remove_prefix(1);
  const bool is_long = held_.size() > kMaxSpaceBytes + kMaxNameBytes;
  if (is_long) return BreakOff();
  if (opening.empty()) return;
  if (!style_.function_begin.empty()) {
    const MarkerMatch match =
        MatchMarker(style_.function_begin, opening.substr(0, style_.function_begin.size()));
    if (match == MarkerMatch::kNone) return BreakOff();
    if (match == MarkerMatch::kPrefix) return;
    opening.remove_prefix(style_.function_begin.size());
    if (c != '>' || opening.empty()) return;
    if (!TakeName(Trimmed(opening.substr(0, opening.size() - 1)))) BreakOff();
    return;
  }
  if (IsNameByte(c)) return;
  const bool ends_name = IsJsonSpace(c) || c == '<';
  if (!ends_name || !TakeName(opening.substr(0, opening.size() - 1))) return BreakOff();
  if (c == '<') Put(c);
}

// Begins the call of that name, if it is one.
bool XmlCallParser::TakeName(std::string_view name) {
  if (!IsName(name)) return false;
  function_ = name;
  num_parameters_ = 0;
  held_.clear();
  space_.clear();
  writer_.Begin(function_);
  state_ = State::kInside;
  return true;
}

void XmlCallParser::PutInside(char c) {
  if (held_.empty() && IsJsonSpace(c)) return;
  held_ += c;
  std::string_view whole;
  const std::array markers = {style_.key_begin, style_.function_end, style_.end};
  const MarkerMatch match = MatchAny(markers, held_, whole);
  if (match == MarkerMatch::kPrefix) return;
  if (match == MarkerMatch::kNone) return BreakOff();
  held_.clear();
  if (whole == style_.key_begin) {
    state_ = State::kKey;
    return;
  }
  EndCall();
  if (whole == style_.end) in_tag_ = false;
}

void XmlCallParser::PutKey(char c) {
  held_ += c;
  if (held_.size() > kMaxNameBytes + style_.key_end.size()) return BreakOff();
  if (!held_.ends_with(style_.key_end)) return;
  const std::string_view text = held_;
  const std::string key(Trimmed(text.substr(0, text.size() - style_.key_end.size())));
  held_.clear();
  type_ = types_ == nullptr ? ParameterType::kOther : types_->Find(function_, key);
  writer_.Arguments(num_parameters_ == 0 ? "{" : ", ");
  ++num_parameters_;
  writer_.Arguments(Quoted(key));
  writer_.Arguments(": ");
  if (style_.value_begin.empty()) {
    BeginValue();
  } else {
    state_ = State::kValueBegin;
  }
}

void XmlCallParser::PutValueBegin(char c) {
  if (held_.empty() && IsJsonSpace(c)) return;
  held_ += c;
  const MarkerMatch match = MatchMarker(style_.value_begin, held_);
  if (match == MarkerMatch::kPrefix) return;
  if (match == MarkerMatch::kNone) return BreakOff();
  BeginValue();
}

void XmlCallParser::BeginValue() {
  held_.clear();
  value_.clear();
  is_first_of_value_ = true;
  has_line_break_ = false;
  state_ = State::kValue;
  if (type_ == ParameterType::kString) writer_.Arguments("\"");
}

void XmlCallParser::PutValue(char c) {
  held_ += c;
  std::string_view whole;
  const bool ends_early = style_.is_in_lines;
  const std::array markers = {style_.value_end, ends_early ? style_.key_begin : std::string_view(),
                              ends_early ? style_.function_end : std::string_view()};
  const MarkerMatch match = MatchAny(markers, held_, whole);
  if (match == MarkerMatch::kPrefix) return;
  if (match == MarkerMatch::kNone) return Reread(&XmlCallParser::PutValueByte);
  EndValue();
  if (whole == style_.value_end) {
    held_.clear();
    return;
  }
  const std::string again = std::exchange(held_, std::string());
  for (const char each : again) Put(each);
}

void XmlCallParser::PutValueByte(char c) {
  const bool is_first = std::exchange(is_first_of_value_, false);
  if (style_.is_in_lines && is_first && c == '\n') return;
  const auto write = [this](char byte) {
    if (type_ == ParameterType::kString) {
      std::string escaped;
      AppendEscaped(escaped, byte);
      writer_.Arguments(escaped);
    } else {
      value_ += byte;
    }
  };
  if (std::exchange(has_line_break_, false)) write('\n');
  if (style_.is_in_lines && c == '\n') {
    has_line_break_ = true;
  } else if (value_.size() < kMaxHeldBytes) {
    write(c);
  }
}

void XmlCallParser::EndValue() {
  switch (type_) {
    case ParameterType::kString:
      writer_.Arguments("\"");
      break;
    case ParameterType::kMaybe:
      writer_.Arguments(IsNull(Trimmed(value_)) ? "null" : Quoted(value_));
      break;
    case ParameterType::kOther:
      writer_.Arguments(ValueText(value_));
      break;
  }
  value_.clear();
  state_ = State::kInside;
}

void XmlCallParser::EndCall() {
  if (num_parameters_ > 0) writer_.Arguments("}");
  writer_.End();
  held_.clear();
  space_.clear();
  state_ = State::kText;
  is_quiet_ = true;
  is_after_call_ = true;
}

// What is held is no call; or it is the end of one that has gone wrong, whose arguments stay as
// they came.
void XmlCallParser::BreakOff() {
  const bool was_in_call = writer_.in_call();
  const std::string text = std::exchange(held_, std::string());
  if (was_in_call) {
    writer_.End();
    space_.clear();
    is_after_call_ = true;
  }
  in_tag_ = false;
  state_ = State::kText;
  // The first byte opened what was held, and would again.
  WriteContent(std::string_view(text).substr(0, 1));
  for (std::size_t i = 1; i < text.size(); ++i) Put(text[i]);
}

void XmlCallParser::WriteContent(std::string_view text) {
  writer_.Content(space_);
  writer_.Content(text);
  space_.clear();
  if (text.empty()) return;
  is_quiet_ = false;
  is_after_call_ = false;
}

}  // namespace quire
