// What may follow an operand: attributes, subscripts, calls, filters and tests.
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/parser.h"
#include "tokenizer/jinja/parser_state.h"

namespace quire::jinja {

using TokenKind = Token::Kind;

ExprPtr Parser::ParsePostfix(ExprPtr expr) {
  while (expr != nullptr) {
    if (!CountStep()) return nullptr;
    if (IsOperator(".") || IsOperator("[")) {
      expr = ParseSubscript(std::move(expr));
    } else if (IsOperator("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

ExprPtr Parser::ParseFilters(ExprPtr expr) {
  while (expr != nullptr) {
    if (!CountStep()) return nullptr;
    if (IsOperator("|")) {
      expr = ParseFilter(std::move(expr), false);
    } else if (IsName("is")) {
      expr = ParseTest(std::move(expr));
    } else if (IsOperator("(")) {
      expr = ParseCall(std::move(expr));
    } else {
      break;
    }
  }
  return expr;
}

bool Parser::ParseDottedName(std::string& out) {
  if (current().kind != TokenKind::kName) {
    Fail(StrCat("expected a name, got ", Describe()));
    return false;
  }
  out = current().text;
  Next();
  while (IsOperator(".") && Ahead().kind == TokenKind::kName) {
    Next();
    out += "." + current().text;
    Next();
  }
  return true;
}

// One or more filters; `is_inline`: the first without its bar.
ExprPtr Parser::ParseFilter(ExprPtr expr, bool is_inline) {
  while (is_inline || IsOperator("|")) {
    if (!CountStep()) return nullptr;
    if (!is_inline) Next();
    is_inline = false;
    ExprPtr filter = Make(ExprKind::kFilter);
    if (!ParseDottedName(filter->name)) return nullptr;
    if (!HasFilter(filter->name) && num_conditions_ == 0) {
      return FailAt(StrCat("no filter named '", Printable(filter->name), "'"), filter->at);
    }
    if (SkipOperator("(") && !ParseArguments(filter->call)) return nullptr;
    filter->parts.push_back(std::move(expr));
    expr = std::move(filter);
  }
  return expr;
}

ExprPtr Parser::ParseTest(ExprPtr expr) {
  ExprPtr test = Make(ExprKind::kTest);
  Next();
  const bool is_negated = SkipName("not");
  if (!ParseDottedName(test->name)) return nullptr;
  if (!HasTest(test->name) && num_conditions_ == 0) {
    return FailAt(StrCat("no test named '", Printable(test->name), "'"), test->at);
  }
  const TokenKind kind = current().kind;
  const bool begins_operand = kind == TokenKind::kName || kind == TokenKind::kString ||
                              kind == TokenKind::kInteger || kind == TokenKind::kFloat ||
                              IsOperator("[") || IsOperator("{");
  if (SkipOperator("(")) {
    if (!ParseArguments(test->call)) return nullptr;
  } else if (begins_operand && !IsName("else") && !IsName("or") && !IsName("and")) {
    if (IsName("is")) return Fail("tests cannot be chained with is");
    ExprPtr operand = ParsePostfix(ParsePrimary());
    if (operand == nullptr) return nullptr;
    test->call.positional.push_back(std::move(operand));
  }
  // `content is string` and the like tell a template that looks at parts from one that does not.
  if (expr->kind == ExprKind::kSubscript || expr->kind == ExprKind::kAttribute) {
    const bool is_content =
        expr->name == "content" || (expr->parts.size() > 1 && expr->parts[1] != nullptr &&
                                    expr->parts[1]->constant.Is(Kind::kString) &&
                                    expr->parts[1]->constant.text() == "content");
    if (is_content && (test->name == "string" || test->name == "iterable" ||
                       test->name == "sequence" || test->name == "mapping")) {
      template_.walks_content = true;
    }
  }
  test->parts.push_back(std::move(expr));
  if (!is_negated) return test;
  ExprPtr negation = Make(ExprKind::kUnary);
  negation->at = test->at;
  negation->name = "not";
  negation->parts.push_back(std::move(test));
  return negation;
}

ExprPtr Parser::ParseSubscript(ExprPtr expr) {
  if (SkipOperator(".")) {
    ExprPtr out = Make(ExprKind::kAttribute);
    if (current().kind == TokenKind::kName) {
      out->name = current().text;
    } else if (current().kind == TokenKind::kInteger) {
      out->kind = ExprKind::kSubscript;
    } else {
      return Fail(StrCat("expected a name or a number, got ", Describe()));
    }
    out->parts.push_back(std::move(expr));
    if (out->kind == ExprKind::kSubscript) out->parts.push_back(ParsePrimary());
    if (out->kind == ExprKind::kAttribute) Next();
    return out;
  }
  ExprPtr out = Make(ExprKind::kSubscript);
  Next();
  out->parts.push_back(std::move(expr));
  ExprPtr index = Make(ExprKind::kTuple);
  while (!IsOperator("]")) {
    if (!index->parts.empty() && !Expect(",")) return nullptr;
    index->parts.push_back(ParseSubscriptPart());
    if (index->parts.back() == nullptr) return nullptr;
  }
  Next();
  if (index->parts.empty()) return Fail("an empty subscript");
  if (index->parts.size() == 1) index = std::move(index->parts[0]);
  out->parts.push_back(std::move(index));
  return out;
}

ExprPtr Parser::ParseSubscriptPart() {
  ExprPtr slice = Make(ExprKind::kSlice);
  slice->parts.resize(3);
  bool is_slice = false;
  for (int i = 0; i < 3; ++i) {
    if (!IsOperator(":") && !IsOperator("]") && !IsOperator(",")) {
      slice->parts[i] = ParseExpression();
      if (slice->parts[i] == nullptr) return nullptr;
    }
    if (!SkipOperator(":")) break;
    is_slice = true;
    if (i == 2) return Fail("a slice with too many parts");
  }
  if (is_slice) return slice;
  if (slice->parts[0] == nullptr) return Fail(StrCat("unexpected ", Describe()));
  return std::move(slice->parts[0]);
}

ExprPtr Parser::ParseCall(ExprPtr expr) {
  ExprPtr out = Make(ExprKind::kCall);
  Next();
  if (!ParseArguments(out->call)) return nullptr;
  out->parts.push_back(std::move(expr));
  return out;
}

// Arguments up to and with the closing parenthesis.
bool Parser::ParseArguments(CallArguments& out) {
  bool needs_comma = false;
  while (!IsOperator(")")) {
    if (needs_comma && !Expect(",")) return false;
    if (needs_comma && IsOperator(")")) break;
    ExprPtr value;
    if (IsOperator("*") || IsOperator("**")) {
      const bool is_double = IsOperator("**");
      Next();
      value = ParseExpression();
      if (value == nullptr) return false;
      ExprPtr& slot = is_double ? out.double_star : out.star;
      if (slot != nullptr) return Fail("invalid syntax for function call expression");
      slot = std::move(value);
    } else if (current().kind == TokenKind::kName && Ahead().Is(TokenKind::kOperator, "=")) {
      std::string name = current().text;
      Next();
      Next();
      value = ParseExpression();
      if (value == nullptr) return false;
      out.named.emplace_back(std::move(name), std::move(value));
    } else {
      if (!out.named.empty() || out.double_star != nullptr || out.star != nullptr) {
        return Fail("invalid syntax for function call expression");
      }
      value = ParseExpression();
      if (value == nullptr) return false;
      out.positional.push_back(std::move(value));
    }
    needs_comma = true;
  }
  Next();
  return true;
}

}  // namespace quire::jinja
