// Expressions; statements are in statements.cc.
#include "tokenizer/jinja/interpreter.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/utf8.h"

namespace quire::jinja {

const Value* Scope::Find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent_) {
    for (const auto& [known, value] : scope->values_) {
      if (known == name) return &value;
    }
  }
  return nullptr;
}

void Scope::Set(std::string_view name, Value value) {
  for (auto& [known, old] : values_) {
    if (known == name) {
      old = std::move(value);
      return;
    }
  }
  values_.emplace_back(name, std::move(value));
}

Interpreter::Interpreter(const RenderLimits& limits, const LocalTime& now)
    : limits_(limits),
      now_(now),
      steps_left_(limits.max_steps),
      bytes_left_(limits.max_value_bytes) {
  AddGlobals(globals_);
}

Interpreter::~Interpreter() {
  for (const Value& value : namespaces_) value.names().clear();
}

Status Interpreter::Spend(std::int64_t steps) {
  steps_left_ -= steps;
  if (steps_left_ >= 0) return {};
  return ResourceExhausted(StrCat("the template takes more than ", limits_.max_steps, " steps"));
}

Status Interpreter::SpendBytes(std::size_t num_bytes) {
  constexpr std::size_t kBytesPerStep = 256;
  if (num_bytes > bytes_left_) {
    bytes_left_ = 0;
    return ResourceExhausted(
        StrCat("the template makes more than ", limits_.max_value_bytes, " bytes of values"));
  }
  bytes_left_ -= num_bytes;
  return Spend(static_cast<std::int64_t>(num_bytes / kBytesPerStep));
}

Status Interpreter::Raise(std::string message) {
  error_.is_raised = true;
  return InvalidArgument(std::move(message));
}

Status Interpreter::At(Status status, Position at) {
  if (!status.ok() && error_.line == 0) {
    error_.line = at.line;
    error_.column = at.column;
  }
  return status;
}

Result<Value> Interpreter::Eval(const Expr& expr, Scope& scope) {
  const Nesting nesting(*this);
  Status status = nesting.Check();
  if (status.ok()) status = Spend(1);
  if (!status.ok()) return At(std::move(status), expr.at);
  Result<Value> value = EvalKind(expr, scope);
  if (!value.ok()) return At(value.status(), expr.at);
  if (value->nesting() > kMaxNesting) {
    return At(ResourceExhausted("the template nests values too deeply"), expr.at);
  }
  return value;
}

Result<Value> Interpreter::EvalKind(const Expr& expr, Scope& scope) {
  switch (expr.kind) {
    case ExprKind::kConstant:
      return expr.constant;
    case ExprKind::kName:
      return EvalName(expr, scope);
    case ExprKind::kNamespaceName:
      return InvalidArgument("a namespace's name is no value");
    case ExprKind::kList:
    case ExprKind::kTuple:
      return EvalItems(expr, scope);
    case ExprKind::kDict:
      return EvalDict(expr, scope);
    case ExprKind::kUnary:
      return EvalUnary(expr, scope);
    case ExprKind::kBinary:
      return EvalBinary(expr, scope);
    case ExprKind::kConcat:
      return EvalConcat(expr, scope);
    case ExprKind::kCompare:
      return EvalCompare(expr, scope);
    case ExprKind::kCondition:
      return EvalCondition(expr, scope);
    case ExprKind::kAttribute: {
      QUIRE_ASSIGN_OR_RETURN(const Value object, Eval(*expr.parts[0], scope));
      return Attribute(object, expr.name);
    }
    case ExprKind::kSubscript:
      return EvalSubscript(expr, scope);
    case ExprKind::kSlice:
      return InvalidArgument("a slice is no value");
    case ExprKind::kCall:
      return EvalCall(expr, scope);
    case ExprKind::kFilter:
      return EvalFilter(expr, scope, nullptr);
    case ExprKind::kTest:
      return EvalTest(expr, scope);
  }
  return Internal("unknown expression");
}

