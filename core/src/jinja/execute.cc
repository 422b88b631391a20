// The part of the renderer for statements and macros.
#include <algorithm>

#include "jinja/filters.h"
#include "jinja/lexer.h"
#include "jinja/render.h"

namespace mlc::jinja {

const Value* Scope::FindHere(const std::string& name) const {
  for (const auto& [key, value] : variables) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Scope::Set(const std::string& name, Value value) {
  for (auto& [key, old] : variables) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  variables.emplace_back(name, std::move(value));
}

// Enters a new scope while it lives. The destructor goes back to the previous scope.
class Renderer::ScopeGuard {
 public:
  ScopeGuard(Renderer* renderer, ScopePtr parent) : renderer_(renderer), saved_(renderer->scope_) {
    renderer->scope_ = std::make_shared<Scope>();
    renderer->scope_->parent = std::move(parent);
  }
  ~ScopeGuard() { renderer_->scope_ = std::move(saved_); }

 private:
  Renderer* renderer_;
  ScopePtr saved_;
};

class Renderer::DepthGuard {
 public:
  explicit DepthGuard(Renderer* renderer) : depth_(&renderer->depth_) { ++*depth_; }
  ~DepthGuard() { --*depth_; }

 private:
  int* depth_;
};

Renderer::Renderer(Limits limits, Clock clock)
    : Runtime(limits, std::move(clock)),
      scope_(std::make_shared<Scope>()),
      max_depth_(limits.depth) {}

void Renderer::Define(const std::string& name, Value value) { scope_->Set(name, std::move(value)); }

Result<std::string> Renderer::Run(const Block& block) {
  std::string text;
  out_ = &text;
  error_line_ = 0;
  Result<Flow> flow = Scoped(block);
  if (flow.ok()) return text;
  if (flow.status().Is(Reason::kTemplateError)) return flow.status();
  return TemplateError(std::max(error_line_, 1), flow.status().message());
}

Result<Renderer::Flow> Renderer::Execute(const Block& block) {
  DepthGuard depth(this);
  for (const auto& statement : block) {
    Status entered = Charge(1);
    if (depth_ > max_depth_) entered = InvalidArgument("the template recurses too deeply");
    Result<Flow> flow = entered.ok() ? ExecuteStatement(*statement) : Result<Flow>(entered);
    if (!flow.ok()) return SetErrorLine(std::move(flow).status(), statement->line);
    if (*flow != Flow::kNormal) return flow;
  }
  return Flow::kNormal;
}

Result<Renderer::Flow> Renderer::ExecuteStatement(const Stmt& statement) {
  using Kind = Stmt::Kind;
  Status done;
  switch (statement.kind) {
    case Kind::kText:
      done = Write(statement.text);
      break;
    case Kind::kOutput:
      done = Output(statement);
      break;
    case Kind::kIf:
      return If(statement);
    case Kind::kFor:
      return For(statement);
    case Kind::kBreak:
      return Flow::kBreak;
    case Kind::kContinue:
      return Flow::kContinue;
    case Kind::kSetBlock:
      return SetBlock(statement);
    case Kind::kWith:
      return With(statement);
    case Kind::kCallBlock:
      done = CallBlock(statement);
      break;
    case Kind::kFilterBlock:
      return FilterBlock(statement);
    case Kind::kScope:
      return Scoped(statement.bodies[0]);
    case Kind::kSet: {
      MLC_ASSIGN_OR_RETURN(Value value, Evaluate(*statement.exprs[0]));
      done = Assign(*statement.targets[0], value);
      break;
    }
    case Kind::kMacro: {
      MLC_ASSIGN_OR_RETURN(Value macro, NewObject<Macro>(&statement, scope_));
      scope_->Set(statement.macro.name, macro);
      break;
    }
  }
  if (!done.ok()) return done;
  return Flow::kNormal;
}

Status Renderer::Write(const std::string& text) {
  if (out_->size() + text.size() > kMaxTextBytes)
    return InvalidArgument("the template writes too much text");
  MLC_RETURN_IF_ERROR(Charge(text.size() / 64));
  *out_ += text;
  return {};
}

Status Renderer::Output(const Stmt& statement) {
  for (const ExprPtr& expr : statement.exprs) {
    MLC_ASSIGN_OR_RETURN(Value value, Evaluate(*expr));
    MLC_ASSIGN_OR_RETURN(std::string text, ToText(value));
    MLC_RETURN_IF_ERROR(Write(text));
  }
  return {};
}

Result<Renderer::Flow> Renderer::If(const Stmt& statement) {
  for (size_t i = 0; i < statement.exprs.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(Value test, Evaluate(*statement.exprs[i]));
    if (IsTrue(test)) return Execute(statement.bodies[i]);
  }
  bool has_else = statement.bodies.size() > statement.exprs.size();
  if (has_else) return Execute(statement.bodies.back());
  return Flow::kNormal;
}

Result<Renderer::Flow> Renderer::Scoped(const Block& block) {
  ScopeGuard scope(this, scope_);
  return Execute(block);
}

// The items of a loop: the items of the iterable for which the loop's own `if` is true.
Result<Items> Renderer::LoopItems(const Stmt& statement) {
  MLC_ASSIGN_OR_RETURN(Value iterable, Evaluate(*statement.exprs[0]));
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(*this, iterable));
  if (!statement.exprs[1]) return items;
  Items kept;
  for (Value& item : items) {
    ScopeGuard scope(this, scope_);
    MLC_RETURN_IF_ERROR(Assign(*statement.targets[0], item));
    MLC_ASSIGN_OR_RETURN(Value test, Evaluate(*statement.exprs[1]));
    if (IsTrue(test)) kept.push_back(std::move(item));
  }
  return kept;
}

Result<Renderer::Flow> Renderer::For(const Stmt& statement) {
  MLC_ASSIGN_OR_RETURN(Items items, LoopItems(statement));
  bool completed = false;
  if (!items.empty()) {
    MLC_ASSIGN_OR_RETURN(Value loop, NewObject<Loop>());
    static_cast<Loop*>(loop.object())->items = std::move(items);
    MLC_ASSIGN_OR_RETURN(completed, LoopTurns(statement, loop));
  }
  if (completed) return Flow::kNormal;
  return Scoped(statement.bodies[1]);
}

// Returns true if at least one turn reached the end of the body. As in jinja2, a loop runs its
// `else` if `continue` or `break` left every turn.
Result<bool> Renderer::LoopTurns(const Stmt& statement, Value loop) {
  Loop& state = *static_cast<Loop*>(loop.object());
  bool completed = false;
  for (state.index = 0; state.index < state.items.size(); ++state.index) {
    MLC_RETURN_IF_ERROR(Charge(1));
    ScopeGuard scope(this, scope_);
    scope_->Set("loop", loop);
    MLC_RETURN_IF_ERROR(Assign(*statement.targets[0], state.items[state.index]));
    MLC_ASSIGN_OR_RETURN(Flow flow, Execute(statement.bodies[0]));
    if (flow == Flow::kBreak) break;
    completed = completed || flow == Flow::kNormal;
  }
  return completed;
}

Result<Renderer::Flow> Renderer::With(const Stmt& statement) {
  MLC_ASSIGN_OR_RETURN(Items values, EvaluateAll(statement.exprs));
  ScopeGuard scope(this, scope_);
  for (size_t i = 0; i < values.size(); ++i)
    MLC_RETURN_IF_ERROR(Assign(*statement.targets[i], values[i]));
  return Execute(statement.bodies[0]);
}

Result<std::string> Renderer::Capture(const Block& block, Flow* flow) {
  std::string text;
  std::string* outer = std::exchange(out_, &text);
  Result<Flow> result = Scoped(block);
  out_ = outer;
  if (!result.ok()) return std::move(result).status();
  *flow = *result;
  return text;
}

Result<Renderer::Flow> Renderer::SetBlock(const Stmt& statement) {
  Flow flow = Flow::kNormal;
  MLC_ASSIGN_OR_RETURN(std::string text, Capture(statement.bodies[0], &flow));
  if (flow != Flow::kNormal) return flow;  // after a break, the block is not assigned
  MLC_ASSIGN_OR_RETURN(Value value, Text(std::move(text)));
  if (statement.exprs[0]) {
    MLC_ASSIGN_OR_RETURN(value, Filter(*statement.exprs[0], &value));
  }
  MLC_RETURN_IF_ERROR(Assign(*statement.targets[0], value));
  return Flow::kNormal;
}

Result<Renderer::Flow> Renderer::FilterBlock(const Stmt& statement) {
  Flow flow = Flow::kNormal;
  MLC_ASSIGN_OR_RETURN(std::string text, Capture(statement.bodies[0], &flow));
  if (flow != Flow::kNormal) return flow;
  MLC_ASSIGN_OR_RETURN(Value input, Text(std::move(text)));
  MLC_ASSIGN_OR_RETURN(Value value, Filter(*statement.exprs[0], &input));
  MLC_ASSIGN_OR_RETURN(std::string filtered, ToText(value));
  MLC_RETURN_IF_ERROR(Write(filtered));
  return Flow::kNormal;
}

Status Renderer::Assign(const Expr& target, const Value& value) {
  if (target.kind == Expr::Kind::kNamespaceAttribute) return AssignAttribute(target, value);
  if (target.kind != Expr::Kind::kTuple) {
    scope_->Set(target.name, value);
    return {};
  }
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(*this, value));
  if (items.size() != target.children.size())
    return InvalidArgument("cannot unpack " + std::to_string(items.size()) + " values into " +
                           std::to_string(target.children.size()));
  for (size_t i = 0; i < items.size(); ++i)
    MLC_RETURN_IF_ERROR(Assign(*target.children[i], items[i]));
  return {};
}

