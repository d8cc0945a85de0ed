// What a template is parsed into.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tokenizer/jinja/lexer.h"
#include "tokenizer/jinja/value.h"

namespace quire::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : std::uint8_t {
  kConstant,
  kName,
  kNamespaceName,  // ns.x as the target of a set; name and attribute
  kList,
  kTuple,
  kDict,       // parts: key, value, key, value, …
  kUnary,      // op: not + -
  kBinary,     // op: + - * / // % ** and or
  kConcat,     // ~
  kCompare,    // parts[0], then one part for each of `ops`
  kCondition,  // parts: the test, the value, the other value (may be null)
  kAttribute,  // parts[0].name
  kSubscript,  // parts[0][parts[1]]
  kSlice,      // parts: begin, end, step; any may be null
  kCall,       // parts[0](call)
  kFilter,     // parts[0]|name(call); parts[0] null: the text of a block
  kTest,       // parts[0] is name(call)
};

struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;  // *list, **dict
};

struct Expr {
  ExprKind kind = ExprKind::kConstant;
  Position at;
  std::string name;  // of names, attributes, filters, tests; the operator
  Value constant;
  std::vector<ExprPtr> parts;
  std::vector<std::string> ops;  // of a comparison
  CallArguments call;
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

enum class StmtKind : std::uint8_t {
  kText,      // name: the text
  kPrint,     // expr
  kIf,        // expr, body, otherwise
  kFor,       // target, expr, test, body, otherwise
  kSet,       // target, expr
  kSetBlock,  // target, expr: filters or null, body
  kWith,      // targets and values, body
  kMacro,     // name, parameters and defaults, body
  kCall,      // expr, parameters and defaults, body
  kFilter,    // expr: filters, body
  kScope,     // body: block, generation, autoescape
  kBreak,
  kContinue,
};

struct Parameter {
  std::string name;
  ExprPtr fallback;  // null: none
};

struct Stmt {
  StmtKind kind = StmtKind::kText;
  Position at;
  std::string name;
  ExprPtr target, expr, test;
  std::vector<std::pair<ExprPtr, ExprPtr>> assignments;  // of a with
  std::vector<Parameter> parameters;
  bool is_recursive = false;
  bool uses_varargs = false, uses_kwargs = false;  // of a macro or call block
  Block body, otherwise;
};

struct Template {
  Block body;
  std::set<std::string> names;  // all variables that are read
  bool walks_content = false;   // content is looked at as a list of parts
};

}  // namespace quire::jinja
