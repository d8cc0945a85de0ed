// Expressions, by the precedence of their operators.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/parser_state.h"

namespace quire::jinja {

using TokenKind = Token::Kind;

Parser::Failure Parser::FailAt(std::string message, Position at) {
  if (!has_failed_) error_ = {std::move(message), at};
  has_failed_ = true;
  return {};
}

Parser::Failure Parser::Fail(std::string message) {
  return FailAt(std::move(message), current().at);
}

std::string Parser::Describe() const {
  switch (current().kind) {
    case TokenKind::kEnd:
      return "end of template";
    case TokenKind::kTagEnd:
      return "end of statement block";
    case TokenKind::kPrintEnd:
      return "end of print statement";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    default:
      return StrCat("'", Printable(current().text, 30), "'");
  }
}

bool Parser::SkipOperator(std::string_view op) {
  if (!IsOperator(op)) return false;
  Next();
  return true;
}

bool Parser::SkipName(std::string_view name) {
  if (!IsName(name)) return false;
  Next();
  return true;
}

bool Parser::Expect(std::string_view op) {
  if (SkipOperator(op)) return true;
  Fail(StrCat("expected '", op, "', got ", Describe()));
  return false;
}

ExprPtr Parser::Make(ExprKind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->at = current().at;
  return expr;
}

bool Parser::CountStep() {
  if (++num_steps_ <= kMaxSteps) return true;
  return Fail(StrCat("more than ", kMaxSteps, " operators in one tag"));
}

ExprPtr Parser::Binary(std::string op, ExprPtr left, ExprPtr right) {
  if (left == nullptr || right == nullptr || !CountStep()) return nullptr;
  auto expr = std::make_unique<Expr>();
  expr->kind = ExprKind::kBinary;
  expr->at = left->at;
  expr->name = std::move(op);
  expr->parts.push_back(std::move(left));
  expr->parts.push_back(std::move(right));
  return expr;
}

ExprPtr Parser::ParseExpression(bool with_condition) {
  const Deeper deeper(*this);
  if (deeper.is_too_deep()) return Fail("expressions nested too deeply");
  return with_condition ? ParseCondition() : ParseOr();
}

ExprPtr Parser::ParseCondition() {
  ExprPtr value = ParseOr();
  while (value != nullptr && SkipName("if")) {
    if (!CountStep()) return nullptr;
    ExprPtr expr = Make(ExprKind::kCondition);
    ++num_conditions_;
    ExprPtr test = ParseOr();
    ExprPtr other;
    if (test != nullptr && SkipName("else")) {
      other = ParseExpression();
      if (other == nullptr) return nullptr;
    }
    --num_conditions_;
    if (test == nullptr) return nullptr;
    expr->parts.push_back(std::move(test));
    expr->parts.push_back(std::move(value));
    expr->parts.push_back(std::move(other));
    value = std::move(expr);
  }
  return value;
}

ExprPtr Parser::ParseOr() {
  ExprPtr left = ParseAnd();
  while (left != nullptr && SkipName("or")) left = Binary("or", std::move(left), ParseAnd());
  return left;
}

ExprPtr Parser::ParseAnd() {
  ExprPtr left = ParseNot();
  while (left != nullptr && SkipName("and")) left = Binary("and", std::move(left), ParseNot());
  return left;
}

ExprPtr Parser::ParseNot() {
  const Deeper deeper(*this);
  if (deeper.is_too_deep()) return Fail("expressions nested too deeply");
  if (!IsName("not")) return ParseCompare();
  ExprPtr expr = Make(ExprKind::kUnary);
  Next();
  expr->name = "not";
  expr->parts.push_back(ParseNot());
  return expr->parts[0] == nullptr ? nullptr : std::move(expr);
}

ExprPtr Parser::ParseCompare() {
  constexpr std::string_view kOps[] = {"==", "!=", "<", "<=", ">", ">="};
  ExprPtr left = ParseSum();
  if (left == nullptr) return nullptr;
  ExprPtr expr = Make(ExprKind::kCompare);
  expr->at = left->at;
  expr->parts.push_back(std::move(left));
  while (true) {
    const auto* op = std::find_if(std::begin(kOps), std::end(kOps),
                                  [&](std::string_view text) { return IsOperator(text); });
    if (op != std::end(kOps)) {
      Next();
      expr->ops.emplace_back(*op);
    } else if (SkipName("in")) {
      expr->ops.emplace_back("in");
    } else if (IsName("not") && Ahead().Is(TokenKind::kName, "in")) {
      Next();
      Next();
      expr->ops.emplace_back("not in");
    } else {
      break;
    }
    expr->parts.push_back(ParseSum());
    if (expr->parts.back() == nullptr) return nullptr;
  }
  return expr->ops.empty() ? std::move(expr->parts[0]) : std::move(expr);
}

ExprPtr Parser::ParseSum() {
  ExprPtr left = ParseConcat();
  while (left != nullptr && (IsOperator("+") || IsOperator("-"))) {
    std::string op = current().text;
    Next();
    left = Binary(std::move(op), std::move(left), ParseConcat());
  }
  return left;
}

ExprPtr Parser::ParseConcat() {
  ExprPtr first = ParseProduct();
  if (first == nullptr || !IsOperator("~")) return first;
  ExprPtr expr = Make(ExprKind::kConcat);
  expr->parts.push_back(std::move(first));
  while (SkipOperator("~")) {
    expr->parts.push_back(ParseProduct());
    if (expr->parts.back() == nullptr) return nullptr;
  }
  return expr;
}

ExprPtr Parser::ParseProduct() {
  ExprPtr left = ParsePower();
  while (left != nullptr &&
         (IsOperator("*") || IsOperator("/") || IsOperator("//") || IsOperator("%"))) {
    std::string op = current().text;
    Next();
    left = Binary(std::move(op), std::move(left), ParsePower());
  }
  return left;
}

ExprPtr Parser::ParsePower() {
  ExprPtr left = ParseUnary();
  while (left != nullptr && SkipOperator("**")) left = Binary("**", std::move(left), ParseUnary());
  return left;
}

ExprPtr Parser::ParseUnary(bool with_filter) {
  const Deeper deeper(*this);
  if (deeper.is_too_deep()) return Fail("expressions nested too deeply");
  ExprPtr expr;
  if (IsOperator("-") || IsOperator("+")) {
    expr = Make(ExprKind::kUnary);
    expr->name = current().text;
    Next();
    expr->parts.push_back(ParseUnary(false));
    if (expr->parts[0] == nullptr) return nullptr;
  } else {
    expr = ParsePrimary();
  }
  expr = ParsePostfix(std::move(expr));
  return with_filter ? ParseFilters(std::move(expr)) : std::move(expr);
}

ExprPtr Parser::ParsePrimary() {
  ExprPtr expr = Make(ExprKind::kConstant);
  const Token& token = current();
  switch (token.kind) {
    case TokenKind::kName:
      if (token.text == "true" || token.text == "True") {
        expr->constant = Value::Bool(true);
      } else if (token.text == "false" || token.text == "False") {
        expr->constant = Value::Bool(false);
      } else if (token.text == "none" || token.text == "None") {
        expr->constant = Value::None();
      } else {
        expr->kind = ExprKind::kName;
        expr->name = token.text;
        template_.names.insert(token.text);
        if (!macros_.empty() && token.text == "varargs") macros_.back()->uses_varargs = true;
        if (!macros_.empty() && token.text == "kwargs") macros_.back()->uses_kwargs = true;
      }
      Next();
      return expr;
    case TokenKind::kString: {
      std::string text;
      for (; current().kind == TokenKind::kString; Next()) text += current().text;
      expr->constant = Value::String(std::move(text));
      return expr;
    }
    case TokenKind::kInteger:
      expr->constant = Value::Integer(token.integer);
      Next();
      return expr;
    case TokenKind::kFloat:
      expr->constant = Value::Float(token.number);
      Next();
      return expr;
    default:
      break;
  }
  if (SkipOperator("(")) {
    ExprPtr inner = ParseTuple(true, true);
    return inner != nullptr && Expect(")") ? std::move(inner) : nullptr;
  }
  if (IsOperator("[")) return ParseList();
  if (IsOperator("{")) return ParseDict();
  return Fail(StrCat("unexpected ", Describe()));
}

bool Parser::IsTupleEnd(std::string_view end_name) const {
  const TokenKind kind = current().kind;
  if (kind == TokenKind::kTagEnd || kind == TokenKind::kPrintEnd || IsOperator(")")) return true;
  return !end_name.empty() && IsName(end_name);
}

ExprPtr Parser::ParseTuple(bool with_condition, bool is_parenthesized, std::string_view end_name) {
  ExprPtr tuple = Make(ExprKind::kTuple);
  bool is_tuple = false;
  while (true) {
    if (!tuple->parts.empty() && !Expect(",")) return nullptr;
    if (IsTupleEnd(end_name)) break;
    tuple->parts.push_back(ParseExpression(with_condition));
    if (tuple->parts.back() == nullptr) return nullptr;
    if (!IsOperator(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return tuple;
  if (!tuple->parts.empty()) return std::move(tuple->parts[0]);
  if (is_parenthesized) return tuple;
  return Fail(StrCat("expected an expression, got ", Describe()));
}

ExprPtr Parser::ParseList() {
  ExprPtr list = Make(ExprKind::kList);
  Next();
  while (!IsOperator("]")) {
    if (!list->parts.empty() && !Expect(",")) return nullptr;
    if (IsOperator("]")) break;
    list->parts.push_back(ParseExpression());
    if (list->parts.back() == nullptr) return nullptr;
  }
  Next();
  return list;
}

ExprPtr Parser::ParseDict() {
  ExprPtr dict = Make(ExprKind::kDict);
  Next();
  while (!IsOperator("}")) {
    if (!dict->parts.empty() && !Expect(",")) return nullptr;
    if (IsOperator("}")) break;
    dict->parts.push_back(ParseExpression());
    if (dict->parts.back() == nullptr || !Expect(":")) return nullptr;
    dict->parts.push_back(ParseExpression());
    if (dict->parts.back() == nullptr) return nullptr;
  }
  Next();
  return dict;
}

}  // namespace quire::jinja
