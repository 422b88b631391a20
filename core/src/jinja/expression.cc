// The part of the parser for expressions. The grammar is that of jinja2 3.1, with its
// peculiarities: a filter binds tighter than unary minus, `**` is left-associative, `~` binds
// tighter than `+`.
#include <algorithm>

#include "jinja/parser.h"

namespace mlc::jinja {

namespace {

constexpr int kMaxExpressionDepth = 120;

ExprPtr New(Expr::Kind kind, int line) {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  return node;
}

ExprPtr Constant(Value value, int line) {
  ExprPtr node = New(Expr::Kind::kConstant, line);
  node->constant = std::move(value);
  return node;
}

bool IsCompareOperator(const Token& token) {
  static constexpr std::string_view kOps[] = {"==", "!=", "<", "<=", ">", ">="};
  return token.type == TokenType::kOperator &&
         std::find(std::begin(kOps), std::end(kOps), token.text) != std::end(kOps);
}

bool IsOperatorIn(const Token& token, std::initializer_list<std::string_view> ops) {
  return token.type == TokenType::kOperator &&
         std::find(ops.begin(), ops.end(), token.text) != ops.end();
}

// Counts one level of recursion while it lives.
class Nesting {
 public:
  explicit Nesting(int* level) : level_(level) { ++*level_; }
  ~Nesting() { --*level_; }
  bool too_deep() const { return *level_ > kMaxExpressionDepth; }

 private:
  int* level_;
};

}  // namespace

Result<ExprPtr> ExpressionParser::Finish(ExprPtr node) {
  auto include = [&](const ExprPtr& child) {
    if (child) node->depth = std::max(node->depth, child->depth + 1);
  };
  for (const ExprPtr& child : node->children) include(child);
  for (const ExprPtr& child : node->call.positional) include(child);
  for (const auto& [name, child] : node->call.named) include(child);
  include(node->call.star);
  include(node->call.double_star);
  if (node->depth > kMaxExpressionDepth)
    return TemplateError(node->line, "an expression is nested too deeply");
  return node;
}

Result<ExprPtr> ExpressionParser::Binary(Expr::Kind kind, std::string op, ExprPtr left,
                                         ExprPtr right, int line) {
  ExprPtr node = New(kind, line);
  node->ops.push_back(std::move(op));
  node->children.push_back(std::move(left));
  node->children.push_back(std::move(right));
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::Expression(bool with_condition) {
  Nesting nesting(&nesting_);
  if (nesting.too_deep()) return tokens_.Fail("an expression is nested too deeply");
  return with_condition ? Condition() : Or();
}

Result<ExprPtr> ExpressionParser::Condition() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr node, Or());
  while (tokens_.SkipName("if")) {
    ExprPtr condition = New(Expr::Kind::kCondition, line);
    MLC_ASSIGN_OR_RETURN(ExprPtr test, Or());
    ExprPtr otherwise;
    if (tokens_.SkipName("else")) {
      MLC_ASSIGN_OR_RETURN(otherwise, Expression());
    }
    condition->children.push_back(std::move(test));
    condition->children.push_back(std::move(node));
    condition->children.push_back(std::move(otherwise));
    MLC_ASSIGN_OR_RETURN(node, Finish(std::move(condition)));
    line = tokens_.Current().line;
  }
  return node;
}

