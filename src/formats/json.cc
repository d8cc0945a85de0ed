#include "formats/json.h"

#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace quire {

Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

bool Json::boolean() const {
  QUIRE_CHECK(is_bool()) << "is " << kind();
  return std::get<bool>(value_);
}

std::int64_t Json::integer() const {
  QUIRE_CHECK(is_int()) << "is " << kind();
  return std::get<std::int64_t>(value_);
}

std::uint64_t Json::uint64() const {
  QUIRE_CHECK(is_uint64()) << "is " << kind();
  return std::get<std::uint64_t>(value_);
}

double Json::number() const {
  if (is_int()) return static_cast<double>(std::get<std::int64_t>(value_));
  if (is_uint64()) return static_cast<double>(std::get<std::uint64_t>(value_));
  QUIRE_CHECK(is_double()) << "is " << kind();
  return std::get<double>(value_);
}

const std::string& Json::string() const {
  QUIRE_CHECK(is_string()) << "is " << kind();
  return std::get<std::string>(value_);
}

const JsonArray& Json::array() const {
  QUIRE_CHECK(is_array()) << "is " << kind();
  return std::get<JsonArray>(value_);
}

JsonArray& Json::array() {
  QUIRE_CHECK(is_array()) << "is " << kind();
  return std::get<JsonArray>(value_);
}

const JsonObject& Json::object() const {
  QUIRE_CHECK(is_object()) << "is " << kind();
  return std::get<JsonObject>(value_);
}

JsonObject& Json::object() {
  QUIRE_CHECK(is_object()) << "is " << kind();
  return std::get<JsonObject>(value_);
}

const Json* Json::Find(std::string_view name) const {
  if (!is_object()) return nullptr;
  const JsonObject& members = object();
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->first == name) return &member->second;
  }
  return nullptr;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = JsonObject();
  JsonObject& members = object();
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->first == name) return member->second;
  }
  return members.emplace_back(std::string(name), Json()).second;
}

std::string_view Json::kind() const {
  if (is_null()) return "null";
  if (is_bool()) return "a boolean";
  if (is_int() || is_uint64()) return "an integer";
  if (is_double()) return "a number";
  if (is_string()) return "a string";
  return is_array() ? "an array" : "an object";
}

namespace {

// Writes a tree as text.
class Dumper {
 public:
  explicit Dumper(int indent) : indent_(indent) {}

  void Write(const Json& value);
  std::string Take() { return std::move(out_); }

 private:
  template <typename Items, typename WriteItem>
  void WriteItems(char open, char close, const Items& items, const WriteItem& write_item);
  void WriteString(std::string_view text);
  void WriteEscaped(unsigned char byte);
  void WriteDouble(double value);
  void NewLine();

  int indent_;
  int depth_ = 0;
  std::string out_;
};

void Dumper::NewLine() {
  if (indent_ < 0) return;
  out_ += '\n';
  out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth_), ' ');
}

template <typename Items, typename WriteItem>
void Dumper::WriteItems(char open, char close, const Items& items, const WriteItem& write_item) {
  out_ += open;
  ++depth_;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) out_ += ',';
    is_first = false;
    NewLine();
    write_item(item);
  }
  --depth_;
  if (!items.empty()) NewLine();
  out_ += close;
}

void Dumper::Write(const Json& value) {
  if (value.is_null()) {
    out_ += "null";
  } else if (value.is_bool()) {
    out_ += value.boolean() ? "true" : "false";
  } else if (value.is_int()) {
    out_ += StrCat(value.integer());
  } else if (value.is_uint64()) {
    out_ += StrCat(value.uint64());
  } else if (value.is_double()) {
    WriteDouble(value.number());
  } else if (value.is_string()) {
    WriteString(value.string());
  } else if (value.is_array()) {
    WriteItems('[', ']', value.array(), [this](const Json& item) { Write(item); });
  } else {
    WriteItems('{', '}', value.object(), [this](const auto& member) {
      WriteString(member.first);
      out_ += indent_ < 0 ? ":" : ": ";
      Write(member.second);
    });
  }
}