Result<Value> Interpreter::EvalName(const Expr& expr, const Scope& scope) {
  const Value* value = scope.Find(expr.name);
  return value != nullptr ? *value : Value::Undefined(StrCat("'", expr.name, "' is undefined"));
}

Result<Value> Interpreter::EvalItems(const Expr& expr, Scope& scope) {
  Items items;
  items.reserve(expr.parts.size());
  QUIRE_RETURN_IF_ERROR(SpendBytes(expr.parts.size() * sizeof(Value)));
  for (const ExprPtr& part : expr.parts) {
    QUIRE_ASSIGN_OR_RETURN(items.emplace_back(), Eval(*part, scope));
  }
  return Value::List(std::move(items), expr.kind == ExprKind::kList ? Kind::kList : Kind::kTuple);
}

Result<Value> Interpreter::EvalDict(const Expr& expr, Scope& scope) {
  std::vector<std::pair<Value, Value>> pairs;
  QUIRE_RETURN_IF_ERROR(SpendBytes(expr.parts.size() * sizeof(Value)));
  for (std::size_t i = 0; i + 1 < expr.parts.size(); i += 2) {
    QUIRE_ASSIGN_OR_RETURN(Value key, Eval(*expr.parts[i], scope));
    QUIRE_ASSIGN_OR_RETURN(Value value, Eval(*expr.parts[i + 1], scope));
    if (key.Is(Kind::kList) || key.Is(Kind::kDict)) {
      return TypeError(StrCat("unhashable type: '", TypeName(key), "'"));
    }
    pairs.emplace_back(std::move(key), std::move(value));
  }
  return Value::Dict(std::move(pairs));
}

Result<Value> Interpreter::EvalUnary(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*expr.parts[0], scope));
  if (expr.name == "not") return Value::Bool(!IsTrue(value));
  if (value.Is(Kind::kUndefined)) return InvalidArgument(value.text());
  if (!value.is_number()) {
    return TypeError(StrCat("bad operand type for unary ", expr.name, ": '", TypeName(value), "'"));
  }
  if (value.Is(Kind::kFloat)) {
    return Value::Float(expr.name == "-" ? -value.number() : value.number());
  }
  return Value::Integer(expr.name == "-" ? -value.integer() : value.integer());
}

Result<Value> Interpreter::EvalBinary(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value left, Eval(*expr.parts[0], scope));
  if (expr.name == "and") return IsTrue(left) ? Eval(*expr.parts[1], scope) : left;
  if (expr.name == "or") return IsTrue(left) ? left : Eval(*expr.parts[1], scope);
  QUIRE_ASSIGN_OR_RETURN(const Value right, Eval(*expr.parts[1], scope));
  return Arithmetic(*this, expr.name, left, right);
}

Result<Value> Interpreter::EvalConcat(const Expr& expr, Scope& scope) {
  std::string text;
  for (const ExprPtr& part : expr.parts) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*part, scope));
    text += Str(value);
    if (text.size() > bytes_left_) break;
  }
  QUIRE_RETURN_IF_ERROR(SpendBytes(text.size()));
  return Value::String(std::move(text));
}

Result<Value> Interpreter::EvalCompare(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(Value left, Eval(*expr.parts[0], scope));
  for (std::size_t i = 0; i < expr.ops.size(); ++i) {
    QUIRE_ASSIGN_OR_RETURN(Value right, Eval(*expr.parts[i + 1], scope));
    QUIRE_ASSIGN_OR_RETURN(const bool holds, CompareValues(expr.ops[i], left, right));
    if (!holds) return Value::Bool(false);
    left = std::move(right);
  }
  return Value::Bool(true);
}

Result<Value> Interpreter::EvalCondition(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value test, Eval(*expr.parts[0], scope));
  if (IsTrue(test)) return Eval(*expr.parts[1], scope);
  if (expr.parts[2] != nullptr) return Eval(*expr.parts[2], scope);
  return Value::Undefined("the inline if-expression evaluated to false and no else was defined");
}

