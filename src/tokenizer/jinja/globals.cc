// Functions that every template finds.
#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"

namespace quire::jinja {

namespace {

constexpr Int kMaxRange = 100'000;  // as the sandbox of the original has it

using Function = Result<Value> (*)(Interpreter&, const Arguments&);

class GlobalFunction final : public Callable {
 public:
  GlobalFunction(std::string_view name, Function function) : name_(name), function_(function) {}
  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    return function_(interpreter, arguments);
  }
  std::string Show() const override { return StrCat("<function ", name_, ">"); }

 private:
  std::string_view name_;
  Function function_;
};

Result<Value> Range(Interpreter& interpreter, const Arguments& arguments) {
  const std::size_t count = arguments.positional.size();
  if (count < 1 || count > 3) return TypeError("range expected 1 to 3 arguments");
  Int bounds[3] = {0, 0, 1};
  for (std::size_t i = 0; i < count; ++i) {
    const Value& bound = arguments.positional[i];
    if (!bound.Is(Kind::kInt) && !bound.Is(Kind::kBool)) {
      return TypeError(
          StrCat("'", TypeName(bound), "' object cannot be interpreted as an integer"));
    }
    bounds[count == 1 ? 1 : i] = bound.integer();
  }
  const auto [begin, end, step] = bounds;
  if (step == 0) return InvalidArgument("range() arg 3 must not be zero");
  const double length =
      (static_cast<double>(end) - static_cast<double>(begin)) / static_cast<double>(step);
  if (length > static_cast<double>(kMaxRange)) {
    return ResourceExhausted(StrCat("range too big, at most ", FormatInt(kMaxRange), " numbers"));
  }
  Items items;
  QUIRE_RETURN_IF_ERROR(
      interpreter.SpendBytes(static_cast<std::size_t>(std::max(0.0, length)) * sizeof(Value)));
  for (Int i = begin; step > 0 ? i < end : i > end; i += step) items.push_back(Value::Integer(i));
  std::string label = StrCat("range(", FormatInt(begin), ", ", FormatInt(end));
  if (step != 1) label += ", " + FormatInt(step);
  return Value::List(std::move(items), Kind::kRange, label + ")");
}

// dict(mapping or pairs, name=value, …)
Result<std::vector<std::pair<Value, Value>>> ReadPairs(const Arguments& arguments) {
  std::vector<std::pair<Value, Value>> pairs;
  for (const Value& source : arguments.positional) {
    if (source.Is(Kind::kDict)) {
      pairs.insert(pairs.end(), source.pairs().begin(), source.pairs().end());
      continue;
    }
    QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(source));
    for (const Value& item : items) {
      QUIRE_ASSIGN_OR_RETURN(const Items pair, Iterate(item));
      if (pair.size() != 2) return InvalidArgument("dictionary update sequence needs pairs");
      pairs.emplace_back(pair[0], pair[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) {
    pairs.emplace_back(Value::String(name), value);
  }
  return pairs;
}

Result<Value> Dict(Interpreter& interpreter, const Arguments& arguments) {
  QUIRE_ASSIGN_OR_RETURN(auto pairs, ReadPairs(arguments));
  QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(pairs.size() * sizeof(Value) * 2));
  return Value::Dict(std::move(pairs));
}

Result<Value> MakeNamespace(Interpreter& interpreter, const Arguments& arguments) {
  QUIRE_ASSIGN_OR_RETURN(const auto pairs, ReadPairs(arguments));
  QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes((pairs.size() + 1) * sizeof(Value) * 2));
  Value out = Value::Namespace();
  for (const auto& [name, value] : pairs) {
    if (name.Is(Kind::kString)) out.names().emplace_back(name.text(), value);
  }
  interpreter.Track(out);
  return out;
}

// A template's own message, as long as a person reads.
Result<Value> RaiseException(Interpreter& interpreter, const Arguments& arguments) {
  constexpr std::size_t kMaxBytes = 1000;
  const Value* message = Argument(arguments, 0, "message");
  std::string text = message == nullptr ? "" : Str(*message);
  if (text.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
    text.resize(end);
    text += "…";
  }
  return interpreter.Raise(std::move(text));
}

Result<Value> StrftimeNow(Interpreter& interpreter, const Arguments& arguments) {
  QUIRE_ASSIGN_OR_RETURN(const std::string format, TextArgument(arguments, 0, "format", ""));
  QUIRE_RETURN_IF_ERROR(interpreter.SpendBytes(format.size() * 16));
  return Value::String(FormatTime(interpreter.now(), format));
}

class Cycler final : public Object {
 public:
  explicit Cycler(Items items) : items_(std::move(items)) {}
  std::optional<Value> Attribute(const std::string& name) override;
  std::string Show() const override { return "<Cycler>"; }
  Value Next() {
    Value item = items_[at_];
    at_ = (at_ + 1) % items_.size();
    return item;
  }
  void Reset() { at_ = 0; }
  int nesting() const { return NestingOf(items_); }

