// Runs a syntax tree.
//
//   MLC_ASSIGN_OR_RETURN(Block block, ParseTemplate(source));
//   Renderer renderer(Limits{}, clock);
//   renderer.Define("messages", value);
//   MLC_ASSIGN_OR_RETURN(std::string text, renderer.Run(block));
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/ast.h"
#include "jinja/runtime.h"

namespace mlc::jinja {

// The variables of one body (template, loop turn, macro call, ...). A name that is not found here
// is looked up in the scope around it.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> variables;

  const Value* FindHere(const std::string& name) const;
  void Set(const std::string& name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

// A macro, or the body of a call block. It sees the scope in which it was defined.
struct Macro : Object {
  Macro(const Stmt* syntax, ScopePtr scope)
      : Object(Type::kMacro), syntax(syntax), scope(std::move(scope)) {}
  const Stmt* syntax;
  ScopePtr scope;
};

class Renderer : public Runtime {
 public:
  Renderer(Limits limits, Clock clock);

  // Defines a variable of the render's context.
  void Define(const std::string& name, Value value);
  // Returns the text. An error names the line, unless the template itself raised it.
  Result<std::string> Run(const Block& block);

  Result<Value> Call(const Value& callee, Arguments arguments) override;

 private:
  enum class Flow { kNormal, kBreak, kContinue };
  class ScopeGuard;
  class DepthGuard;

  // jinja_execute.cc
  Result<Flow> Execute(const Block& block);
  Result<Flow> ExecuteStatement(const Stmt& statement);
  Result<Flow> If(const Stmt& statement);
  Result<Flow> For(const Stmt& statement);
  Result<Items> LoopItems(const Stmt& statement);
  Result<bool> LoopTurns(const Stmt& statement, Value loop);
  Result<Flow> With(const Stmt& statement);
  Result<Flow> SetBlock(const Stmt& statement);
  Result<Flow> FilterBlock(const Stmt& statement);
  Result<Flow> Scoped(const Block& block);
  Status Output(const Stmt& statement);
  Status CallBlock(const Stmt& statement);
  Status Write(const std::string& text);
  // The text that a body writes, in its own scope.
  Result<std::string> Capture(const Block& block, Flow* flow);
  Status Assign(const Expr& target, const Value& value);
  Status AssignAttribute(const Expr& target, const Value& value);
  Result<Value> CallMacro(const Macro& macro, Arguments arguments);
  Status BindParameters(const Macro& macro, Arguments* arguments);
  Status BindSpecial(const MacroSyntax& syntax, bool found_caller, Arguments* arguments);

  // jinja_evaluate.cc
  Result<Value> Evaluate(const Expr& expr);
  Result<Value> EvaluateNode(const Expr& expr);
  Result<Value> Lookup(const std::string& name);
  Result<Items> EvaluateAll(const std::vector<ExprPtr>& exprs);
  Result<Value> Display(const Expr& expr);
  Result<Value> Unary(const Expr& expr);
  Result<Value> Binary(const Expr& expr);
  Result<Value> AndOr(const Expr& expr);
  Result<Value> Concat(const Expr& expr);
  Result<Value> Compare(const Expr& expr);
  Result<Value> Condition(const Expr& expr);
  Result<Value> Item(const Expr& expr);
  Result<Value> CallExpr(const Expr& expr, const Value* caller = nullptr);
  Result<Value> Filter(const Expr& expr, const Value* block_text = nullptr);
  Result<Value> Test(const Expr& expr);
  Result<Arguments> EvaluateArguments(const CallSyntax& call);
  Status SpreadKeywords(const Value& mapping, Arguments* arguments);
  Status SetErrorLine(Status status, int line);

  ScopePtr scope_;
  std::string* out_ = nullptr;
  int depth_ = 0;
  int max_depth_;
  int error_line_ = 0;  // the innermost line at which an error occurred
};

}  // namespace mlc::jinja
