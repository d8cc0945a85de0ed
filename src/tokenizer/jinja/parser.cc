#include "tokenizer/jinja/parser.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "tokenizer/jinja/parser_state.h"

namespace quire::jinja {

using TokenKind = Token::Kind;

StmtPtr Parser::MakeStmt(StmtKind kind) const {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  stmt->at = current().at;
  return stmt;
}

bool Parser::ExpectTagEnd() {
  if (current().kind != TokenKind::kTagEnd) {
    Fail(StrCat("expected end of statement block, got ", Describe()));
    return false;
  }
  Next();
  return true;
}

bool Parser::ParseAll() { return ParseBlock(template_.body, {}); }

// Statements up to a tag that begins with one of `ends`, whose name is then the current token.
bool Parser::ParseBlock(Block& out, std::initializer_list<std::string_view> ends) {
  const Deeper deeper(*this);
  if (deeper.is_too_deep()) return Fail("blocks nested too deeply");
  while (current().kind != TokenKind::kEnd) {
    num_steps_ = 0;
    if (current().kind == TokenKind::kText) {
      out.push_back(MakeStmt(StmtKind::kText));
      out.back()->name = current().text;
      Next();
    } else if (current().kind == TokenKind::kPrintBegin) {
      Next();
      StmtPtr print = MakeStmt(StmtKind::kPrint);
      print->expr = ParseTuple(true, false);
      if (print->expr == nullptr) return false;
      if (current().kind != TokenKind::kPrintEnd) {
        return Fail(StrCat("expected end of print statement, got ", Describe()));
      }
      Next();
      out.push_back(std::move(print));
    } else {
      Next();  // {%
      const bool is_end =
          std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return IsName(end); });
      if (is_end) return true;
      StmtPtr stmt = ParseStatement();
      if (stmt == nullptr) return false;
      out.push_back(std::move(stmt));
    }
  }
  if (ends.size() == 0) return true;
  return Fail(StrCat("unexpected end of template, expected ", *(ends.end() - 1)));
}

// A body and its end tag.
bool Parser::ParseBody(Block& out, std::string_view end) {
  if (!ExpectTagEnd() || !ParseBlock(out, {end})) return false;
  Next();
  return ExpectTagEnd();
}

StmtPtr Parser::ParseStatement() {
  if (current().kind != TokenKind::kName) return Fail("expected a tag name");
  const std::string& name = current().text;
  if (name == "for") return ParseFor();
  if (name == "if") return ParseIf();
  if (name == "set") return ParseSet();
  if (name == "with") return ParseWith();
  if (name == "macro") return ParseMacro();
  if (name == "call") return ParseCallBlock();
  if (name == "filter") return ParseFilterBlock();
  if (name == "generation") return ParseScope("endgeneration");
  if (name == "block") return ParseScope("endblock");
  if (name == "autoescape") return ParseScope("endautoescape");
  if (name == "break" || name == "continue") return ParseLoopControl();
  if (name == "print") {
    Next();
    StmtPtr print = MakeStmt(StmtKind::kPrint);
    print->expr = ParseTuple(true, false);
    return print->expr != nullptr && ExpectTagEnd() ? std::move(print) : nullptr;
  }
  return Fail(StrCat("unknown tag '", Printable(name, 30), "'"));
}

StmtPtr Parser::ParseLoopControl() {
  StmtPtr stmt = MakeStmt(IsName("break") ? StmtKind::kBreak : StmtKind::kContinue);
  if (num_loops_ == 0) return Fail(StrCat("'", current().text, "' outside of a loop"));
  Next();
  return ExpectTagEnd() ? std::move(stmt) : nullptr;
}

// One target of an assignment: a name, ns.name, or more of them in parentheses.
ExprPtr Parser::ParseTargetPart(bool with_namespace) {
  if (SkipOperator("(")) {
    ExprPtr inner = ParseTarget(with_namespace);
    return inner != nullptr && Expect(")") ? std::move(inner) : nullptr;
  }
  if (current().kind != TokenKind::kName) return Fail(StrCat("unexpected ", Describe()));
  static constexpr std::string_view kConstants[] = {"true",  "True", "false",
                                                    "False", "none", "None"};
  if (std::find(std::begin(kConstants), std::end(kConstants), current().text) !=
      std::end(kConstants)) {
    return Fail(StrCat("can't assign to ", Describe()));
  }
  ExprPtr target = Make(ExprKind::kName);
  target->name = current().text;
  Next();
  if (with_namespace && SkipOperator(".")) {
    if (current().kind != TokenKind::kName) return Fail(StrCat("unexpected ", Describe()));
    target->kind = ExprKind::kNamespaceName;
    target->ops.push_back(current().text);
    Next();
  }
  return target;
}

