#include "tokenizer/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/log.h"
#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

struct StringData {
  std::string text;
  bool is_safe;
};
struct ListData {
  Items items;
  std::string label;
};
struct DictData {
  std::vector<std::pair<Value, Value>> pairs;
  std::unordered_map<std::string, std::size_t> by_text;  // of string keys, in large dicts
};
struct NamespaceData {
  std::vector<std::pair<std::string, Value>> names;
};

namespace {

constexpr std::size_t kIndexedFrom = 16;  // entries of a dict from which look-ups are indexed

template <typename T>
const T& As(const std::shared_ptr<const void>& data) {
  return *static_cast<const T*>(data.get());
}

}  // namespace

const Value* Arguments::Named(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

std::optional<Value> Callable::Attribute(std::string_view) const { return std::nullopt; }

Result<Value> Object::Call(Interpreter&, const Arguments&) {
  return TypeError(StrCat(Show(), " is not callable"));
}

Value Value::Undefined(std::string what) {
  Value value;
  value.data_ = std::make_shared<StringData>(StringData{std::move(what), false});
  return value;
}

Value Value::None() {
  Value value;
  value.kind_ = Kind::kNone;
  return value;
}

Value Value::Bool(bool boolean) {
  Value value;
  value.kind_ = Kind::kBool;
  value.int_ = boolean;
  return value;
}

Value Value::Integer(Int integer) {
  Value value;
  value.kind_ = Kind::kInt;
  value.int_ = integer;
  return value;
}

Value Value::Float(double number) {
  Value value;
  value.kind_ = Kind::kFloat;
  value.float_ = number;
  return value;
}

Value Value::String(std::string text, bool is_safe) {
  Value value;
  value.kind_ = Kind::kString;
  value.data_ = std::make_shared<StringData>(StringData{std::move(text), is_safe});
  return value;
}

Value Value::List(Items items, Kind kind, std::string label) {
  Value value;
  value.kind_ = kind;
  value.nesting_ = NestingOf(items);
  value.data_ = std::make_shared<ListData>(ListData{std::move(items), std::move(label)});
  return value;
}

Value Value::Dict(std::vector<std::pair<Value, Value>> items) {
  auto data = std::make_shared<DictData>();
  const bool is_indexed = items.size() >= kIndexedFrom;
  for (auto& entry : items) {
    Value& key = entry.first;
    Value& item = entry.second;
    // A later value of a key takes the place of the earlier one.
    auto same = data->pairs.end();
    if (is_indexed && key.Is(Kind::kString)) {
      const auto found = data->by_text.find(key.text());
      if (found != data->by_text.end()) {
        same = data->pairs.begin() + static_cast<std::ptrdiff_t>(found->second);
      }
    } else {
      same = std::find_if(data->pairs.begin(), data->pairs.end(),
                          [&](const auto& pair) { return Equal(pair.first, key); });
    }
    if (same != data->pairs.end()) {
      same->second = std::move(item);
      continue;
    }
    if (is_indexed && key.Is(Kind::kString)) data->by_text[key.text()] = data->pairs.size();
    data->pairs.emplace_back(std::move(key), std::move(item));
  }
  Value value;
  value.kind_ = Kind::kDict;
  for (const auto& [key, item] : data->pairs) {
    value.nesting_ = std::max({value.nesting_, key.nesting_ + 1, item.nesting_ + 1});
  }
  value.data_ = std::move(data);
  return value;
}

Value Value::Namespace() {
  Value value;
  value.kind_ = Kind::kNamespace;
  value.data_ = std::make_shared<NamespaceData>();
  return value;
}

int NestingOf(const Items& items) {
  int deepest = 0;
  for (const Value& item : items) deepest = std::max(deepest, item.nesting());
  return deepest + 1;
}

Value Value::Function(std::shared_ptr<Callable> callable, int nesting) {
  Value value;
  value.nesting_ = nesting;
  value.kind_ = Kind::kCallable;
  value.data_ = std::move(callable);
  return value;
}

Value Value::Of(std::shared_ptr<Object> object, int nesting) {
  Value value;
  value.nesting_ = nesting;
  value.kind_ = Kind::kObject;
  value.data_ = std::move(object);
  return value;
}

Value Value::FromJson(const Json& json) {
  if (json.is_null()) return None();
  if (json.is_bool()) return Bool(json.boolean());
  if (json.is_int()) return Integer(json.integer());
  if (json.is_uint64()) return Integer(json.uint64());
  if (json.is_double()) return Float(json.number());
  if (json.is_string()) return String(json.string());
  if (json.is_array()) {
    Items items;
    items.reserve(json.array().size());
    for (const Json& item : json.array()) items.push_back(FromJson(item));
    return List(std::move(items));
  }
  std::vector<std::pair<Value, Value>> pairs;
  pairs.reserve(json.object().size());
  for (const auto& [name, item] : json.object()) pairs.emplace_back(String(name), FromJson(item));
  return Dict(std::move(pairs));
}

bool Value::has_items() const {
  switch (kind_) {
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
    case Kind::kIterator:
      return true;
    default:
      return false;
  }
}

double Value::number() const { return kind_ == Kind::kFloat ? float_ : static_cast<double>(int_); }

const std::string& Value::text() const {
  static const std::string* empty = new std::string();
  if (data_ == nullptr) return *empty;
  QUIRE_DCHECK(kind_ == Kind::kString || kind_ == Kind::kUndefined);
  return As<StringData>(data_).text;
}

bool Value::is_safe() const { return kind_ == Kind::kString && As<StringData>(data_).is_safe; }

const Items& Value::items() const {
  QUIRE_DCHECK(has_items());
  return As<ListData>(data_).items;
}

const std::string& Value::label() const { return As<ListData>(data_).label; }

const std::vector<std::pair<Value, Value>>& Value::pairs() const {
  QUIRE_DCHECK(kind_ == Kind::kDict);
  return As<DictData>(data_).pairs;
}

const Value* Value::Find(const Value& key) const {
  if (key.Is(Kind::kString)) return Find(std::string_view(key.text()));
  for (const auto& [known, value] : pairs()) {
    if (Equal(known, key)) return &value;
  }
  return nullptr;
}

const Value* Value::Find(std::string_view key) const {
  const DictData& dict = As<DictData>(data_);
  if (!dict.by_text.empty()) {
    const auto found = dict.by_text.find(std::string(key));
    return found == dict.by_text.end() ? nullptr : &dict.pairs[found->second].second;
  }
  for (const auto& [known, value] : dict.pairs) {
    if (known.Is(Kind::kString) && known.text() == key) return &value;
  }
  return nullptr;
}

std::vector<std::pair<std::string, Value>>& Value::names() const {
  QUIRE_DCHECK(kind_ == Kind::kNamespace);
  return const_cast<NamespaceData&>(As<NamespaceData>(data_)).names;
}

Callable& Value::callable() const { return const_cast<Callable&>(As<Callable>(data_)); }
Object& Value::object() const { return const_cast<Object&>(As<Object>(data_)); }

bool IsTrue(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
    case Kind::kInt:
      return value.integer() != 0;
    case Kind::kFloat:
      return value.number() != 0;
    case Kind::kString:
      return !value.text().empty();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      return !value.items().empty();
    case Kind::kDict:
      return !value.pairs().empty();
    case Kind::kIterator:
    case Kind::kNamespace:
    case Kind::kCallable:
    case Kind::kObject:
      return true;
  }
  return true;
}

