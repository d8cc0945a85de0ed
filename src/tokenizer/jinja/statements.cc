// Statements of templates: blocks, loops, macros.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/interpreter.h"

namespace quire::jinja {

namespace {

// A macro, or the caller() of a call block. Variables of the block around it are kept as they are
// at its definition; the template's own are looked up when it runs.
class Macro final : public Callable, public std::enable_shared_from_this<Macro> {
 public:
  Macro(const Stmt& stmt, Scope around, std::string name)
      : stmt_(stmt), around_(std::move(around)), name_(std::move(name)) {}

  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    return interpreter.RunMacro(stmt_, arguments, around_, Value::Function(shared_from_this()));
  }

  std::optional<Value> Attribute(std::string_view name) const override {
    if (name == "name") return Value::String(name_);
    if (name == "arguments") {
      Items names;
      for (const Parameter& parameter : stmt_.parameters) {
        names.push_back(Value::String(parameter.name));
      }
      return Value::Tuple(std::move(names));
    }
    if (name == "catch_kwargs" || name == "catch_varargs" || name == "caller") {
      return Value::Bool(false);
    }
    return std::nullopt;
  }

  std::string Show() const override { return StrCat("<Macro '", name_, "'>"); }

 private:
  const Stmt& stmt_;
  Scope around_;
  std::string name_;
};

// The variable `loop`.
class Loop final : public Object {
 public:
  Loop(const Stmt& stmt, const Scope& around, Items items, int depth)
      : stmt_(stmt), around_(&around), items_(std::move(items)), depth_(depth) {}

  void Advance(std::size_t index) { index_ = index; }
  void End() {
    around_ = nullptr;
    last_ = Value();
  }
  const Items& items() const { return items_; }

  std::optional<Value> Attribute(const std::string& name) override {
    const auto size = static_cast<Int>(items_.size());
    const auto index = static_cast<Int>(index_);
    if (name == "index") return Value::Integer(index + 1);
    if (name == "index0") return Value::Integer(index);
    if (name == "revindex") return Value::Integer(size - index);
    if (name == "revindex0") return Value::Integer(size - index - 1);
    if (name == "first") return Value::Bool(index == 0);
    if (name == "last") return Value::Bool(index + 1 == size);
    if (name == "length") return Value::Integer(size);
    if (name == "depth") return Value::Integer(depth_);
    if (name == "depth0") return Value::Integer(depth_ - 1);
    if (name == "previtem") {
      return index_ > 0 ? items_[index_ - 1] : Value::Undefined("there is no previous item");
    }
    if (name == "nextitem") {
      return index_ + 1 < items_.size() ? items_[index_ + 1]
                                        : Value::Undefined("there is no next item");
    }
    if (name == "cycle") return Method(&Loop::Cycle);
    if (name == "changed") return Method(&Loop::Changed);
    return std::nullopt;
  }

  // loop(items) of a recursive loop runs it again over them.
  Result<Value> Call(Interpreter& interpreter, const Arguments& arguments) override {
    if (!stmt_.is_recursive) {
      return TypeError("the loop must have the 'recursive' marker to be called recursively");
    }
    if (around_ == nullptr) return InvalidArgument("the loop has ended");
    if (arguments.positional.size() != 1) return TypeError("loop() takes one argument");
    QUIRE_ASSIGN_OR_RETURN(std::string text, interpreter.RunLoop(stmt_, arguments.positional[0],
                                                                 *around_, depth_ + 1));
    return Value::String(std::move(text));
  }

  std::string Show() const override {
    return StrCat("<LoopContext ", index_ + 1, "/", items_.size(), ">");
  }

 private:
  using MethodPointer = Result<Value> (Loop::*)(const Arguments&);

  class BoundMethod final : public Callable {
   public:
    BoundMethod(std::shared_ptr<Loop> loop, MethodPointer method)
        : loop_(std::move(loop)), method_(method) {}
    Result<Value> Call(Interpreter&, const Arguments& arguments) override {
      return ((*loop_).*method_)(arguments);
    }

   private:
    std::shared_ptr<Loop> loop_;
    MethodPointer method_;
  };

  Value Method(MethodPointer method) {
    return Value::Function(std::make_shared<BoundMethod>(self_.lock(), method));
  }

  Result<Value> Cycle(const Arguments& arguments) {
    if (arguments.positional.empty()) return TypeError("no items for cycling given");
    return arguments.positional[index_ % arguments.positional.size()];
  }