ExprPtr Parser::ParseTarget(bool with_namespace) {
  const Deeper deeper(*this);
  if (deeper.is_too_deep()) return Fail("targets nested too deeply");
  ExprPtr tuple = Make(ExprKind::kTuple);
  bool is_tuple = false;
  while (true) {
    tuple->parts.push_back(ParseTargetPart(with_namespace));
    if (tuple->parts.back() == nullptr) return nullptr;
    if (!SkipOperator(",")) break;
    is_tuple = true;
    if (IsName("in") || IsOperator("=") || IsOperator(")")) break;
  }
  return is_tuple ? std::move(tuple) : std::move(tuple->parts[0]);
}

StmtPtr Parser::ParseFor() {
  StmtPtr stmt = MakeStmt(StmtKind::kFor);
  Next();
  stmt->target = ParseTarget(false);
  if (stmt->target == nullptr) return nullptr;
  if (!SkipName("in")) return Fail(StrCat("expected 'in', got ", Describe()));
  stmt->expr = ParseTuple(false, false, "recursive");
  if (stmt->expr == nullptr) return nullptr;
  if (SkipName("if")) {
    stmt->test = ParseExpression();
    if (stmt->test == nullptr) return nullptr;
  }
  stmt->is_recursive = SkipName("recursive");
  if (stmt->target->kind == ExprKind::kName && stmt->expr->kind == ExprKind::kAttribute &&
      stmt->expr->name == "content") {
    template_.walks_content = true;
  }
  if (stmt->expr->kind == ExprKind::kSubscript && stmt->expr->parts[1] != nullptr &&
      stmt->expr->parts[1]->constant.Is(Kind::kString) &&
      stmt->expr->parts[1]->constant.text() == "content") {
    template_.walks_content = true;
  }
  ++num_loops_;
  const bool is_ok = ExpectTagEnd() && ParseBlock(stmt->body, {"else", "endfor"});
  --num_loops_;
  if (!is_ok) return nullptr;
  if (SkipName("else")) {
    if (!ExpectTagEnd() || !ParseBlock(stmt->otherwise, {"endfor"})) return nullptr;
  }
  Next();
  return ExpectTagEnd() ? std::move(stmt) : nullptr;
}

StmtPtr Parser::ParseIf() {
  const Deeper deeper(*this);  // a chain of elifs is nested
  if (depth_ > kMaxDepth * 4) return Fail("too many branches");
  StmtPtr stmt = MakeStmt(StmtKind::kIf);
  Next();
  stmt->expr = ParseTuple(false, false);
  if (stmt->expr == nullptr || !ExpectTagEnd()) return nullptr;
  ++num_conditions_;
  StmtPtr out;
  // Each elif is an if in the else branch of the one before it.
  std::vector<Stmt*> chain{stmt.get()};
  bool is_ok = ParseBlock(stmt->body, {"elif", "else", "endif"});
  while (is_ok && IsName("elif")) {
    StmtPtr branch = MakeStmt(StmtKind::kIf);
    Next();
    branch->expr = ParseTuple(false, false);
    is_ok = branch->expr != nullptr && ExpectTagEnd() &&
            ParseBlock(branch->body, {"elif", "else", "endif"});
    Stmt* last = chain.back();
    chain.push_back(branch.get());
    last->otherwise.push_back(std::move(branch));
    if (chain.size() > 200) return Fail("too many branches");
  }
  if (is_ok && SkipName("else")) {
    is_ok = ExpectTagEnd() && ParseBlock(chain.back()->otherwise, {"endif"});
  }
  --num_conditions_;
  if (!is_ok) return nullptr;
  Next();
  return ExpectTagEnd() ? std::move(stmt) : nullptr;
}