bool Equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.Is(Kind::kFloat) || b.Is(Kind::kFloat)) return a.number() == b.number();
    return a.integer() == b.integer();
  }
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return true;
    case Kind::kString:
      return a.text() == b.text();
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kRange:
    case Kind::kView:
      return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                        Equal);
    case Kind::kDict:
      if (a.pairs().size() != b.pairs().size()) return false;
      return std::all_of(a.pairs().begin(), a.pairs().end(), [&](const auto& pair) {
        const Value* other = b.Find(pair.first);
        return other != nullptr && Equal(pair.second, *other);
      });
    case Kind::kNamespace:
      return &a.names() == &b.names();
    case Kind::kCallable:
      return &a.callable() == &b.callable();
    case Kind::kObject:
      return &a.object() == &b.object();
    default:
      return &a.items() == &b.items();
  }
}

Result<bool> Less(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.Is(Kind::kFloat) || b.Is(Kind::kFloat)) return a.number() < b.number();
    return a.integer() < b.integer();
  }
  if (a.Is(Kind::kString) && b.Is(Kind::kString)) return a.text() < b.text();
  if (a.is_sequence() && a.kind() == b.kind()) {
    for (std::size_t i = 0; i < a.items().size() && i < b.items().size(); ++i) {
      if (!Equal(a.items()[i], b.items()[i])) return Less(a.items()[i], b.items()[i]);
    }
    return a.items().size() < b.items().size();
  }
  return TypeError(
      StrCat("'<' not supported between instances of '", TypeName(a), "' and '", TypeName(b), "'"));
}

std::string_view TypeName(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return "str";
    case Kind::kList:
      return "list";
    case Kind::kTuple:
      return "tuple";
    case Kind::kDict:
      return "dict";
    case Kind::kRange:
      return "range";
    case Kind::kView:
      return value.label();
    case Kind::kIterator:
      return "generator";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kCallable:
      return "function";
    case Kind::kObject:
      return "object";
  }
  return "object";
}

Result<Items> Iterate(const Value& value) {
  if (value.has_items()) return value.items();
  if (value.Is(Kind::kUndefined)) return Items();
  Items out;
  if (value.Is(Kind::kDict)) {
    for (const auto& [key, item] : value.pairs()) out.push_back(key);
    return out;
  }
  if (value.Is(Kind::kString)) {
    for (std::string_view rest = value.text(); !rest.empty();) {
      const int length = ReadUtf8(rest).length;
      out.push_back(Value::String(std::string(rest.substr(0, length))));
      rest.remove_prefix(length);
    }
    return out;
  }
  return TypeError(StrCat("'", TypeName(value), "' object is not iterable"));
}

}  // namespace quire::jinja
