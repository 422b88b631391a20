#include "jinja/parser.h"

#include <algorithm>

namespace mlc::jinja {

const Token& TokenStream::Next() {
  const Token& token = tokens_[position_];
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenStream::SkipOperator(std::string_view op) {
  if (!Current().IsOperator(op)) return false;
  Next();
  return true;
}

bool TokenStream::SkipName(std::string_view name) {
  if (!Current().IsName(name)) return false;
  Next();
  return true;
}

Status TokenStream::ExpectOperator(std::string_view op) {
  if (SkipOperator(op)) return {};
  return Fail("expected '" + std::string(op) + "', got " + Current().Describe());
}

Status TokenStream::ExpectName(std::string_view name) {
  if (SkipName(name)) return {};
  return Fail("expected '" + std::string(name) + "', got " + Current().Describe());
}

Status TokenStream::Expect(TokenType type, const char* what) {
  if (Current().type != type)
    return Fail(std::string("expected ") + what + ", got " + Current().Describe());
  Next();
  return {};
}

namespace {

constexpr int kMaxStatementDepth = 60;
using StmtPtr = std::unique_ptr<Stmt>;
using Ends = std::initializer_list<std::string_view>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)), expressions_(&tokens_) {}

  Result<Block> Run() {
    Block block;
    MLC_RETURN_IF_ERROR(Statements({}, &block));
    return block;
  }

 private:
  // Parses up to a block that begins with one of `ends`; that name is then the current token.
  // Without `ends` it parses to the end of the template.
  Status Statements(Ends ends, Block* block) {
    while (tokens_.Current().type != TokenType::kEof) {
      const Token& token = tokens_.Next();
      if (token.type == TokenType::kData) {
        block->push_back(New(Stmt::Kind::kText, token.line));
        block->back()->text = token.text;
      } else if (token.type == TokenType::kVariableBegin) {
        MLC_RETURN_IF_ERROR(Output(token.line, block));
      } else {
        if (AtAny(ends)) return {};
        MLC_ASSIGN_OR_RETURN(StmtPtr statement, Statement(ends));
        block->push_back(std::move(statement));
        MLC_RETURN_IF_ERROR(EndTag());
      }
    }
    return ends.size() == 0 ? Status() : FailEnd(ends);
  }

  bool AtAny(Ends ends) const {
    const Token& token = tokens_.Current();
    return token.type == TokenType::kName &&
           std::find(ends.begin(), ends.end(), token.text) != ends.end();
  }

  Status FailEnd(Ends ends) const {
    std::string expected;
    for (std::string_view end : ends)
      expected += (expected.empty() ? "'" : " or '") + std::string(end) + "'";
    return tokens_.Fail("unexpected end of the template, expected " + expected);
  }

  Status EndTag() { return tokens_.Expect(TokenType::kBlockEnd, "'%}'"); }

