// Values of templates, which behave as Python's do.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"
#include "formats/json.h"

namespace quire::jinja {

class Value;
class Interpreter;
struct Stmt;

using Int = __int128;  // literals and results beyond it are errors
using Items = std::vector<Value>;

enum class Kind : std::uint8_t {
  kUndefined,
  kNone,
  kBool,
  kInt,
  kFloat,
  kString,
  kList,
  kTuple,
  kDict,
  kRange,      // items, and how it prints
  kView,       // a dict's keys, values or items, and its name
  kIterator,   // what filters like map give: no length, no index
  kNamespace,  // the one kind whose parts can be set
  kCallable,
  kObject,  // loop, cycler, joiner
};

// The arguments of a call.
struct Arguments {
  Items positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* Named(std::string_view name) const;  // null: not given
};

// Something that can be called; a macro, a global function, a bound method.
class Callable {
 public:
  virtual ~Callable() = default;
  virtual Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) = 0;
  virtual std::optional<Value> Attribute(std::string_view name) const;
  virtual std::string Show() const { return "<function>"; }
};

// An object with attributes; may be callable.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::optional<Value> Attribute(const std::string& name) = 0;
  virtual Result<Value> Call(Interpreter& interpreter, const Arguments& arguments);
  virtual std::string Show() const = 0;
};

struct StringData;
struct ListData;
struct DictData;
struct NamespaceData;

// Immutable but for namespaces; copies share what they hold.
class Value {
 public:
  Value() = default;                         // undefined
  static Value Undefined(std::string what);  // `what` is said to be undefined
  static Value None();
  static Value Bool(bool value);
  static Value Integer(Int value);
  static Value Float(double value);
  static Value String(std::string text, bool is_safe = false);
  static Value List(Items items, Kind kind = Kind::kList, std::string label = {});
  static Value Tuple(Items items) { return List(std::move(items), Kind::kTuple); }
  static Value Dict(std::vector<std::pair<Value, Value>> items);
  static Value Namespace();
  static Value Function(std::shared_ptr<Callable> callable, int nesting = 1);
  static Value Of(std::shared_ptr<Object> object, int nesting = 1);
  static Value FromJson(const Json& json);

  Kind kind() const { return kind_; }
  // How deep values are nested in it, at least; freeing it takes that much of the stack.
  int nesting() const { return nesting_; }
  bool Is(Kind kind) const { return kind_ == kind; }
  bool is_sequence() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool has_items() const;  // everything that holds a list of items
  bool is_number() const {
    return kind_ == Kind::kInt || kind_ == Kind::kFloat || kind_ == Kind::kBool;
  }

  bool boolean() const { return int_ != 0; }
  Int integer() const { return int_; }  // kInt and kBool
  double number() const;                // of any number
  const std::string& text() const;      // kString; kUndefined: what is undefined
  bool is_safe() const;                 // a string that was escaped
  const Items& items() const;           // where has_items()
  const std::string& label() const;     // kRange, kView
  const std::vector<std::pair<Value, Value>>& pairs() const;  // kDict
  const Value* Find(const Value& key) const;                  // kDict; null: no such key
  const Value* Find(std::string_view key) const;
  std::vector<std::pair<std::string, Value>>& names() const;  // kNamespace
  Callable& callable() const;
  Object& object() const;

 private:
  Kind kind_ = Kind::kUndefined;
  int nesting_ = 0;
  union {
    Int int_ = 0;
    double float_;  // of kFloat
  };
  std::shared_ptr<const void> data_;  // of the kind's own struct
};

inline constexpr int kMaxNesting = 400;  // of a value
int NestingOf(const Items& items);       // of something that holds them

bool IsTrue(const Value& value);
bool Equal(const Value& a, const Value& b);  // Python's ==
// Python's <: kInvalidArgument for kinds that have no order.
Result<bool> Less(const Value& a, const Value& b);

std::string Repr(const Value& value);           // Python's repr()
std::string Str(const Value& value);            // Python's str(); undefined gives ""
std::string_view TypeName(const Value& value);  // "str", "int", …
std::string FormatFloat(double value);          // Python's repr() of a float
std::string FormatInt(Int value);

// What can be walked: items, keys of a dict, characters of a string; undefined has none.
// kInvalidArgument for the rest.
Result<Items> Iterate(const Value& value);

struct JsonStyle {
  int indent = -1;
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::string item_separator, key_separator;  // empty: the usual ones
};
// Python's json.dumps(). kInvalidArgument for what it cannot write.
Result<std::string> ToJson(const Value& value, const JsonStyle& style);

inline Status TypeError(std::string message) { return InvalidArgument(std::move(message)); }

}  // namespace quire::jinja
