// The reader of JSON text: nlohmann-json finds the tokens, a handler builds our tree. This is the
// one source that sees that library.
#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "formats/json.h"

namespace quire {
namespace {

// One of NaN, Infinity and -Infinity where a number may stand.
struct Literal {
  std::size_t begin = 0;
  double value = 0;
};

// Walks over the text and leaves in `position` how many bytes the lexer has taken, which is the
// only way to learn where an event happened.
class TrackedByte {
 public:
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  using iterator_category = std::input_iterator_tag;

  TrackedByte(const char* at, const char** seen) : at_(at), seen_(seen) {}
  reference operator*() const { return *at_; }
  TrackedByte& operator++() {
    *seen_ = ++at_;
    return *this;
  }
  friend bool operator==(const TrackedByte& a, const TrackedByte& b) { return a.at_ == b.at_; }

 private:
  const char* at_;
  const char** seen_;
};

// "line 3, column 14: "
std::string Place(std::string_view text, std::size_t position) {
  const std::string_view before = text.substr(0, position);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
  return StrCat("line ", line, ", column ", position - line_begin + 1, ": ");
}

Status Fault(std::string_view text, std::size_t position, std::string_view reason) {
  return InvalidArgument(StrCat(Place(text, position), reason));
}

// Takes the library's events and builds the tree.
class Builder {
 public:
  using binary_t = nlohmann::json::binary_t;
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;

  Builder(std::string_view text, const JsonLimits& limits, std::vector<Literal> literals)
      : text_(text), limits_(limits), literals_(std::move(literals)), seen_(text.data()) {}

  TrackedByte begin() { return {text_.data(), &seen_}; }
  TrackedByte end() { return {text_.data() + text_.size(), &seen_}; }

  // The tree, once the library has said that the text is whole.
  Json TakeRoot() { return std::move(root_); }
  // Why it stopped.
  const Status& fault() const { return fault_; }

  // The library's interface: false stops it.
  bool null() { return Add(Json()); }
  bool boolean(bool value) { return Add(value); }
  bool number_integer(number_integer_t value) { return AddNumber(value); }
  bool number_unsigned(number_unsigned_t value) { return AddNumber(value); }
  bool number_float(number_float_t value, const string_t&) { return AddNumber(value); }
  bool string(string_t& value) { return Add(std::move(value)); }
  bool binary(binary_t&) { return false; }
  bool start_object(std::size_t) { return Open(JsonObject()); }
  bool start_array(std::size_t) { return Open(JsonArray()); }
  bool end_array() { return Close(); }
  bool key(string_t& name);
  bool end_object();
  bool parse_error(std::size_t position, const std::string& last_token,
                   const nlohmann::json::exception& error);

 private:
  // An array or object whose end has not come; the tree holds still under the pointer, because
  // only the innermost open one grows.
  struct Frame {
    Json* container;
    std::vector<std::size_t> name_ends;  // of an object, with unique_names: where each name ended
  };

  std::size_t position() const { return static_cast<std::size_t>(seen_ - text_.data()); }
  bool Stop(std::size_t position, std::string_view reason);
  Json* Put(Json value);
  bool Add(Json value);
  bool AddNumber(Json value);
  bool Open(Json container);
  bool Close();

  std::string_view text_;
  const JsonLimits& limits_;
  std::vector<Literal> literals_;
  std::size_t next_literal_ = 0;
  const char* seen_;
  Json root_;
  std::vector<Frame> open_;
  Status fault_;
};

bool Builder::Stop(std::size_t position, std::string_view reason) {
  fault_ = Fault(text_, position, reason);
  return false;
}

Json* Builder::Put(Json value) {
  if (open_.empty()) {
    root_ = std::move(value);
    return &root_;
  }
  Json& container = *open_.back().container;
  if (container.is_array()) return &container.array().emplace_back(std::move(value));
  Json& member = container.object().back().second;
  member = std::move(value);
  return &member;
}

bool Builder::Add(Json value) {
  Put(std::move(value));
  return true;
}

bool Builder::AddNumber(Json value) {
  // Numbers come in the order of the text, and a digit stands in the text for each literal.
  if (next_literal_ < literals_.size() && literals_[next_literal_].begin < position()) {
    value = literals_[next_literal_++].value;
  }
  return Add(std::move(value));
}

bool Builder::Open(Json container) {
  if (open_.size() >= static_cast<std::size_t>(limits_.max_depth)) {
    return Stop(position() - 1,
                StrCat("arrays and objects nest deeper than ", limits_.max_depth, " levels"));
  }
  open_.push_back({Put(std::move(container)), {}});
  return true;
}

bool Builder::Close() {
  open_.pop_back();
  return true;
}

bool Builder::key(string_t& name) {
  open_.back().container->object().emplace_back(std::move(name), Json());
  if (limits_.unique_names) open_.back().name_ends.push_back(position());
  return true;
}

// The first member, in the order of the text, whose name stands before it in the object.
std::optional<std::size_t> RepeatedName(const JsonObject& members) {
  if (members.size() < 2) return std::nullopt;
  std::vector<std::size_t> order(members.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return members[a].first < members[b].first;
  });
  std::optional<std::size_t> first;
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (members[order[i - 1]].first != members[order[i]].first) continue;
    first = std::min(first.value_or(order[i]), order[i]);
  }
  return first;
}