 private:
  friend Result<Value> MakeCycler(Interpreter&, const Arguments&);
  Items items_;
  std::size_t at_ = 0;
  std::weak_ptr<Cycler> self_;
};

class CyclerMethod final : public Callable {
 public:
  CyclerMethod(std::shared_ptr<Cycler> cycler, bool is_next)
      : cycler_(std::move(cycler)), is_next_(is_next) {}
  Result<Value> Call(Interpreter&, const Arguments&) override {
    if (is_next_) return cycler_->Next();
    cycler_->Reset();
    return Value::None();
  }

 private:
  std::shared_ptr<Cycler> cycler_;
  bool is_next_;
};

std::optional<Value> Cycler::Attribute(const std::string& name) {
  if (name == "current") return items_[at_];
  if (name != "next" && name != "reset") return std::nullopt;
  return Value::Function(std::make_shared<CyclerMethod>(self_.lock(), name == "next"),
                         nesting() + 1);
}

Result<Value> MakeCycler(Interpreter&, const Arguments& arguments) {
  if (arguments.positional.empty()) return InvalidArgument("at least one item has to be provided");
  auto cycler = std::make_shared<Cycler>(arguments.positional);
  cycler->self_ = cycler;
  return Value::Of(cycler, cycler->nesting());
}

class Joiner final : public Object {
 public:
  explicit Joiner(std::string separator) : separator_(std::move(separator)) {}
  std::optional<Value> Attribute(const std::string&) override { return std::nullopt; }
  Result<Value> Call(Interpreter&, const Arguments&) override {
    const bool is_first = !is_used_;
    is_used_ = true;
    return Value::String(is_first ? "" : separator_);
  }
  std::string Show() const override { return "<Joiner>"; }

 private:
  std::string separator_;
  bool is_used_ = false;
};

Result<Value> MakeJoiner(Interpreter&, const Arguments& arguments) {
  QUIRE_ASSIGN_OR_RETURN(std::string separator, TextArgument(arguments, 0, "sep", ", "));
  return Value::Of(std::make_shared<Joiner>(std::move(separator)));
}

Result<Value> Lipsum(Interpreter&, const Arguments&) {
  return Value::String("Lorem ipsum dolor sit amet.");
}

}  // namespace

void AddGlobals(Scope& scope) {
  constexpr std::pair<std::string_view, Function> kFunctions[] = {
      {"range", Range},
      {"dict", Dict},
      {"namespace", MakeNamespace},
      {"raise_exception", RaiseException},
      {"strftime_now", StrftimeNow},
      {"cycler", MakeCycler},
      {"joiner", MakeJoiner},
      {"lipsum", Lipsum},
  };
  for (const auto& [name, function] : kFunctions) {
    scope.Set(name, Value::Function(std::make_shared<GlobalFunction>(name, function)));
  }
}

}  // namespace quire::jinja