StmtPtr Parser::ParseSet() {
  StmtPtr stmt = MakeStmt(StmtKind::kSet);
  Next();
  stmt->target = ParseTarget(true);
  if (stmt->target == nullptr) return nullptr;
  if (SkipOperator("=")) {
    stmt->expr = ParseTuple(true, false);
    return stmt->expr != nullptr && ExpectTagEnd() ? std::move(stmt) : nullptr;
  }
  stmt->kind = StmtKind::kSetBlock;
  if (IsOperator("|")) {
    stmt->expr = ParseFilter(nullptr, false);
    if (stmt->expr == nullptr) return nullptr;
  }
  return ParseBody(stmt->body, "endset") ? std::move(stmt) : nullptr;
}

StmtPtr Parser::ParseWith() {
  StmtPtr stmt = MakeStmt(StmtKind::kWith);
  Next();
  while (current().kind != TokenKind::kTagEnd) {
    if (!stmt->assignments.empty() && !Expect(",")) return nullptr;
    ExprPtr target = ParseTargetPart(false);
    if (target == nullptr || !Expect("=")) return nullptr;
    ExprPtr value = ParseExpression();
    if (value == nullptr) return nullptr;
    stmt->assignments.emplace_back(std::move(target), std::move(value));
  }
  return ParseBody(stmt->body, "endwith") ? std::move(stmt) : nullptr;
}

bool Parser::ParseParameters(std::vector<Parameter>& out) {
  if (!Expect("(")) return false;
  while (!IsOperator(")")) {
    if (!out.empty() && !Expect(",")) return false;
    if (current().kind != TokenKind::kName)
      return Fail(StrCat("expected a name, got ", Describe()));
    Parameter parameter{current().text, nullptr};
    Next();
    if (SkipOperator("=")) {
      parameter.fallback = ParseExpression();
      if (parameter.fallback == nullptr) return false;
    } else if (!out.empty() && out.back().fallback != nullptr) {
      return Fail("non-default argument follows default argument");
    }
    out.push_back(std::move(parameter));
  }
  Next();
  return true;
}

StmtPtr Parser::ParseMacro() {
  StmtPtr stmt = MakeStmt(StmtKind::kMacro);
  Next();
  if (current().kind != TokenKind::kName) return Fail(StrCat("expected a name, got ", Describe()));
  stmt->name = current().text;
  Next();
  if (!ParseParameters(stmt->parameters)) return nullptr;
  const int loops = std::exchange(num_loops_, 0);
  macros_.push_back(stmt.get());
  const bool is_ok = ParseBody(stmt->body, "endmacro");
  macros_.pop_back();
  num_loops_ = loops;
  return is_ok ? std::move(stmt) : nullptr;
}

StmtPtr Parser::ParseCallBlock() {
  StmtPtr stmt = MakeStmt(StmtKind::kCall);
  Next();
  if (IsOperator("(") && !ParseParameters(stmt->parameters)) return nullptr;
  stmt->expr = ParseExpression();
  if (stmt->expr == nullptr) return nullptr;
  if (stmt->expr->kind != ExprKind::kCall) return Fail("expected a call");
  const int loops = std::exchange(num_loops_, 0);
  macros_.push_back(stmt.get());
  const bool is_ok = ParseBody(stmt->body, "endcall");
  macros_.pop_back();
  num_loops_ = loops;
  return is_ok ? std::move(stmt) : nullptr;
}

StmtPtr Parser::ParseFilterBlock() {
  StmtPtr stmt = MakeStmt(StmtKind::kFilter);
  Next();
  stmt->expr = ParseFilter(nullptr, true);
  if (stmt->expr == nullptr) return nullptr;
  return ParseBody(stmt->body, "endfilter") ? std::move(stmt) : nullptr;
}

// Blocks that only hold a scope; what stands after their name does not matter here.
StmtPtr Parser::ParseScope(std::string_view end) {
  StmtPtr stmt = MakeStmt(StmtKind::kScope);
  Next();
  while (current().kind != TokenKind::kTagEnd && current().kind != TokenKind::kEnd) Next();
  if (!ExpectTagEnd() || !ParseBlock(stmt->body, {end})) return nullptr;
  Next();
  while (current().kind == TokenKind::kName) Next();
  return ExpectTagEnd() ? std::move(stmt) : nullptr;
}

std::unique_ptr<Template> ParseTemplate(std::string_view source, SyntaxError& error) {
  std::vector<Token> tokens;
  if (!Tokenize(source, tokens, error)) return nullptr;
  auto out = std::make_unique<Template>();
  Parser parser(std::move(tokens), *out, error);
  return parser.ParseAll() ? std::move(out) : nullptr;
}

}  // namespace quire::jinja