Status Renderer::AssignAttribute(const Expr& target, const Value& value) {
  MLC_ASSIGN_OR_RETURN(Value object, Lookup(target.name));
  if (!object.is_object(Object::Type::kNamespace))
    return InvalidArgument("cannot assign attribute on non-namespace object");
  MLC_RETURN_IF_ERROR(ChargeBytes(sizeof(Value)));
  static_cast<Namespace*>(object.object())->attributes.Set(Value::String(target.ops[0]), value);
  return {};
}

Status Renderer::CallBlock(const Stmt& statement) {
  MLC_ASSIGN_OR_RETURN(Value caller, NewObject<Macro>(&statement, scope_));
  MLC_ASSIGN_OR_RETURN(Value value, CallExpr(*statement.exprs[0], &caller));
  MLC_ASSIGN_OR_RETURN(std::string text, ToText(value));
  return Write(text);
}

namespace {

std::optional<Value> TakeNamed(Arguments* arguments, const std::string& name) {
  auto& named = arguments->named;
  auto found = std::find_if(named.begin(), named.end(),
                            [&](const auto& argument) { return argument.first == name; });
  if (found == named.end()) return std::nullopt;
  Value value = std::move(found->second);
  named.erase(found);
  return value;
}

}  // namespace

Result<Value> Renderer::CallMacro(const Macro& macro, Arguments arguments) {
  DepthGuard depth(this);
  if (depth_ > max_depth_) return InvalidArgument("the template recurses too deeply");
  ScopeGuard scope(this, macro.scope);
  MLC_RETURN_IF_ERROR(BindParameters(macro, &arguments));
  Flow flow = Flow::kNormal;
  MLC_ASSIGN_OR_RETURN(std::string text, Capture(macro.syntax->bodies[0], &flow));
  return Text(std::move(text));
}