Result<ExprPtr> ExpressionParser::Or() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr left, And());
  while (tokens_.SkipName("or")) {
    MLC_ASSIGN_OR_RETURN(ExprPtr right, And());
    MLC_ASSIGN_OR_RETURN(left,
                         Binary(Expr::Kind::kOr, "or", std::move(left), std::move(right), line));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::And() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr left, Not());
  while (tokens_.SkipName("and")) {
    MLC_ASSIGN_OR_RETURN(ExprPtr right, Not());
    MLC_ASSIGN_OR_RETURN(left,
                         Binary(Expr::Kind::kAnd, "and", std::move(left), std::move(right), line));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::Not() {
  if (!tokens_.Current().IsName("not")) return Compare();
  Nesting nesting(&nesting_);
  if (nesting.too_deep()) return tokens_.Fail("an expression is nested too deeply");
  ExprPtr node = New(Expr::Kind::kUnary, tokens_.Next().line);
  node->ops.push_back("not");
  MLC_ASSIGN_OR_RETURN(ExprPtr operand, Not());
  node->children.push_back(std::move(operand));
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::Compare() {
  ExprPtr node = New(Expr::Kind::kCompare, tokens_.Current().line);
  MLC_ASSIGN_OR_RETURN(ExprPtr first, Sum());
  node->children.push_back(std::move(first));
  while (true) {
    if (IsCompareOperator(tokens_.Current())) {
      node->ops.push_back(tokens_.Next().text);
    } else if (tokens_.SkipName("in")) {
      node->ops.push_back("in");
    } else if (tokens_.Current().IsName("not") && tokens_.Look().IsName("in")) {
      tokens_.Next();
      tokens_.Next();
      node->ops.push_back("not in");
    } else {
      break;
    }
    MLC_ASSIGN_OR_RETURN(ExprPtr operand, Sum());
    node->children.push_back(std::move(operand));
  }
  if (node->ops.empty()) return std::move(node->children[0]);
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::Sum() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr left, Concat());
  while (IsOperatorIn(tokens_.Current(), {"+", "-"})) {
    std::string op = tokens_.Next().text;
    MLC_ASSIGN_OR_RETURN(ExprPtr right, Concat());
    MLC_ASSIGN_OR_RETURN(left,
                         Binary(Expr::Kind::kBinary, op, std::move(left), std::move(right), line));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::Concat() {
  ExprPtr node = New(Expr::Kind::kConcat, tokens_.Current().line);
  do {
    MLC_ASSIGN_OR_RETURN(ExprPtr part, Product());
    node->children.push_back(std::move(part));
  } while (tokens_.SkipOperator("~"));
  if (node->children.size() == 1) return std::move(node->children[0]);
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::Product() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr left, Power());
  while (IsOperatorIn(tokens_.Current(), {"*", "/", "//", "%"})) {
    std::string op = tokens_.Next().text;
    MLC_ASSIGN_OR_RETURN(ExprPtr right, Power());
    MLC_ASSIGN_OR_RETURN(left,
                         Binary(Expr::Kind::kBinary, op, std::move(left), std::move(right), line));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::Power() {
  int line = tokens_.Current().line;
  MLC_ASSIGN_OR_RETURN(ExprPtr left, Unary());
  while (tokens_.SkipOperator("**")) {
    MLC_ASSIGN_OR_RETURN(ExprPtr right, Unary());
    MLC_ASSIGN_OR_RETURN(
        left, Binary(Expr::Kind::kBinary, "**", std::move(left), std::move(right), line));
  }
  return left;
}

Result<ExprPtr> ExpressionParser::Unary(bool with_filter) {
  Nesting nesting(&nesting_);
  if (nesting.too_deep()) return tokens_.Fail("an expression is nested too deeply");
  ExprPtr node;
  if (IsOperatorIn(tokens_.Current(), {"+", "-"})) {
    const Token& sign = tokens_.Next();
    ExprPtr unary = New(Expr::Kind::kUnary, sign.line);
    unary->ops.push_back(sign.text);
    MLC_ASSIGN_OR_RETURN(ExprPtr operand, Unary(false));
    unary->children.push_back(std::move(operand));
    MLC_ASSIGN_OR_RETURN(node, Finish(std::move(unary)));
  } else {
    MLC_ASSIGN_OR_RETURN(node, Primary());
  }
  MLC_ASSIGN_OR_RETURN(node, Postfix(std::move(node)));
  if (!with_filter) return node;
  return FiltersAndTests(std::move(node));
}

Result<ExprPtr> ExpressionParser::Primary(Names names) {
  const Token& token = tokens_.Current();
  switch (token.type) {
    case TokenType::kName:
      return NameOrConstant(names);
    case TokenType::kString: {
      std::string text;
      while (tokens_.Current().type == TokenType::kString) text += tokens_.Next().text;
      return Constant(Value::String(std::move(text)), token.line);
    }
    case TokenType::kInteger:
      return Constant(Value(tokens_.Next().integer), token.line);
    case TokenType::kFloat:
      return Constant(Value(tokens_.Next().number), token.line);
    default:
      break;
  }
  if (token.IsOperator("[")) return List();
  if (token.IsOperator("{")) return DictDisplay();
  if (!token.IsOperator("(")) return tokens_.Fail("unexpected " + token.Describe());
  tokens_.Next();
  MLC_ASSIGN_OR_RETURN(ExprPtr node, TupleOf(false, true, true, Names::kRead));
  MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(")"));
  return node;
}

Result<ExprPtr> ExpressionParser::NameOrConstant(Names names) {
  const Token& token = tokens_.Next();
  const std::string& name = token.text;
  if (name == "true" || name == "True") return Constant(Value(true), token.line);
  if (name == "false" || name == "False") return Constant(Value(false), token.line);
  if (name == "none" || name == "None") return Constant(Value::None(), token.line);
  if (names == Names::kTargetOrNamespace && tokens_.SkipOperator(".")) {
    ExprPtr node = New(Expr::Kind::kNamespaceAttribute, token.line);
    node->name = name;
    node->ops.push_back(tokens_.Current().text);
    MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kName, "a name"));
    return node;
  }
  if (names == Names::kRead) {
    special_names.caller |= name == "caller";
    special_names.varargs |= name == "varargs";
    special_names.kwargs |= name == "kwargs";
  }
  ExprPtr node = New(Expr::Kind::kName, token.line);
  node->name = name;
  return node;
}

Result<ExprPtr> ExpressionParser::List() {
  ExprPtr node = New(Expr::Kind::kList, tokens_.Next().line);
  while (!tokens_.Current().IsOperator("]")) {
    if (!node->children.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    if (tokens_.Current().IsOperator("]")) break;
    MLC_ASSIGN_OR_RETURN(ExprPtr item, Expression());
    node->children.push_back(std::move(item));
  }
  tokens_.Next();
  return Finish(std::move(node));
}

Result<ExprPtr> ExpressionParser::DictDisplay() {
  ExprPtr node = New(Expr::Kind::kDict, tokens_.Next().line);
  while (!tokens_.Current().IsOperator("}")) {
    if (!node->children.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    if (tokens_.Current().IsOperator("}")) break;
    MLC_ASSIGN_OR_RETURN(ExprPtr key, Expression());
    MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(":"));
    MLC_ASSIGN_OR_RETURN(ExprPtr value, Expression());
    node->children.push_back(std::move(key));
    node->children.push_back(std::move(value));
  }
  tokens_.Next();
  return Finish(std::move(node));
}

bool ExpressionParser::AtTupleEnd() const {
  const Token& token = tokens_.Current();
  return token.type == TokenType::kVariableEnd || token.type == TokenType::kBlockEnd ||
         token.IsOperator(")");
}

Result<ExprPtr> ExpressionParser::Tuple(bool with_condition) {
  return TupleOf(false, with_condition, false, Names::kRead);
}

Result<ExprPtr> ExpressionParser::TupleOf(bool simple, bool with_condition, bool parenthesized,
                                          Names names) {
  ExprPtr tuple = New(Expr::Kind::kTuple, tokens_.Current().line);
  bool is_tuple = false;
  while (!AtTupleEnd() && !(names != Names::kRead && tokens_.Current().IsName("in"))) {
    Result<ExprPtr> item = simple ? Primary(names) : Expression(with_condition);
    if (!item.ok()) return item;
    tuple->children.push_back(std::move(*item));
    if (!tokens_.SkipOperator(",")) break;
    is_tuple = true;
  }
  if (is_tuple || (tuple->children.empty() && parenthesized)) return Finish(std::move(tuple));
  if (tuple->children.empty())
    return tokens_.Fail("expected an expression, got " + tokens_.Current().Describe());
  return std::move(tuple->children[0]);
}

Result<ExprPtr> ExpressionParser::Target(bool with_namespace) {
  Names names = with_namespace ? Names::kTargetOrNamespace : Names::kTarget;
  MLC_ASSIGN_OR_RETURN(ExprPtr target, TupleOf(true, false, false, names));
  MLC_RETURN_IF_ERROR(CheckTarget(*target));
  return target;
}

Status ExpressionParser::CheckTarget(const Expr& target) const {
  if (target.kind == Expr::Kind::kName) return {};
  if (target.kind == Expr::Kind::kNamespaceAttribute) return {};
  if (target.kind != Expr::Kind::kTuple)
    return TemplateError(target.line, "cannot assign to this expression");
  for (const ExprPtr& child : target.children) MLC_RETURN_IF_ERROR(CheckTarget(*child));
  return {};
}

Result<std::string> ExpressionParser::TargetName() {
  std::string name = tokens_.Current().text;
  MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kName, "a name"));
  static constexpr std::string_view kReserved[] = {"true", "false", "none",
                                                   "True", "False", "None"};
  if (std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved))
    return tokens_.Fail("cannot assign to '" + name + "'");
  return name;
}

}  // namespace mlc::jinja
