// Arithmetic and comparison, as Python has them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"

namespace quire::jinja {

namespace {

constexpr std::size_t kTooLarge = std::numeric_limits<std::size_t>::max();

Status Unsupported(const std::string& op, const Value& a, const Value& b) {
  for (const Value* value : {&a, &b}) {
    if (value->Is(Kind::kUndefined)) return InvalidArgument(value->text());
  }
  return TypeError(StrCat("unsupported operand type(s) for ", op, ": '", TypeName(a), "' and '",
                          TypeName(b), "'"));
}

Status Overflow() { return InvalidArgument("an integer grows beyond 127 bits"); }

Result<Value> Repeat(Interpreter& interpreter, const Value& sequence, const Value& times) {
  const Int count = std::max<Int>(times.integer(), 0);
  const bool is_text = sequence.Is(Kind::kString);
  const std::size_t unit =
      is_text ? sequence.text().size() : sequence.items().size() * sizeof(Value);
  const bool fits = unit == 0 || count < static_cast<Int>(kTooLarge / unit / 2);
  QUIRE_RETURN_IF_ERROR(
      interpreter.SpendBytes(fits ? unit * static_cast<std::size_t>(count) : kTooLarge));
  if (unit == 0) return sequence;
  if (is_text) {
    std::string text;
    for (Int i = 0; i < count; ++i) text += sequence.text();
    return Value::String(std::move(text));
  }
  Items items;
  for (Int i = 0; i < count; ++i) {
    items.insert(items.end(), sequence.items().begin(), sequence.items().end());
  }
  return Value::List(std::move(items), sequence.kind());
}

Int FloorDivide(Int a, Int b) {
  const Int quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

double FloorMod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result<Value> IntPower(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) return InvalidArgument("0.0 cannot be raised to a negative power");
    return Value::Float(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Int result = 1;
  if (base == 0 || base == 1) return Value::Integer(exponent == 0 ? 1 : base);
  if (base == -1) return Value::Integer(exponent % 2 == 0 ? 1 : -1);
  for (Int i = 0; i < exponent; ++i) {
    if (__builtin_mul_overflow(result, base, &result)) return Overflow();
  }
  return Value::Integer(result);
}

Result<Value> IntArithmetic(const std::string& op, Int a, Int b) {
  Int result = 0;
  if (op == "-") {
    if (__builtin_sub_overflow(a, b, &result)) return Overflow();
    return Value::Integer(result);
  }
  if (op == "*") {
    if (__builtin_mul_overflow(a, b, &result)) return Overflow();
    return Value::Integer(result);
  }
  if (op == "**") return IntPower(a, b);
  if (b == 0) return InvalidArgument("division by zero");
  if (op == "/") return Value::Float(static_cast<double>(a) / static_cast<double>(b));
  if (b == -1 && a == std::numeric_limits<Int>::min()) return Overflow();
  if (op == "//") return Value::Integer(FloorDivide(a, b));
  return Value::Integer(a - FloorDivide(a, b) * b);
}

Result<Value> FloatArithmetic(const std::string& op, double a, double b) {
  if (op == "-") return Value::Float(a - b);
  if (op == "*") return Value::Float(a * b);
  if (op == "**") return Value::Float(std::pow(a, b));
  if (b == 0) return InvalidArgument("float division by zero");
  if (op == "/") return Value::Float(a / b);
  // The quotient without its rest, as Python has it: 1 / 0.1 rounds to 10, 1 // 0.1 is 9.
  if (op == "//") return Value::Float(std::round((a - FloorMod(a, b)) / b));
  return Value::Float(FloorMod(a, b));
}

}  // namespace

Result<Value> Add(Interpreter& interpreter, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    if (a.Is(Kind::kFloat) || b.Is(Kind::kFloat)) return Value::Float(a.number() + b.number());
    Int sum = 0;
    if (__builtin_add_overflow(a.integer(), b.integer(), &sum)) return Overflow();
    return Value::Integer(sum);
  }
  if (a.Is(Kind::kString) && b.Is(Kind::kString)) {
    QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(a.text().size() + b.text().size()));
    // A text that was escaped escapes what is added to it.
    const bool is_safe = a.is_safe() || b.is_safe();
    const auto part = [&](const Value& value) {
      return is_safe && !value.is_safe() ? Escape(value.text()) : value.text();
    };
    return Value::String(part(a) + part(b), is_safe);
  }
  if (a.is_sequence() && a.kind() == b.kind()) {
    QUIRE_RETURN_IF_ERROR(
        interpreter.SpendBytes((a.items().size() + b.items().size()) * sizeof(Value)));
    Items items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return Value::List(std::move(items), a.kind());
  }
  if (a.Is(Kind::kString) && !b.Is(Kind::kUndefined)) {
    return TypeError(StrCat("can only concatenate str (not \"", TypeName(b), "\") to str"));
  }
  return Unsupported("+", a, b);
}

Result<Value> Arithmetic(Interpreter& interpreter, const std::string& op, const Value& a,
                         const Value& b) {
  if (op == "+") return Add(interpreter, a, b);
  if (op == "%" && a.Is(Kind::kString)) {
    QUIRE_ASSIGN_OR_RETURN(std::string text, FormatPercent(interpreter, a.text(), b));
    return Value::String(std::move(text));
  }
  const auto is_int = [](const Value& value) {
    return value.Is(Kind::kInt) || value.Is(Kind::kBool);
  };
  if (op == "*") {
    if ((a.Is(Kind::kString) || a.is_sequence()) && is_int(b)) return Repeat(interpreter, a, b);
    if ((b.Is(Kind::kString) || b.is_sequence()) && is_int(a)) return Repeat(interpreter, b, a);
  }
  if (!a.is_number() || !b.is_number()) return Unsupported(op == "**" ? "** or pow()" : op, a, b);
  if (is_int(a) && is_int(b)) return IntArithmetic(op, a.integer(), b.integer());
  return FloatArithmetic(op, a.number(), b.number());
}

Result<bool> Contains(const Value& container, const Value& item) {
  if (container.Is(Kind::kString)) {
    if (!item.Is(Kind::kString)) {
      return TypeError(
          StrCat("'in <string>' requires string as left operand, not ", TypeName(item)));
    }
    return container.text().find(item.text()) != std::string::npos;
  }
  if (container.Is(Kind::kDict)) return container.Find(item) != nullptr;
  if (container.has_items() || container.Is(Kind::kUndefined)) {
    QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(container));
    return std::any_of(items.begin(), items.end(),
                       [&](const Value& other) { return Equal(other, item); });
  }
  return TypeError(StrCat("argument of type '", TypeName(container), "' is not iterable"));
}

Result<bool> CompareValues(const std::string& op, const Value& a, const Value& b) {
  if (op == "==") return Equal(a, b);
  if (op == "!=") return !Equal(a, b);
  if (op == "in" || op == "not in") {
    QUIRE_ASSIGN_OR_RETURN(const bool contains, Contains(b, a));
    return contains == (op == "in");
  }
  for (const Value* value : {&a, &b}) {
    if (value->Is(Kind::kUndefined)) return InvalidArgument(value->text());
  }
  if (op == "<") return Less(a, b);
  if (op == ">") return Less(b, a);
  QUIRE_ASSIGN_OR_RETURN(const bool is_reversed, op == "<=" ? Less(b, a) : Less(a, b));
  const bool has_nan = (a.Is(Kind::kFloat) && std::isnan(a.number())) ||
                       (b.Is(Kind::kFloat) && std::isnan(b.number()));
  return !is_reversed && !has_nan;
}

}  // namespace quire::jinja