  Result<Value> Changed(const Arguments& arguments) {
    Value now = Value::Tuple(arguments.positional);
    const bool has_changed = !has_last_ || !Equal(last_, now);
    if (around_ != nullptr) last_ = std::move(now);
    has_last_ = true;
    return Value::Bool(has_changed);
  }

  const Stmt& stmt_;
  const Scope* around_;
  Items items_;
  int depth_;
  std::size_t index_ = 0;
  bool has_last_ = false;
  Value last_;

 public:
  std::weak_ptr<Loop> self_;
};

}  // namespace

Status Interpreter::Emit(std::string_view text) {
  if (out_.size() + text.size() > limits_.max_output_bytes) {
    return ResourceExhausted(
        StrCat("the template writes more than ", limits_.max_output_bytes, " bytes"));
  }
  QUIRE_RETURN_IF_ERROR(SpendBytes(text.size()));
  out_ += text;
  return {};
}

Result<std::string> Interpreter::Render(const Template& source,
                                        std::vector<std::pair<std::string, Value>> variables) {
  Scope context(&globals_);
  for (auto& variable : variables) context.Set(variable.first, std::move(variable.second));
  Scope root(&context);
  root_ = &root;
  const Result<Flow> flow = Run(source.body, root);
  root_ = nullptr;
  if (!flow.ok()) {
    error_.status = flow.status();
    return flow.status();
  }
  return std::move(out_);
}

