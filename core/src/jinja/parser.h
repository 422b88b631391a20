// Turns template text into a syntax tree, with jinja2's grammar.
//
// These are not supported, and give an error that says so: include, import, extends, block,
// autoescape and recursive loops. Unknown filters and tests are errors here, except inside `if`,
// where jinja2 reports them only when it renders.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "jinja/ast.h"
#include "jinja/lexer.h"

namespace mlc::jinja {

// Errors name the line.
Result<Block> ParseTemplate(std::string_view source);

// Makes the checks that the grammar cannot make: names of filters and tests; `break` outside of
// loops.
Status CheckTemplate(const Block& block);

// The common part of expressions and statements: the tokens, and the limits of nesting.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Current() const { return tokens_[position_]; }
  const Token& Look() const { return tokens_[std::min(position_ + 1, tokens_.size() - 1)]; }
  const Token& Next();  // returns the current token and goes to the next; stays at the end
  bool SkipOperator(std::string_view op);
  bool SkipName(std::string_view name);
  Status ExpectOperator(std::string_view op);
  Status ExpectName(std::string_view name);
  Status Expect(TokenType type, const char* what);
  Status Fail(const std::string& message) const { return TemplateError(Current().line, message); }

 private:
  std::vector<Token> tokens_;
  size_t position_ = 0;
};

// The grammar of expressions, with one function for each level of precedence.
class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream* tokens) : tokens_(*tokens) {}

  Result<ExprPtr> Expression(bool with_condition = true);
  // `a, b`: an expression; a tuple if there is a comma.
  Result<ExprPtr> Tuple(bool with_condition = true);
  // The left side of `=` or `in`. With `with_namespace` it may be a namespace attribute.
  Result<ExprPtr> Target(bool with_namespace = false);
  Result<std::string> TargetName();
  // Parses `| name(...) | name`. With `inline_start` the first '|' is missing. `node` may be null.
  Result<ExprPtr> Filters(ExprPtr node, bool inline_start = false);

  // Which of the variables `caller`, `varargs` and `kwargs` were read since the flags were cleared.
  struct SpecialNames {
    bool caller = false, varargs = false, kwargs = false;
  };
  SpecialNames special_names;

 private:
  enum class Names { kRead, kTarget, kTargetOrNamespace };
  Result<ExprPtr> Condition();
  Result<ExprPtr> Or();
  Result<ExprPtr> And();
  Result<ExprPtr> Not();
  Result<ExprPtr> Compare();
  Result<ExprPtr> Sum();
  Result<ExprPtr> Concat();
  Result<ExprPtr> Product();
  Result<ExprPtr> Power();
  Result<ExprPtr> Unary(bool with_filter = true);
  Result<ExprPtr> Primary(Names names = Names::kRead);
  Result<ExprPtr> NameOrConstant(Names names);
  Result<ExprPtr> List();
  Result<ExprPtr> DictDisplay();
  Result<ExprPtr> TupleOf(bool simple, bool with_condition, bool parenthesized, Names names);
  Result<ExprPtr> Postfix(ExprPtr node);
  Result<ExprPtr> FiltersAndTests(ExprPtr node);
  Result<ExprPtr> Subscript(ExprPtr node);
  Result<ExprPtr> Subscribed();
  Result<ExprPtr> Call(ExprPtr node);
  Status CallArguments(CallSyntax* call);
  Status CallArgument(CallSyntax* call);
  Result<ExprPtr> Test(ExprPtr node);
  Result<std::string> DottedName();
  bool AtTupleEnd() const;
  Status CheckTarget(const Expr& target) const;

  // Sets the node's depth. An error if the tree becomes too deep.
  Result<ExprPtr> Finish(ExprPtr node);
  Result<ExprPtr> Binary(Expr::Kind kind, std::string op, ExprPtr left, ExprPtr right, int line);

  TokenStream& tokens_;
  int nesting_ = 0;
};

}  // namespace mlc::jinja
