// The parts that follow a primary expression: attributes, subscripts, calls, filters and tests.
#include "jinja/filters.h"
#include "jinja/parser.h"

namespace mlc::jinja {

namespace {

ExprPtr NewNode(Expr::Kind kind, int line, ExprPtr child = nullptr) {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  node->children.push_back(std::move(child));
  return node;
}

bool StartsTestArgument(const Token& token) {
  switch (token.type) {
    case TokenType::kName:
      return !token.IsName("else") && !token.IsName("or") && !token.IsName("and");
    case TokenType::kString:
    case TokenType::kInteger:
    case TokenType::kFloat:
      return true;
    default:
      return token.IsOperator("(") || token.IsOperator("[") || token.IsOperator("{");
  }
}

}  // namespace

Result<ExprPtr> ExpressionParser::Postfix(ExprPtr node) {
  while (true) {
    if (tokens_.Current().IsOperator(".") || tokens_.Current().IsOperator("[")) {
      MLC_ASSIGN_OR_RETURN(node, Subscript(std::move(node)));
    } else if (tokens_.Current().IsOperator("(")) {
      MLC_ASSIGN_OR_RETURN(node, Call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::FiltersAndTests(ExprPtr node) {
  while (true) {
    if (tokens_.Current().IsOperator("|")) {
      MLC_ASSIGN_OR_RETURN(node, Filters(std::move(node)));
    } else if (tokens_.Current().IsName("is")) {
      MLC_ASSIGN_OR_RETURN(node, Test(std::move(node)));
    } else if (tokens_.Current().IsOperator("(")) {
      MLC_ASSIGN_OR_RETURN(node, Call(std::move(node)));
    } else {
      return node;
    }
  }
}

Result<ExprPtr> ExpressionParser::Subscript(ExprPtr node) {
  const Token& token = tokens_.Next();
  if (token.text == ".") {
    const Token& attribute = tokens_.Next();
    if (attribute.type == TokenType::kName) {
      ExprPtr result = NewNode(Expr::Kind::kAttribute, token.line, std::move(node));
      result->name = attribute.text;
      return Finish(std::move(result));
    }
    if (attribute.type != TokenType::kInteger) return tokens_.Fail("expected name or number");
    ExprPtr index = NewNode(Expr::Kind::kConstant, attribute.line);
    index->constant = Value(attribute.integer);
    return Binary(Expr::Kind::kItem, ".", std::move(node), std::move(index), token.line);
  }
  ExprPtr tuple = NewNode(Expr::Kind::kTuple, token.line);
  tuple->children.clear();
  while (!tokens_.Current().IsOperator("]")) {
    if (!tuple->children.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
    MLC_ASSIGN_OR_RETURN(ExprPtr part, Subscribed());
    tuple->children.push_back(std::move(part));
  }
  tokens_.Next();
  ExprPtr index;
  if (tuple->children.size() == 1) {
    index = std::move(tuple->children[0]);
  } else {
    MLC_ASSIGN_OR_RETURN(index, Finish(std::move(tuple)));
  }
  return Binary(Expr::Kind::kItem, "[", std::move(node), std::move(index), token.line);
}

Result<ExprPtr> ExpressionParser::Subscribed() {
  int line = tokens_.Current().line;
  auto at_end = [&] {
    return tokens_.Current().IsOperator("]") || tokens_.Current().IsOperator(",") ||
           tokens_.Current().IsOperator(":");
  };
  ExprPtr slice = NewNode(Expr::Kind::kSlice, line);
  slice->children.clear();
  for (int part = 0; part < 3; ++part) {
    ExprPtr bound;
    if (!at_end()) {
      MLC_ASSIGN_OR_RETURN(bound, Expression());
    }
    slice->children.push_back(std::move(bound));
    if (part < 2 && !tokens_.SkipOperator(":")) break;
  }
  if (slice->children.size() == 1) {
    if (!slice->children[0]) return tokens_.Fail("expected a subscript expression");
    return std::move(slice->children[0]);
  }
  slice->children.resize(3);
  return Finish(std::move(slice));
}

Result<ExprPtr> ExpressionParser::Call(ExprPtr node) {
  ExprPtr result = NewNode(Expr::Kind::kCall, tokens_.Current().line, std::move(node));
  MLC_RETURN_IF_ERROR(CallArguments(&result->call));
  return Finish(std::move(result));
}

Status ExpressionParser::CallArguments(CallSyntax* call) {
  MLC_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
  bool first = true;
  while (!tokens_.Current().IsOperator(")")) {
    if (!first) {
      MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      if (tokens_.Current().IsOperator(")")) break;
    }
    first = false;
    MLC_RETURN_IF_ERROR(CallArgument(call));
  }
  return tokens_.ExpectOperator(")");
}

Status ExpressionParser::CallArgument(CallSyntax* call) {
  bool keyword = tokens_.Current().type == TokenType::kName && tokens_.Look().IsOperator("=");
  bool star = tokens_.Current().IsOperator("*"), double_star = tokens_.Current().IsOperator("**");
  bool plain = !keyword && !star && !double_star;
  bool in_order = call->double_star == nullptr && !(star && call->star) &&
                  !(plain && (call->star || !call->named.empty()));
  if (!in_order) return tokens_.Fail("invalid syntax for function call expression");
  std::string name = tokens_.Current().text;
  if (!plain) tokens_.Next();
  if (keyword) tokens_.Next();
  MLC_ASSIGN_OR_RETURN(ExprPtr value, Expression());
  if (star) {
    call->star = std::move(value);
  } else if (double_star) {
    call->double_star = std::move(value);
  } else if (keyword) {
    for (const auto& [other, unused] : call->named) {
      if (other == name) return tokens_.Fail("keyword argument '" + name + "' is repeated");
    }
    call->named.emplace_back(std::move(name), std::move(value));
  } else {
    call->positional.push_back(std::move(value));
  }
  return {};
}

Result<std::string> ExpressionParser::DottedName() {
  std::string name = tokens_.Current().text;
  MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kName, "a name"));
  while (tokens_.SkipOperator(".")) {
    name += "." + tokens_.Current().text;
    MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kName, "a name"));
  }
  return name;
}

Result<ExprPtr> ExpressionParser::Filters(ExprPtr node, bool inline_start) {
  while (inline_start || tokens_.Current().IsOperator("|")) {
    if (!inline_start) tokens_.Next();
    inline_start = false;
    ExprPtr filter = NewNode(Expr::Kind::kFilter, tokens_.Current().line, std::move(node));
    MLC_ASSIGN_OR_RETURN(filter->name, DottedName());
    filter->filter = FindFilter(filter->name);
    if (tokens_.Current().IsOperator("(")) MLC_RETURN_IF_ERROR(CallArguments(&filter->call));
    MLC_ASSIGN_OR_RETURN(node, Finish(std::move(filter)));
  }
  return node;
}

Result<ExprPtr> ExpressionParser::Test(ExprPtr node) {
  tokens_.Next();
  bool negated = tokens_.SkipName("not");
  ExprPtr test = NewNode(Expr::Kind::kTest, tokens_.Current().line, std::move(node));
  MLC_ASSIGN_OR_RETURN(test->name, DottedName());
  test->test = FindTest(test->name);
  if (tokens_.Current().IsOperator("(")) {
    MLC_RETURN_IF_ERROR(CallArguments(&test->call));
  } else if (StartsTestArgument(tokens_.Current())) {
    if (tokens_.Current().IsName("is"))
      return tokens_.Fail("You cannot chain multiple tests with is");
    MLC_ASSIGN_OR_RETURN(ExprPtr argument, Primary());
    MLC_ASSIGN_OR_RETURN(argument, Postfix(std::move(argument)));
    test->call.positional.push_back(std::move(argument));
  }
  MLC_ASSIGN_OR_RETURN(test, Finish(std::move(test)));
  if (!negated) return test;
  int line = test->line;
  ExprPtr negation = NewNode(Expr::Kind::kUnary, line, std::move(test));
  negation->ops.push_back("not");
  return Finish(std::move(negation));
}

}  // namespace mlc::jinja