Result<Interpreter::Flow> Interpreter::Run(const Block& block, Scope& scope) {
  for (const StmtPtr& stmt : block) {
    Result<Flow> flow = RunOne(*stmt, scope);
    if (!flow.ok()) return At(flow.status(), stmt->at);
    if (*flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Interpreter::Flow> Interpreter::RunOne(const Stmt& stmt, Scope& scope) {
  QUIRE_RETURN_IF_ERROR(Spend(1));
  const auto done = [](Status status) -> Result<Flow> {
    if (!status.ok()) return status;
    return Flow::kNext;
  };
  switch (stmt.kind) {
    case StmtKind::kText:
      return done(Emit(stmt.name));
    case StmtKind::kPrint:
      return done(RunPrint(stmt, scope));
    case StmtKind::kIf:
      return RunIf(stmt, scope);
    case StmtKind::kFor:
      return RunFor(stmt, scope);
    case StmtKind::kSet:
    case StmtKind::kSetBlock:
      return done(RunSet(stmt, scope));
    case StmtKind::kWith:
      return RunWith(stmt, scope);
    case StmtKind::kMacro:
      scope.Set(stmt.name, MakeMacro(stmt, scope, false));
      return Flow::kNext;
    case StmtKind::kCall:
      return done(RunCallBlock(stmt, scope));
    case StmtKind::kFilter: {
      Scope inner(&scope);
      QUIRE_ASSIGN_OR_RETURN(std::string text, Capture(stmt.body, inner));
      const Value input = Value::String(std::move(text));
      QUIRE_ASSIGN_OR_RETURN(const Value value, EvalFilter(*stmt.expr, scope, &input));
      return done(Emit(Str(value)));
    }
    case StmtKind::kScope: {
      Scope inner(&scope);
      return Run(stmt.body, inner);
    }
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Internal("unknown statement");
}

Status Interpreter::RunPrint(const Stmt& stmt, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value value, Eval(*stmt.expr, scope));
  if (value.Is(Kind::kString)) return Emit(value.text());
  return Emit(Str(value));
}

Result<Interpreter::Flow> Interpreter::RunIf(const Stmt& stmt, Scope& scope) {
  const Stmt* branch = &stmt;
  while (true) {
    QUIRE_ASSIGN_OR_RETURN(const Value test, Eval(*branch->expr, scope));
    if (IsTrue(test)) return Run(branch->body, scope);
    // An elif is the only statement of the other branch.
    const bool has_elif =
        branch->otherwise.size() == 1 && branch->otherwise[0]->kind == StmtKind::kIf;
    if (!has_elif) return Run(branch->otherwise, scope);
    branch = branch->otherwise[0].get();
    QUIRE_RETURN_IF_ERROR(Spend(1));
  }
}

Result<std::string> Interpreter::Capture(const Block& block, Scope& scope) {
  std::string before = std::exchange(out_, {});
  const Result<Flow> flow = Run(block, scope);
  std::string text = std::exchange(out_, std::move(before));
  if (!flow.ok()) return flow.status();
  return text;
}

Status Interpreter::Assign(const Expr& target, Value value, Scope& scope) {
  if (target.kind == ExprKind::kName) {
    scope.Set(target.name, std::move(value));
    return {};
  }
  if (target.kind == ExprKind::kNamespaceName) {
    const Value* found = scope.Find(target.name);
    if (found == nullptr || !found->Is(Kind::kNamespace)) {
      return InvalidArgument("cannot assign attribute on non-namespace object");
    }
    if (target.ops[0].starts_with('_')) {
      return InvalidArgument(StrCat(
          "attributes of a namespace may not begin with an underscore, got '", target.ops[0], "'"));
    }
    for (auto& [name, old] : found->names()) {
      if (name == target.ops[0]) {
        old = std::move(value);
        return {};
      }
    }
    found->names().emplace_back(target.ops[0], std::move(value));
    return {};
  }
  QUIRE_ASSIGN_OR_RETURN(const Items items, Iterate(value));
  if (items.size() != target.parts.size()) {
    return InvalidArgument(StrCat(items.size() < target.parts.size() ? "not enough" : "too many",
                                  " values to unpack (expected ", target.parts.size(), ", got ",
                                  items.size(), ")"));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    QUIRE_RETURN_IF_ERROR(Assign(*target.parts[i], items[i], scope));
  }
  return {};
}

Status Interpreter::RunSet(const Stmt& stmt, Scope& scope) {
  if (stmt.kind == StmtKind::kSet) {
    QUIRE_ASSIGN_OR_RETURN(Value value, Eval(*stmt.expr, scope));
    return Assign(*stmt.target, std::move(value), scope);
  }
  Scope inner(&scope);
  QUIRE_ASSIGN_OR_RETURN(std::string text, Capture(stmt.body, inner));
  Value value = Value::String(std::move(text));
  if (stmt.expr != nullptr) {
    QUIRE_ASSIGN_OR_RETURN(Value filtered, EvalFilter(*stmt.expr, scope, &value));
    value = std::move(filtered);
  }
  return Assign(*stmt.target, std::move(value), scope);
}

Result<Interpreter::Flow> Interpreter::RunWith(const Stmt& stmt, Scope& scope) {
  Scope inner(&scope);
  for (const auto& [target, expr] : stmt.assignments) {
    QUIRE_ASSIGN_OR_RETURN(Value value, Eval(*expr, scope));
    QUIRE_RETURN_IF_ERROR(Assign(*target, std::move(value), inner));
  }
  return Run(stmt.body, inner);
}

Result<Interpreter::Flow> Interpreter::RunFor(const Stmt& stmt, Scope& scope) {
  QUIRE_ASSIGN_OR_RETURN(const Value iterable, Eval(*stmt.expr, scope));
  QUIRE_ASSIGN_OR_RETURN(Items items, Iterate(iterable));
  QUIRE_RETURN_IF_ERROR(SpendBytes(items.size() * sizeof(Value)));
  QUIRE_RETURN_IF_ERROR(LoopOver(stmt, std::move(items), scope, 1));
  return Flow::kNext;
}

Status Interpreter::LoopOver(const Stmt& loop, Items items, const Scope& around, int depth) {
  if (loop.test != nullptr) {
    Items kept;
    for (Value& item : items) {
      Scope inner(&around);
      QUIRE_RETURN_IF_ERROR(Assign(*loop.target, item, inner));
      QUIRE_ASSIGN_OR_RETURN(const Value test, Eval(*loop.test, inner));
      if (IsTrue(test)) kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }
  if (items.empty()) {
    Scope inner(&around);
    return Run(loop.otherwise, inner).status();
  }
  const auto state = std::make_shared<Loop>(loop, around, std::move(items), depth);
  state->self_ = state;
  const Value loop_value = Value::Of(state, NestingOf(state->items()));
  Status status;
  for (std::size_t i = 0; i < state->items().size() && status.ok(); ++i) {
    state->Advance(i);
    Scope inner(&around);
    inner.Set("loop", loop_value);
    status = Assign(*loop.target, state->items()[i], inner);
    if (!status.ok()) break;
    const Result<Flow> flow = Run(loop.body, inner);
    status = flow.status();
    if (flow.ok() && *flow == Flow::kBreak) break;
  }
  state->End();
  return status;
}

Result<std::string> Interpreter::RunLoop(const Stmt& loop, const Value& iterable,
                                         const Scope& around, int depth) {
  const Nesting nesting(*this);
  QUIRE_RETURN_IF_ERROR(nesting.Check());
  QUIRE_ASSIGN_OR_RETURN(Items items, Iterate(iterable));
  std::string before = std::exchange(out_, {});
  const Status status = LoopOver(loop, std::move(items), around, depth);
  std::string text = std::exchange(out_, std::move(before));
  if (!status.ok()) return status;
  return text;
}

Value Interpreter::MakeMacro(const Stmt& stmt, const Scope& scope, bool is_caller) {
  Scope around(root_);
  // What lies between here and the template's own variables, the nearest first.
  for (const Scope* at = &scope; at != nullptr && at != root_; at = at->parent()) {
    for (const auto& [name, value] : at->values()) {
      bool is_hidden = false;
      for (const auto& [known, other] : around.values()) is_hidden |= known == name;
      if (!is_hidden) around.Set(name, value);
    }
  }
  int nesting = 1;
  for (const auto& [name, value] : around.values()) {
    nesting = std::max(nesting, value.nesting() + 1);
  }
  return Value::Function(
      std::make_shared<Macro>(stmt, std::move(around), is_caller ? "caller" : stmt.name), nesting);
}

Result<Value> Interpreter::RunMacro(const Stmt& macro, const Arguments& arguments,
                                    const Scope& around, const Value& self) {
  const Nesting nesting(*this);
  QUIRE_RETURN_IF_ERROR(nesting.Check());
  if (root_ == nullptr || around.parent() != root_) {
    return InvalidArgument("the macro's template has ended");
  }
  Scope scope(&around);
  if (!macro.name.empty() && around.Find(macro.name) == nullptr) scope.Set(macro.name, self);
  QUIRE_RETURN_IF_ERROR(BindParameters(macro, arguments, scope));
  QUIRE_ASSIGN_OR_RETURN(std::string text, Capture(macro.body, scope));
  return Value::String(std::move(text));
}

Status Interpreter::BindParameters(const Stmt& macro, const Arguments& arguments, Scope& scope) {
  std::vector<bool> is_used(arguments.named.size());
  for (std::size_t i = 0; i < macro.parameters.size(); ++i) {
    const Parameter& parameter = macro.parameters[i];
    Value value = Value::Undefined(StrCat("parameter '", parameter.name, "' was not provided"));
    bool is_given = i < arguments.positional.size();
    if (is_given) value = arguments.positional[i];
    for (std::size_t k = 0; k < arguments.named.size(); ++k) {
      if (arguments.named[k].first != parameter.name) continue;
      if (is_given) {
        return TypeError(StrCat("macro '", macro.name, "' got multiple values for argument '",
                                parameter.name, "'"));
      }
      value = arguments.named[k].second;
      is_given = is_used[k] = true;
    }
    if (!is_given && parameter.fallback != nullptr) {
      QUIRE_ASSIGN_OR_RETURN(value, Eval(*parameter.fallback, scope));
    }
    scope.Set(parameter.name, std::move(value));
  }
  return BindRest(macro, arguments, is_used, scope);
}

// What no parameter takes: caller, varargs and kwargs.
Status Interpreter::BindRest(const Stmt& macro, const Arguments& arguments,
                             const std::vector<bool>& is_used, Scope& scope) {
  const std::size_t count = macro.parameters.size();
  Items more;
  for (std::size_t i = count; i < arguments.positional.size(); ++i) {
    more.push_back(arguments.positional[i]);
  }
  std::vector<std::pair<Value, Value>> named;
  for (std::size_t k = 0; k < arguments.named.size(); ++k) {
    const auto& [name, value] = arguments.named[k];
    if (is_used[k]) continue;
    if (name == "caller") {
      scope.Set("caller", value);
    } else {
      named.emplace_back(Value::String(name), value);
    }
  }
  if (!more.empty() && !macro.uses_varargs) {
    return TypeError(
        StrCat("macro '", macro.name, "' takes not more than ", count, " argument(s)"));
  }
  if (!named.empty() && !macro.uses_kwargs) {
    return TypeError(
        StrCat("macro '", macro.name, "' takes no keyword argument ", Repr(named[0].first)));
  }
  scope.Set("varargs", Value::Tuple(std::move(more)));
  scope.Set("kwargs", Value::Dict(std::move(named)));
  return {};
}

Status Interpreter::RunCallBlock(const Stmt& stmt, Scope& scope) {
  const Expr& call = *stmt.expr;
  QUIRE_ASSIGN_OR_RETURN(const Value callee, Eval(*call.parts[0], scope));
  QUIRE_ASSIGN_OR_RETURN(Arguments arguments, EvalArguments(call.call, scope));
  arguments.named.emplace_back("caller", MakeMacro(stmt, scope, true));
  QUIRE_ASSIGN_OR_RETURN(const Value value, CallValue(callee, arguments));
  return Emit(Str(value));
}

}  // namespace quire::jinja
