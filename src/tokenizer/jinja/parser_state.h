// The parser's place in the tokens; its methods are split over expressions and statements.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/jinja/ast.h"

namespace quire::jinja {

// Methods give null after a failure, which is told in `error_`; the first one counts.
class Parser {
 public:
  Parser(std::vector<Token> tokens, Template& out, SyntaxError& error)
      : tokens_(std::move(tokens)), template_(out), error_(error) {}

  bool ParseAll();

 private:
  static constexpr int kMaxDepth = 120;  // nested expressions and blocks
  // Operators, filters and subscripts of one tag: bounds how deep its tree can get by chaining.
  static constexpr int kMaxSteps = 5000;

  // Statements (parser.cc).
  bool ParseBlock(Block& out, std::initializer_list<std::string_view> ends);
  StmtPtr ParseStatement();
  StmtPtr ParseFor();
  StmtPtr ParseIf();
  StmtPtr ParseSet();
  StmtPtr ParseWith();
  StmtPtr ParseMacro();
  StmtPtr ParseCallBlock();
  StmtPtr ParseFilterBlock();
  StmtPtr ParseScope(std::string_view end);
  StmtPtr ParseLoopControl();
  bool ParseParameters(std::vector<Parameter>& out);
  bool ParseBody(Block& out, std::string_view end);
  ExprPtr ParseTarget(bool with_namespace);
  ExprPtr ParseTargetPart(bool with_namespace);

  // Expressions (parser_expressions.cc).
  ExprPtr ParseExpression(bool with_condition = true);
  ExprPtr ParseTuple(bool with_condition, bool is_parenthesized, std::string_view end_name = "");
  ExprPtr ParseCondition();
  ExprPtr ParseOr();
  ExprPtr ParseAnd();
  ExprPtr ParseNot();
  ExprPtr ParseCompare();
  ExprPtr ParseSum();
  ExprPtr ParseConcat();
  ExprPtr ParseProduct();
  ExprPtr ParsePower();
  ExprPtr ParseUnary(bool with_filter = true);
  ExprPtr ParsePrimary();
  ExprPtr ParseList();
  ExprPtr ParseDict();

  // What follows an operand (parser_postfix.cc).
  ExprPtr ParsePostfix(ExprPtr expr);
  ExprPtr ParseFilters(ExprPtr expr);
  ExprPtr ParseFilter(ExprPtr expr, bool is_inline);
  ExprPtr ParseTest(ExprPtr expr);
  ExprPtr ParseSubscript(ExprPtr expr);
  ExprPtr ParseSubscriptPart();
  ExprPtr ParseCall(ExprPtr expr);
  bool ParseArguments(CallArguments& out);
  bool ParseDottedName(std::string& out);

  const Token& current() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  void Next() {
    if (at_ + 1 < tokens_.size()) ++at_;
  }
  bool IsOperator(std::string_view op) const { return current().Is(Token::Kind::kOperator, op); }
  bool IsName(std::string_view name) const { return current().Is(Token::Kind::kName, name); }
  bool SkipOperator(std::string_view op);
  bool SkipName(std::string_view name);
  bool Expect(std::string_view op);
  bool ExpectTagEnd();
  bool IsTupleEnd(std::string_view end_name) const;
  // What a failed method gives: false, or null.
  struct Failure {
    operator bool() const { return false; }       // NOLINT(google-explicit-constructor)
    operator ExprPtr() const { return nullptr; }  // NOLINT(google-explicit-constructor)
    operator StmtPtr() const { return nullptr; }  // NOLINT(google-explicit-constructor)
  };
  Failure Fail(std::string message);
  Failure FailAt(std::string message, Position at);
  std::string Describe() const;  // the current token
  ExprPtr Make(ExprKind kind) const;
  ExprPtr Binary(std::string op, ExprPtr left, ExprPtr right);
  bool CountStep();
  StmtPtr MakeStmt(StmtKind kind) const;

  // Counts nesting for the length of a scope.
  class Deeper {
   public:
    explicit Deeper(Parser& parser) : parser_(parser) { ++parser_.depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    ~Deeper() { --parser_.depth_; }
    bool is_too_deep() const { return parser_.depth_ > kMaxDepth; }

   private:
    Parser& parser_;
  };

  std::vector<Token> tokens_;
  Template& template_;
  SyntaxError& error_;
  std::size_t at_ = 0;
  int depth_ = 0;
  int num_steps_ = 0;          // of the current tag
  int num_loops_ = 0;          // loops around the current place, inside the same macro
  int num_conditions_ = 0;     // ifs around it: unknown filters in them fail only when met
  std::vector<Stmt*> macros_;  // around the current place
  bool has_failed_ = false;
};

}  // namespace quire::jinja