Result<Value> Interpreter::Attribute(const Value& object, const std::string& name) {
  if (object.Is(Kind::kUndefined)) return InvalidArgument(object.text());
  if (std::optional<Value> method = FindMethod(object, name)) return *std::move(method);
  if (object.Is(Kind::kDict)) {
    if (const Value* value = object.Find(name)) return *value;
  }
  if (name.starts_with("__")) {
    return Value::Undefined(
        StrCat("access to attribute '", name, "' of '", TypeName(object), "' object is unsafe"));
  }
  return Value::Undefined(StrCat("'", TypeName(object), " object' has no attribute '", name, "'"));
}

Result<Value> Interpreter::Item(const Value& object, const Value& key) {
  if (object.Is(Kind::kUndefined)) return InvalidArgument(object.text());
  if (object.Is(Kind::kDict)) {
    QUIRE_RETURN_IF_ERROR(Spend(static_cast<std::int64_t>(object.pairs().size() / 16)));
    if (const Value* value = object.Find(key)) return *value;
  }
  const bool has_index =
      object.is_sequence() || object.Is(Kind::kRange) || object.Is(Kind::kString);
  if (has_index && (key.Is(Kind::kInt) || key.Is(Kind::kBool))) {
    const bool is_text = object.Is(Kind::kString);
    const Int size = is_text ? LengthOf(object.text()) : static_cast<Int>(object.items().size());
    const Int index = key.integer() < 0 ? key.integer() + size : key.integer();
    if (is_text) QUIRE_RETURN_IF_ERROR(SpendBytes(object.text().size()));
    if (index >= 0 && index < size) {
      if (!is_text) return object.items()[static_cast<std::size_t>(index)];
      std::string_view rest = object.text();
      for (Int i = 0; i < index; ++i) rest.remove_prefix(ReadUtf8(rest).length);
      return Value::String(std::string(rest.substr(0, ReadUtf8(rest).length)));
    }
  }
  if (key.Is(Kind::kString)) return Attribute(object, key.text());
  return Value::Undefined(StrCat("'", TypeName(object), " object' has no element ", Repr(key)));
}

Result<Value> Interpreter::EvalSubscript(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value object, Eval(*expr.parts[0], scope));
  if (expr.parts[1]->kind == ExprKind::kSlice) {
    return EvalSlice(object, *expr.parts[1], scope);
  }
  QUIRE_ASSIGN_OR_RETURN(const Value key, Eval(*expr.parts[1], scope));
  return Item(object, key);
}

Result<Value> Interpreter::EvalSlice(const Value& object, const Expr& slice, Scope& scope) {
  if (object.Is(Kind::kUndefined)) return InvalidArgument(object.text());
  if (!object.is_sequence() && !object.Is(Kind::kRange) && !object.Is(Kind::kString)) {
    return TypeError(object.Is(Kind::kDict)
                         ? "unhashable type: 'slice'"
                         : StrCat("'", TypeName(object), "' object is not subscriptable"));
  }
  std::optional<Int> bounds[3];
  for (int i = 0; i < 3; ++i) {
    if (slice.parts[i] == nullptr) continue;
    QUIRE_ASSIGN_OR_RETURN(const Value bound, Eval(*slice.parts[i], scope));
    if (bound.Is(Kind::kNone)) continue;
    if (!bound.Is(Kind::kInt) && !bound.Is(Kind::kBool)) {
      return TypeError("slice indices must be integers or None");
    }
    bounds[i] = bound.integer();
  }
  const Int step = bounds[2].value_or(1);
  if (step == 0) return InvalidArgument("slice step cannot be zero");
  QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(object));
  QUIRE_RETURN_IF_ERROR(SpendBytes(items.size() * sizeof(Value)));
  const auto size = static_cast<Int>(items.size());
  const auto clamp = [&](std::optional<Int> bound, Int fallback) {
    if (!bound) return fallback;
    const Int index = *bound < 0 ? *bound + size : *bound;
    return step > 0 ? std::clamp<Int>(index, 0, size) : std::clamp<Int>(index, -1, size - 1);
  };
  const Int begin = clamp(bounds[0], step > 0 ? 0 : size - 1);
  const Int end = clamp(bounds[1], step > 0 ? size : -1);
  Items out;
  for (Int i = begin; step > 0 ? i < end : i > end; i += step) {
    out.push_back(items[static_cast<std::size_t>(i)]);
  }
  if (!object.Is(Kind::kString)) {
    return Value::List(std::move(out), object.Is(Kind::kTuple) ? Kind::kTuple : Kind::kList);
  }
  std::string text;
  for (const Value& part : out) text += part.text();
  return Value::String(std::move(text));
}