bool Builder::end_object() {
  if (!limits_.unique_names) return Close();
  const JsonObject& members = open_.back().container->object();
  const std::optional<std::size_t> repeated = RepeatedName(members);
  if (!repeated.has_value()) return Close();
  return Stop(
      open_.back().name_ends[*repeated] - 1,
      StrCat("the name \"", Printable(members[*repeated].first), "\" stands twice in one object"));
}

// The library's message without its prefix and without the token, which it quotes whole.
std::string_view Reason(std::string_view message) {
  if (message.starts_with('['))
    message.remove_prefix(std::min(message.find("] ") + 2, message.size()));
  constexpr std::string_view kColumn = ", column ";
  if (const std::size_t column = message.find(kColumn); column != message.npos) {
    const std::size_t colon = message.find(": ", column);
    if (colon != message.npos) message.remove_prefix(colon + 2);
  }
  return message.substr(0, message.find("; last read: "));
}

bool Builder::parse_error(std::size_t, const std::string& last_token,
                          const nlohmann::json::exception& error) {
  // The position that the library hands over counts from another start; ours is exact.
  const std::size_t at = position() == 0 ? 0 : position() - 1;
  std::string reason = Printable(Reason(error.what()), 160);
  if (!last_token.empty()) {
    constexpr std::size_t kShown = 40;
    const std::size_t cut = last_token.size() > kShown ? last_token.size() - kShown : 0;
    reason += StrCat("; last read: ", cut > 0 ? "…" : "",
                     Printable(std::string_view(last_token).substr(cut)));
  }
  return Stop(at, reason);
}

bool IsWordByte(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '+' || c == '.' || c == '_';
}

std::optional<double> LiteralValue(std::string_view word) {
  if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// The byte after the string that begins at `begin`.
std::size_t SkipString(std::string_view text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// Puts a number of the same length (so that columns stay true) over each literal outside strings,
// and says where the literals were.
std::vector<Literal> ReplaceLiterals(std::string& text) {
  std::vector<Literal> literals;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = SkipString(text, at);
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && IsWordByte(text[at])) ++at;
    if (at == begin) {
      ++at;
      continue;
    }
    const std::string_view word = std::string_view(text).substr(begin, at - begin);
    if (const std::optional<double> value = LiteralValue(word)) {
      literals.push_back({begin, *value});
      text.replace(begin, word.size(), word.size(), '1');
    }
  }
  return literals;
}

// What the library would let through.
Status CheckBytes(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return InvalidArgument(
        StrCat("is ", text.size(), " bytes long; at most ", limits.max_bytes, " are read"));
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    return Fault(text, 0, "begins with a byte order mark, which JSON forbids");
  }
  // A zero byte ends the text for the library, whatever follows.
  if (const std::size_t zero = text.find('\0'); zero != text.npos) {
    return Fault(text, zero, "a zero byte");
  }
  return Status();
}

}  // namespace

Result<Json> ParseJson(std::string_view text, const JsonLimits& limits) {
  QUIRE_RETURN_IF_ERROR(CheckBytes(text, limits));
  std::string replaced;
  std::vector<Literal> literals;
  if (limits.python_literals &&
      (text.find("NaN") != text.npos || text.find("Infinity") != text.npos)) {
    replaced = text;
    literals = ReplaceLiterals(replaced);
    text = replaced;
  }
  Builder builder(text, limits, std::move(literals));
  if (nlohmann::json::sax_parse(builder.begin(), builder.end(), &builder)) {
    return builder.TakeRoot();
  }
  return builder.fault();
}

}  // namespace quire
