// Tests: what stands after `is`.
#include <cmath>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"
#include "tokenizer/jinja/parser.h"

namespace quire::jinja {

namespace {

struct TestCall {
  Interpreter& interpreter;
  const Value& input;
  const Arguments& arguments;
};

template <Kind kKind>
Result<bool> IsKind(const TestCall& call) {
  return call.input.Is(kKind);
}

Result<bool> IsDefined(const TestCall& call) { return !call.input.Is(Kind::kUndefined); }
Result<bool> IsInteger(const TestCall& call) { return call.input.Is(Kind::kInt); }
Result<bool> IsNumber(const TestCall& call) { return call.input.is_number(); }
Result<bool> IsTrueTest(const TestCall& call) {
  return call.input.Is(Kind::kBool) && call.input.boolean();
}
Result<bool> IsFalse(const TestCall& call) {
  return call.input.Is(Kind::kBool) && !call.input.boolean();
}
Result<bool> IsMapping(const TestCall& call) { return call.input.Is(Kind::kDict); }
Result<bool> IsIterable(const TestCall& call) {
  return call.input.has_items() || call.input.Is(Kind::kDict) || call.input.Is(Kind::kString) ||
         call.input.Is(Kind::kUndefined);
}
Result<bool> IsSequence(const TestCall& call) {
  return call.input.is_sequence() || call.input.Is(Kind::kRange) || call.input.Is(Kind::kDict) ||
         call.input.Is(Kind::kString) || call.input.Is(Kind::kUndefined);
}
Result<bool> IsCallable(const TestCall& call) {
  // An undefined value can be called, if only to fail.
  return call.input.Is(Kind::kCallable) || call.input.Is(Kind::kObject) ||
         call.input.Is(Kind::kUndefined);
}
Result<bool> IsEscaped(const TestCall& call) { return call.input.is_safe(); }

template <bool kOdd>
Result<bool> IsParity(const TestCall& call) {
  if (call.input.Is(Kind::kUndefined)) return InvalidArgument(call.input.text());
  if (!call.input.is_number())
    return TypeError("not all arguments converted during string formatting");
  if (call.input.Is(Kind::kFloat)) {
    return std::abs(std::fmod(call.input.number(), 2)) == (kOdd ? 1.0 : 0.0);
  }
  return (call.input.integer() % 2 != 0) == kOdd;
}

Result<bool> IsDivisibleBy(const TestCall& call) {
  const Value* divisor = Argument(call.arguments, 0, "num");
  if (divisor == nullptr || !divisor->is_number() || !call.input.is_number()) {
    return TypeError("divisibleby needs numbers");
  }
  if (divisor->number() == 0) return InvalidArgument("integer modulo by zero");
  if (divisor->Is(Kind::kFloat) || call.input.Is(Kind::kFloat)) {
    return std::fmod(call.input.number(), divisor->number()) == 0;
  }
  return call.input.integer() % divisor->integer() == 0;
}

template <bool kUpper>
Result<bool> IsCase(const TestCall& call) {
  const Value text = Value::String(Str(call.input));
  QUIRE_ASSIGN_OR_RETURN(
      const Value result,
      call.interpreter.CallValue(*FindMethod(text, kUpper ? "isupper" : "islower"), Arguments()));
  return IsTrue(result);
}

Result<bool> IsSameAs(const TestCall& call) {
  const Value* other = Argument(call.arguments, 0, "other");
  if (other == nullptr) return TypeError("sameas needs an argument");
  return call.input.kind() == other->kind() && Equal(call.input, *other);
}

Result<bool> IsFilter(const TestCall& call) {
  return call.input.Is(Kind::kString) && HasFilter(call.input.text());
}
Result<bool> IsTest(const TestCall& call) {
  return call.input.Is(Kind::kString) && HasTest(call.input.text());
}

// A comparison by its operator; `kOp` is its index.
constexpr std::string_view kOperators[] = {"==", "!=", "<", "<=", ">", ">=", "in"};
template <int kOp>
Result<bool> Compares(const TestCall& call) {
  const Value* other = Argument(call.arguments, 0, "");
  if (other == nullptr) return TypeError(StrCat(kOperators[kOp], " needs an argument"));
  return CompareValues(std::string(kOperators[kOp]), call.input, *other);
}

struct NamedTest {
  std::string_view name;
  Result<bool> (*holds)(const TestCall&);
};

constexpr NamedTest kTests[] = {
    {"defined", IsDefined},
    {"undefined", IsKind<Kind::kUndefined>},
    {"none", IsKind<Kind::kNone>},
    {"boolean", IsKind<Kind::kBool>},
    {"true", IsTrueTest},
    {"false", IsFalse},
    {"integer", IsInteger},
    {"float", IsKind<Kind::kFloat>},
    {"number", IsNumber},
    {"string", IsKind<Kind::kString>},
    {"mapping", IsMapping},
    {"iterable", IsIterable},
    {"sequence", IsSequence},
    {"callable", IsCallable},
    {"escaped", IsEscaped},
    {"odd", IsParity<true>},
    {"even", IsParity<false>},
    {"divisibleby", IsDivisibleBy},
    {"lower", IsCase<false>},
    {"upper", IsCase<true>},
    {"sameas", IsSameAs},
    {"filter", IsFilter},
    {"test", IsTest},
    {"==", Compares<0>},
    {"eq", Compares<0>},
    {"equalto", Compares<0>},
    {"!=", Compares<1>},
    {"ne", Compares<1>},
    {"<", Compares<2>},
    {"lt", Compares<2>},
    {"lessthan", Compares<2>},
    {"<=", Compares<3>},
    {"le", Compares<3>},
    {">", Compares<4>},
    {"gt", Compares<4>},
    {"greaterthan", Compares<4>},
    {">=", Compares<5>},
    {"ge", Compares<5>},
    {"in", Compares<6>},
};

const NamedTest* FindTest(std::string_view name) {
  for (const NamedTest& test : kTests) {
    if (test.name == name) return &test;
  }
  return nullptr;
}

}  // namespace

bool HasTest(std::string_view name) { return FindTest(name) != nullptr; }

Result<bool> Interpreter::ApplyTest(const std::string& name, const Value& input,
                                    const Arguments& arguments) {
  const NamedTest* test = FindTest(name);
  if (test == nullptr) return InvalidArgument(StrCat("no test named '", Printable(name), "'"));
  return test->holds({*this, input, arguments});
}

}  // namespace quire::jinja