Result<Arguments> Interpreter::EvalArguments(const CallArguments& call, Scope& scope) {
  Arguments out;
  for (const ExprPtr& part : call.positional) {
    QUIRE_ASSIGN_OR_RETURN(out.positional.emplace_back(), Eval(*part, scope));
  }
  for (const auto& [name, part] : call.named) {
    QUIRE_ASSIGN_OR_RETURN(Value value, Eval(*part, scope));
    out.named.emplace_back(name, std::move(value));
  }
  if (call.star != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*call.star, scope));
    QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(value));
    QUIRE_RETURN_IF_ERROR(SpendBytes(items.size() * sizeof(Value)));
    out.positional.insert(out.positional.end(), items.begin(), items.end());
  }
  if (call.double_star != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*call.double_star, scope));
    if (!value.Is(Kind::kDict)) return TypeError("argument after ** must be a mapping");
    for (const auto& [key, item] : value.pairs()) {
      if (!key.Is(Kind::kString)) return TypeError("keywords must be strings");
      out.named.emplace_back(key.text(), item);
    }
  }
  return out;
}

Result<Value> Interpreter::CallValue(const Value& callee, const Arguments& arguments) {
  if (callee.Is(Kind::kUndefined)) return InvalidArgument(callee.text());
  if (!callee.Is(Kind::kCallable) && !callee.Is(Kind::kObject)) {
    return TypeError(StrCat("'", TypeName(callee), "' object is not callable"));
  }
  if (calls_ >= limits_.max_depth) {
    return ResourceExhausted(StrCat("the template nests more than ", limits_.max_depth, " calls"));
  }
  ++calls_;
  Result<Value> result = callee.Is(Kind::kCallable) ? callee.callable().Call(*this, arguments)
                                                    : callee.object().Call(*this, arguments);
  --calls_;
  return result;
}

Result<Value> Interpreter::EvalCall(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value callee, Eval(*expr.parts[0], scope));
  QUIRE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr.call, scope));
  return CallValue(callee, arguments);
}

Result<Value> Interpreter::EvalFilter(const Expr& expr, Scope& scope, const Value* input) {
  Value value;
  if (expr.parts[0] != nullptr) {
    const bool is_chain = input != nullptr && expr.parts[0]->kind == ExprKind::kFilter;
    QUIRE_ASSIGN_OR_RETURN(
        value, is_chain ? EvalFilter(*expr.parts[0], scope, input) : Eval(*expr.parts[0], scope));
  } else if (input != nullptr) {
    value = *input;
  }
  QUIRE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr.call, scope));
  Result<Value> result = ApplyFilter(expr.name, value, arguments);
  if (!result.ok()) return At(result.status(), expr.at);
  return result;
}

Result<Value> Interpreter::EvalTest(const Expr& expr, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*expr.parts[0], scope));
  QUIRE_ASSIGN_OR_RETURN(const Arguments arguments, EvalArguments(expr.call, scope));
  QUIRE_ASSIGN_OR_RETURN(const bool holds, ApplyTest(expr.name, value, arguments));
  return Value::Bool(holds);
}

}  // namespace quire::jinja