void Dumper::WriteEscaped(unsigned char byte) {
  constexpr std::string_view kShort = "\"\\\b\f\n\r\t";
  constexpr std::string_view kLetters = "\"\\bfnrt";
  out_ += '\\';
  if (const std::size_t at = kShort.find(static_cast<char>(byte)); at != kShort.npos) {
    out_ += kLetters[at];
    return;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  out_ += "u00";
  out_ += kHex[byte >> 4];
  out_ += kHex[byte & 15];
}

void Dumper::WriteString(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const int length = Utf8SequenceLength(text);
    if (length == 0) {
      out_ += "\uFFFD";
    } else if (lead < 0x20 || lead == '"' || lead == '\\') {
      WriteEscaped(lead);
    } else {
      out_ += text.substr(0, static_cast<std::size_t>(length));
    }
    text.remove_prefix(static_cast<std::size_t>(length == 0 ? 1 : length));
  }
  out_ += '"';
}

void Dumper::WriteDouble(double value) {
  if (std::isnan(value)) {
    out_ += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out_ += value < 0 ? "-Infinity" : "Infinity";
    return;
  }
  // Python writes plain digits from 1e-4 up to below 1e16.
  const double size = std::fabs(value);
  const bool is_plain = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value,
                    is_plain ? std::chars_format::fixed : std::chars_format::scientific);
  const std::string_view text(digits, static_cast<std::size_t>(end.ptr - digits));
  out_ += text;
  if (is_plain && text.find('.') == text.npos) out_ += ".0";
}

}  // namespace

std::string Json::Dump(int indent) const {
  Dumper dumper(indent);
  dumper.Write(*this);
  return dumper.Take();
}

namespace {

// What a typed read asks of a member.
struct Wanted {
  std::string_view text;
  bool (*accepts)(const Json&);
};

constexpr Wanted kInteger = {"an integer of 64 bits", [](const Json& v) { return v.is_int(); }};
constexpr Wanted kNumber = {"a number", [](const Json& v) { return v.is_number(); }};
constexpr Wanted kString = {"a string", [](const Json& v) { return v.is_string(); }};
constexpr Wanted kBoolean = {"a boolean", [](const Json& v) { return v.is_bool(); }};

// The member if it is there and not null; an error if it is of another kind.
Result<const Json*> Optional(const Json& object, std::string_view name, const Wanted& wanted) {
  const Json* member = object.Find(name);
  if (member == nullptr || member->is_null()) return nullptr;
  if (wanted.accepts(*member)) return member;
  return InvalidArgument(StrCat(Printable(name), ": must be ", wanted.text, ", got ",
                                member->kind(),
                                member->is_uint64() ? StrCat(" ", member->uint64()) : ""));
}

Result<const Json*> Required(const Json& object, std::string_view name, const Wanted& wanted) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Optional(object, name, wanted));
  if (member != nullptr) return member;
  if (object.is_object() && object.Find(name) == nullptr) {
    return InvalidArgument(StrCat(Printable(name), ": is missing; must be ", wanted.text));
  }
  const std::string_view got = object.is_object() ? "null" : "no object to read it from";
  return InvalidArgument(StrCat(Printable(name), ": must be ", wanted.text, ", got ", got));
}

}  // namespace

Result<std::int64_t> RequireInt(const Json& object, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Required(object, name, kInteger));
  return member->integer();
}

Result<double> RequireNumber(const Json& object, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Required(object, name, kNumber));
  return member->number();
}

Result<std::string> RequireString(const Json& object, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Required(object, name, kString));
  return member->string();
}

Result<bool> RequireBool(const Json& object, std::string_view name) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Required(object, name, kBoolean));
  return member->boolean();
}

Result<std::int64_t> IntOr(const Json& object, std::string_view name, std::int64_t fallback) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Optional(object, name, kInteger));
  return member == nullptr ? fallback : member->integer();
}

Result<double> NumberOr(const Json& object, std::string_view name, double fallback) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Optional(object, name, kNumber));
  return member == nullptr ? fallback : member->number();
}

Result<std::string> StringOr(const Json& object, std::string_view name, std::string fallback) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Optional(object, name, kString));
  if (member != nullptr) return member->string();
  return fallback;
}

Result<bool> BoolOr(const Json& object, std::string_view name, bool fallback) {
  QUIRE_ASSIGN_OR_RETURN(const Json* member, Optional(object, name, kBoolean));
  return member == nullptr ? fallback : member->boolean();
}

}  // namespace quire