Status Renderer::BindParameters(const Macro& macro, Arguments* arguments) {
  const MacroSyntax& syntax = macro.syntax->macro;
  const std::vector<std::string>& names = syntax.parameters;
  size_t first_default = names.size() - syntax.defaults.size();
  size_t given = std::min(arguments->positional.size(), names.size());
  bool explicit_caller = std::find(names.begin(), names.end(), "caller") != names.end();
  std::vector<size_t> missing;
  for (size_t i = 0; i < names.size(); ++i) {
    std::optional<Value> value;
    if (i < given) value = arguments->positional[i];
    if (i >= given) value = TakeNamed(arguments, names[i]);
    if (!value) missing.push_back(i);
    if (value) scope_->Set(names[i], *value);
  }
  MLC_RETURN_IF_ERROR(BindSpecial(syntax, explicit_caller, arguments));
  for (size_t i : missing) {
    Value value = Value::Undefined("parameter '" + names[i] + "' was not provided");
    if (i >= first_default) {
      MLC_ASSIGN_OR_RETURN(value, Evaluate(*syntax.defaults[i - first_default]));
    }
    scope_->Set(names[i], value);
  }
  return {};
}

// Binds `caller`, `kwargs` and `varargs` for macros that read them. Any other argument that is left
// is an error.
Status Renderer::BindSpecial(const MacroSyntax& syntax, bool found_caller, Arguments* arguments) {
  if (syntax.uses_caller && !found_caller) {
    std::optional<Value> caller = TakeNamed(arguments, "caller");
    bool usable = caller && !caller->is_none();
    scope_->Set("caller", usable ? *caller : Value::Undefined("No caller defined"));
  }
  if (syntax.uses_kwargs) {
    Dict rest;
    for (auto& [name, value] : arguments->named) rest.Set(Value::String(name), std::move(value));
    MLC_ASSIGN_OR_RETURN(Value kwargs, Make(std::move(rest)));
    scope_->Set("kwargs", kwargs);
  } else if (!arguments->named.empty()) {
    return InvalidArgument("macro '" + syntax.name + "' takes no keyword argument '" +
                           arguments->named[0].first + "'");
  }
  const Items& positional = arguments->positional;
  size_t count = syntax.parameters.size();
  if (syntax.uses_varargs) {
    size_t begin = std::min(count, positional.size());
    Items rest(positional.begin() + static_cast<int64_t>(begin), positional.end());
    MLC_ASSIGN_OR_RETURN(Value varargs, Tuple(std::move(rest)));
    scope_->Set("varargs", varargs);
  } else if (positional.size() > count) {
    return InvalidArgument("macro '" + syntax.name + "' takes not more than " +
                           std::to_string(count) + " argument(s)");
  }
  return {};
}

}  // namespace mlc::jinja
