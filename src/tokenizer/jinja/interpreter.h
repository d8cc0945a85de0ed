// Runs a template.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/jinja/ast.h"
#include "tokenizer/jinja/value.h"

namespace quire::jinja {

// The variables of a block; looks further in the blocks around it.
class Scope {
 public:
  explicit Scope(const Scope* parent) : parent_(parent) {}
  const Value* Find(std::string_view name) const;
  void Set(std::string_view name, Value value);
  const Scope* parent() const { return parent_; }
  const std::vector<std::pair<std::string, Value>>& values() const { return values_; }

 private:
  const Scope* parent_;
  std::vector<std::pair<std::string, Value>> values_;
};

// One rendering. One thread; used once.
class Interpreter {
 public:
  Interpreter(const RenderLimits& limits, const LocalTime& now);
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;
  ~Interpreter();

  // The text of the template; on failure error() tells where.
  Result<std::string> Render(const Template& source,
                             std::vector<std::pair<std::string, Value>> variables);
  const TemplateError& error() const { return error_; }

  // For filters, tests and methods.
  const LocalTime& now() const { return now_; }
  Status Spend(std::int64_t steps);          // kResourceExhausted when the budget is used up
  Status SpendBytes(std::size_t num_bytes);  // before that many bytes are made
  Status Raise(std::string message);         // raise_exception
  void Track(Value value) { namespaces_.push_back(std::move(value)); }  // to be emptied at the end
  Result<Value> CallValue(const Value& callee, const Arguments& arguments);
  Result<Value> Attribute(const Value& object, const std::string& name);
  Result<Value> Item(const Value& object, const Value& key);
  Result<Value> ApplyFilter(const std::string& name, const Value& input,
                            const Arguments& arguments);
  Result<bool> ApplyTest(const std::string& name, const Value& input, const Arguments& arguments);

  // For macros and loops.
  Result<Value> RunMacro(const Stmt& macro, const Arguments& arguments, const Scope& around,
                         const Value& self);
  Result<std::string> RunLoop(const Stmt& loop, const Value& iterable, const Scope& around,
                              int depth);

 private:
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };
  // Nested expressions and blocks, calls included: bounds the machine's stack.
  static constexpr int kMaxStack = 1500;

  // One level deeper for the length of a scope.
  class Nesting {
   public:
    explicit Nesting(Interpreter& interpreter) : interpreter_(interpreter) {
      ++interpreter_.depth_;
    }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    ~Nesting() { --interpreter_.depth_; }
    Status Check() const {
      if (interpreter_.depth_ <= kMaxStack) return {};
      return ResourceExhausted("the template nests too deeply");
    }

   private:
    Interpreter& interpreter_;
  };

  Result<Value> Eval(const Expr& expr, Scope& scope);
  Result<Value> EvalKind(const Expr& expr, Scope& scope);
  Result<Value> EvalName(const Expr& expr, const Scope& scope);
  Result<Value> EvalItems(const Expr& expr, Scope& scope);
  Result<Value> EvalDict(const Expr& expr, Scope& scope);
  Result<Value> EvalUnary(const Expr& expr, Scope& scope);
  Result<Value> EvalBinary(const Expr& expr, Scope& scope);
  Result<Value> EvalConcat(const Expr& expr, Scope& scope);
  Result<Value> EvalCompare(const Expr& expr, Scope& scope);
  Result<Value> EvalCondition(const Expr& expr, Scope& scope);
  Result<Value> EvalSubscript(const Expr& expr, Scope& scope);
  Result<Value> EvalSlice(const Value& object, const Expr& slice, Scope& scope);
  Result<Value> EvalCall(const Expr& expr, Scope& scope);
  Result<Value> EvalFilter(const Expr& expr, Scope& scope, const Value* input);
  Result<Value> EvalTest(const Expr& expr, Scope& scope);
  Result<Arguments> EvalArguments(const CallArguments& call, Scope& scope);

  Result<Flow> Run(const Block& block, Scope& scope);
  Result<Flow> RunOne(const Stmt& stmt, Scope& scope);
  Result<Flow> RunIf(const Stmt& stmt, Scope& scope);
  Result<Flow> RunFor(const Stmt& stmt, Scope& scope);
  Result<Flow> RunWith(const Stmt& stmt, Scope& scope);
  Status RunSet(const Stmt& stmt, Scope& scope);
  Status RunCallBlock(const Stmt& stmt, Scope& scope);
  Status RunPrint(const Stmt& stmt, Scope& scope);
  Result<std::string> Capture(const Block& block, Scope& scope);  // its text
  Status Assign(const Expr& target, Value value, Scope& scope);
  Value MakeMacro(const Stmt& stmt, const Scope& scope, bool is_caller);
  Status LoopOver(const Stmt& loop, Items items, const Scope& around, int depth);
  Status Emit(std::string_view text);
  Status BindParameters(const Stmt& macro, const Arguments& arguments, Scope& scope);
  Status BindRest(const Stmt& macro, const Arguments& arguments, const std::vector<bool>& is_used,
                  Scope& scope);
  Status At(Status status, Position at);  // remembers where the first failure was

  RenderLimits limits_;
  LocalTime now_;
  std::int64_t steps_left_;
  std::size_t bytes_left_;
  int depth_ = 0;  // nested expressions and blocks
  int calls_ = 0;  // nested calls and loops
  std::string out_;
  TemplateError error_;
  std::vector<Value> namespaces_;  // may hold each other, so they are emptied at the end
  Scope globals_{nullptr};
  const Scope* root_ = nullptr;
};

// Global functions: range, dict, namespace, cycler, joiner, raise_exception, strftime_now, …
void AddGlobals(Scope& scope);

// The method or attribute `name` of a value other than a dict's key; nullopt where it has none.
std::optional<Value> FindMethod(const Value& object, const std::string& name);

// Arithmetic (operators.cc).
Result<Value> Add(Interpreter& interpreter, const Value& a, const Value& b);
Result<Value> Arithmetic(Interpreter& interpreter, const std::string& op, const Value& a,
                         const Value& b);
Result<bool> Contains(const Value& container, const Value& item);
Result<bool> CompareValues(const std::string& op, const Value& a, const Value& b);
// Python's % and str.format.
Result<std::string> FormatPercent(Interpreter& interpreter, std::string_view format,
                                  const Value& arguments);
Result<std::string> FormatBraces(Interpreter& interpreter, std::string_view format,
                                 const Arguments& arguments);
std::string FormatTime(const LocalTime& time, std::string_view format);

// Python's str methods that filters share.
std::string Lower(std::string_view text);
std::string Upper(std::string_view text);
std::string TitleWords(std::string_view text);  // the title filter
std::string Capitalize(std::string_view text);
std::string_view Strip(std::string_view text, std::optional<std::string_view> characters, bool left,
                       bool right);
std::string Escape(std::string_view text);  // for HTML
std::string ReplaceText(std::string_view text, std::string_view from, std::string_view to,
                        std::int64_t max_count);
std::int64_t LengthOf(std::string_view text);  // in code points

// The argument at `idx` or of the name; null where it is not given.
const Value* Argument(const Arguments& arguments, std::size_t idx, std::string_view name);
Result<std::int64_t> IntArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                                 std::int64_t fallback);
Result<std::string> TextArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                                 std::string fallback);
bool BoolArgument(const Arguments& arguments, std::size_t idx, std::string_view name,
                  bool fallback);

}  // namespace quire::jinja