  Status Output(int line, Block* block) {
    MLC_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Tuple());
    MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kVariableEnd, "'}}'"));
    block->push_back(New(Stmt::Kind::kOutput, line));
    block->back()->exprs.push_back(std::move(value));
    return {};
  }

  Result<StmtPtr> Statement(Ends ends) {
    if (++depth_ > kMaxStatementDepth) return tokens_.Fail("statements are nested too deeply");
    const Token& token = tokens_.Current();
    MLC_RETURN_IF_ERROR(tokens_.Expect(TokenType::kName, "a tag name"));
    Result<StmtPtr> statement = StatementOf(token, ends);
    --depth_;
    return statement;
  }

  Result<StmtPtr> StatementOf(const Token& tag, Ends ends) {
    struct Entry {
      std::string_view name;
      Result<StmtPtr> (Parser::*parse)(StmtPtr);
      Stmt::Kind kind;
    };
    static constexpr Entry kEntries[] = {
        {"if", &Parser::If, Stmt::Kind::kIf},
        {"for", &Parser::For, Stmt::Kind::kFor},
        {"set", &Parser::Set, Stmt::Kind::kSet},
        {"with", &Parser::With, Stmt::Kind::kWith},
        {"macro", &Parser::Macro, Stmt::Kind::kMacro},
        {"call", &Parser::CallBlock, Stmt::Kind::kCallBlock},
        {"filter", &Parser::FilterBlock, Stmt::Kind::kFilterBlock},
        {"print", &Parser::Print, Stmt::Kind::kOutput},
        {"generation", &Parser::Generation, Stmt::Kind::kScope},
        {"break", &Parser::Jump, Stmt::Kind::kBreak},
        {"continue", &Parser::Jump, Stmt::Kind::kContinue},
    };
    for (const Entry& entry : kEntries) {
      if (tag.text == entry.name) return (this->*entry.parse)(New(entry.kind, tag.line));
    }
    return UnknownTag(tag, ends);
  }

  Status UnknownTag(const Token& tag, Ends ends) const {
    for (std::string_view name :
         {"include", "import", "from", "extends", "block", "autoescape", "do", "trans"}) {
      if (tag.text == name)
        return TemplateError(tag.line, "'" + tag.text + "' is not offered in chat templates");
    }
    std::string message = "unknown tag '" + tag.text + "'";
    if (ends.size() > 0) message += ", expected '" + std::string(*(ends.end() - 1)) + "' first";
    return TemplateError(tag.line, message);
  }

  // Parses the body of a statement up to one of `ends`. Moves behind that name and returns it.
  Result<std::string> Body(Ends ends, Stmt* statement) {
    tokens_.SkipOperator(":");
    MLC_RETURN_IF_ERROR(EndTag());
    Block body;
    MLC_RETURN_IF_ERROR(Statements(ends, &body));
    statement->bodies.push_back(std::move(body));
    return tokens_.Next().text;
  }

  Result<StmtPtr> WithBody(StmtPtr statement, std::string_view end) {
    Result<std::string> ended = Body({end}, statement.get());
    if (!ended.ok()) return ended.status();
    return statement;
  }

  Result<StmtPtr> If(StmtPtr statement) {
    while (true) {
      MLC_ASSIGN_OR_RETURN(ExprPtr test, expressions_.Tuple(false));
      statement->exprs.push_back(std::move(test));
      MLC_ASSIGN_OR_RETURN(std::string end, Body({"elif", "else", "endif"}, statement.get()));
      if (end == "elif") continue;
      if (end == "else") return WithBody(std::move(statement), "endif");
      return statement;
    }
  }

  Result<StmtPtr> For(StmtPtr statement) {
    MLC_ASSIGN_OR_RETURN(ExprPtr target, expressions_.Target());
    statement->targets.push_back(std::move(target));
    MLC_RETURN_IF_ERROR(tokens_.ExpectName("in"));
    MLC_ASSIGN_OR_RETURN(ExprPtr iterable, expressions_.Tuple(false));
    ExprPtr filter;
    if (tokens_.SkipName("if")) {
      MLC_ASSIGN_OR_RETURN(filter, expressions_.Expression());
    }
    if (tokens_.Current().IsName("recursive"))
      return tokens_.Fail("recursive loops are not offered in chat templates");
    statement->exprs.push_back(std::move(iterable));
    statement->exprs.push_back(std::move(filter));
    MLC_ASSIGN_OR_RETURN(std::string end, Body({"endfor", "else"}, statement.get()));
    if (end == "else") return WithBody(std::move(statement), "endfor");
    statement->bodies.emplace_back();
    return statement;
  }

  Result<StmtPtr> Jump(StmtPtr statement) { return statement; }

  Result<StmtPtr> Set(StmtPtr statement) {
    MLC_ASSIGN_OR_RETURN(ExprPtr target, expressions_.Target(true));
    statement->targets.push_back(std::move(target));
    ExprPtr value;
    if (tokens_.SkipOperator("=")) {
      MLC_ASSIGN_OR_RETURN(value, expressions_.Tuple());
      statement->exprs.push_back(std::move(value));
      return statement;
    }
    MLC_ASSIGN_OR_RETURN(value, expressions_.Filters(nullptr));
    statement->kind = Stmt::Kind::kSetBlock;
    statement->exprs.push_back(std::move(value));
    return WithBody(std::move(statement), "endset");
  }

  Result<StmtPtr> With(StmtPtr statement) {
    while (tokens_.Current().type != TokenType::kBlockEnd) {
      if (!statement->targets.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      MLC_ASSIGN_OR_RETURN(ExprPtr target, expressions_.Target());
      MLC_RETURN_IF_ERROR(tokens_.ExpectOperator("="));
      MLC_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Expression());
      statement->targets.push_back(std::move(target));
      statement->exprs.push_back(std::move(value));
    }
    return WithBody(std::move(statement), "endwith");
  }

  Status Signature(MacroSyntax* macro) {
    MLC_RETURN_IF_ERROR(tokens_.ExpectOperator("("));
    while (!tokens_.Current().IsOperator(")")) {
      if (!macro->parameters.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      MLC_ASSIGN_OR_RETURN(std::string name, expressions_.TargetName());
      if (tokens_.SkipOperator("=")) {
        MLC_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Expression());
        macro->defaults.push_back(std::move(value));
      } else if (!macro->defaults.empty()) {
        return tokens_.Fail("non-default argument follows default argument");
      }
      const auto& names = macro->parameters;
      if (std::find(names.begin(), names.end(), name) != names.end())
        return tokens_.Fail("duplicate argument '" + name + "'");
      macro->parameters.push_back(std::move(name));
    }
    return tokens_.ExpectOperator(")");
  }

  // Parses the body of a macro or call block, and records which special variables it reads. A
  // variable that an inner macro reads counts for the outer macro too, as in jinja2.
  Result<StmtPtr> MacroBody(StmtPtr statement, std::string_view end) {
    ExpressionParser::SpecialNames outer = expressions_.special_names;
    expressions_.special_names = {};
    MLC_ASSIGN_OR_RETURN(statement, WithBody(std::move(statement), end));
    ExpressionParser::SpecialNames& inner = expressions_.special_names;
    statement->macro.uses_caller = inner.caller;
    statement->macro.uses_varargs = inner.varargs;
    statement->macro.uses_kwargs = inner.kwargs;
    inner = {inner.caller || outer.caller, inner.varargs || outer.varargs,
             inner.kwargs || outer.kwargs};
    return statement;
  }

  Result<StmtPtr> Macro(StmtPtr statement) {
    MLC_ASSIGN_OR_RETURN(statement->macro.name, expressions_.TargetName());
    MLC_RETURN_IF_ERROR(Signature(&statement->macro));
    return MacroBody(std::move(statement), "endmacro");
  }

  Result<StmtPtr> CallBlock(StmtPtr statement) {
    statement->macro.name = "caller";
    if (tokens_.Current().IsOperator("(")) MLC_RETURN_IF_ERROR(Signature(&statement->macro));
    MLC_ASSIGN_OR_RETURN(ExprPtr call, expressions_.Expression());
    if (call->kind != Expr::Kind::kCall) return TemplateError(statement->line, "expected a call");
    statement->exprs.push_back(std::move(call));
    return MacroBody(std::move(statement), "endcall");
  }

  Result<StmtPtr> FilterBlock(StmtPtr statement) {
    MLC_ASSIGN_OR_RETURN(ExprPtr filters, expressions_.Filters(nullptr, true));
    statement->exprs.push_back(std::move(filters));
    return WithBody(std::move(statement), "endfilter");
  }

  Result<StmtPtr> Print(StmtPtr statement) {
    while (tokens_.Current().type != TokenType::kBlockEnd) {
      if (!statement->exprs.empty()) MLC_RETURN_IF_ERROR(tokens_.ExpectOperator(","));
      MLC_ASSIGN_OR_RETURN(ExprPtr value, expressions_.Expression());
      statement->exprs.push_back(std::move(value));
    }
    return statement;
  }

  Result<StmtPtr> Generation(StmtPtr statement) {
    return WithBody(std::move(statement), "endgeneration");
  }

  static StmtPtr New(Stmt::Kind kind, int line) {
    auto statement = std::make_unique<Stmt>();
    statement->kind = kind;
    statement->line = line;
    return statement;
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  int depth_ = 0;
};

}  // namespace

Result<Block> ParseTemplate(std::string_view source) {
  MLC_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenize(source));
  MLC_ASSIGN_OR_RETURN(Block block, Parser(std::move(tokens)).Run());
  MLC_RETURN_IF_ERROR(CheckTemplate(block));
  return block;
}

}  // namespace mlc::jinja
