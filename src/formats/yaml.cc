#include "formats/yaml.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <yaml.h>

#include "base/strings.h"

namespace quire {

namespace {

// A plain scalar by YAML 1.2's core schema.
Json PlainScalar(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return {};
  if (text == "true" || text == "True" || text == "TRUE") return Json(true);
  if (text == "false" || text == "False" || text == "FALSE") return Json(false);
  if (const auto integer = ParseNumber<std::int64_t>(text)) return Json(*integer);
  const bool looks_numeric = text.find_first_not_of("+-.0123456789eE") == std::string_view::npos;
  if (looks_numeric) {
    if (const auto number = ParseNumber<double>(text)) return Json(*number);
  }
  return Json(text);
}

// One event of the library, which gives its memory back.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&raw); }

  std::string_view scalar() const {
    return {reinterpret_cast<const char*>(raw.data.scalar.value), raw.data.scalar.length};
  }
  std::size_t line() const { return raw.start_mark.line + 1; }

  yaml_event_t raw{};
};

class Reader {
 public:
  Reader(std::string_view text, int max_depth) : max_depth_(max_depth) {
    is_ready_ = yaml_parser_initialize(&parser_) == 1;
    if (!is_ready_) return;
    yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() {
    if (is_ready_) yaml_parser_delete(&parser_);
  }

  Result<Json> Read() {
    if (!is_ready_) return ResourceExhausted("no memory to read YAML");
    while (true) {
      Event event;
      if (yaml_parser_parse(&parser_, &event.raw) != 1) return Fault();
      if (event.raw.type == YAML_STREAM_END_EVENT) return std::move(document_);
      QUIRE_RETURN_IF_ERROR(Take(event));
    }
  }

 private:
  // A mapping or a sequence that is not closed yet.
  struct Open {
    Json value;
    std::optional<std::string> name;  // of the member that comes next
  };

  static Status At(std::size_t line, std::string_view message) {
    return InvalidArgument(StrCat("line ", line, ": ", message));
  }

  Status Fault() const {
    return At(parser_.problem_mark.line + 1,
              parser_.problem == nullptr ? "this is no YAML" : parser_.problem);
  }

  Status Take(const Event& event) {
    switch (event.raw.type) {
      case YAML_DOCUMENT_START_EVENT:
        if (std::exchange(has_document_, true)) return At(event.line(), "a second document begins");
        return {};
      case YAML_ALIAS_EVENT:
        return At(event.line(), "aliases are not read");
      case YAML_SCALAR_EVENT:
        return TakeScalar(event);
      case YAML_SEQUENCE_START_EVENT:
        return Begin(event, JsonArray(), event.raw.data.sequence_start.anchor,
                     event.raw.data.sequence_start.tag);
      case YAML_MAPPING_START_EVENT:
        return Begin(event, JsonObject(), event.raw.data.mapping_start.anchor,
                     event.raw.data.mapping_start.tag);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: {
        Json value = std::move(open_.back().value);
        open_.pop_back();
        return Put(std::move(value));
      }
      default:
        return {};
    }
  }

  static Status CheckBare(const Event& event, const yaml_char_t* anchor, const yaml_char_t* tag) {
    if (anchor != nullptr) return At(event.line(), "anchors are not read");
    if (tag != nullptr) return At(event.line(), "tags are not read");
    return {};
  }

  Status Begin(const Event& event, Json empty, const yaml_char_t* anchor, const yaml_char_t* tag) {
    QUIRE_RETURN_IF_ERROR(CheckBare(event, anchor, tag));
    if (static_cast<int>(open_.size()) >= max_depth_) {
      return At(event.line(), StrCat("nested deeper than ", max_depth_));
    }
    if (WantsName()) return At(event.line(), "the name of a member must be a scalar");
    open_.push_back({.value = std::move(empty), .name = std::nullopt});
    return {};
  }

  bool WantsName() const {
    return !open_.empty() && open_.back().value.is_object() && !open_.back().name;
  }

  Status TakeScalar(const Event& event) {
    const auto& scalar = event.raw.data.scalar;
    QUIRE_RETURN_IF_ERROR(CheckBare(event, scalar.anchor, scalar.tag));
    const std::string_view text = event.scalar();
    if (WantsName()) {
      if (open_.back().value.Find(text) != nullptr) {
        return At(event.line(), StrCat(Printable(text), " stands twice"));
      }
      open_.back().name = text;
      return {};
    }
    const bool is_plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
    return Put(is_plain ? PlainScalar(text) : Json(text));
  }

  Status Put(Json value) {
    if (open_.empty()) {
      document_ = std::move(value);
      return {};
    }
    Open& open = open_.back();
    if (open.value.is_array()) {
      open.value.array().push_back(std::move(value));
    } else {
      open.value.object().emplace_back(*std::move(open.name), std::move(value));
      open.name.reset();
    }
    return {};
  }

  const int max_depth_;
  yaml_parser_t parser_{};
  bool is_ready_ = false;
  bool has_document_ = false;
  std::vector<Open> open_;
  Json document_;
};

}  // namespace

Result<Json> ParseYaml(std::string_view text, const YamlLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return InvalidArgument(StrCat("YAML of more than ", limits.max_bytes, " bytes"));
  }
  if (!IsValidUtf8(text)) return InvalidArgument("YAML must be UTF-8");
  return Reader(text, limits.max_depth).Read();
}

}  // namespace quire
