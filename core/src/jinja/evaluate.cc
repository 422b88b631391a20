// The part of the renderer for expressions.
#include "jinja/filters.h"
#include "jinja/render.h"

namespace mlc::jinja {

Status Renderer::SetErrorLine(Status status, int line) {
  if (!status.ok() && error_line_ == 0) error_line_ = line;
  return status;
}

Result<Value> Renderer::Evaluate(const Expr& expr) {
  if (++depth_ > max_depth_) {
    --depth_;
    return SetErrorLine(InvalidArgument("the template recurses too deeply"), expr.line);
  }
  Status charged = Charge(1);
  Result<Value> value = charged.ok() ? EvaluateNode(expr) : Result<Value>(charged);
  --depth_;
  if (!value.ok()) return SetErrorLine(std::move(value).status(), expr.line);
  return value;
}

Result<Value> Renderer::EvaluateNode(const Expr& expr) {
  using Kind = Expr::Kind;
  switch (expr.kind) {
    case Kind::kConstant:
      return expr.constant;
    case Kind::kName:
      return Lookup(expr.name);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict:
      return Display(expr);
    case Kind::kUnary:
      return Unary(expr);
    case Kind::kBinary:
      return Binary(expr);
    case Kind::kAnd:
    case Kind::kOr:
      return AndOr(expr);
    case Kind::kConcat:
      return Concat(expr);
    case Kind::kCompare:
      return Compare(expr);
    case Kind::kCondition:
      return Condition(expr);
    case Kind::kAttribute: {
      MLC_ASSIGN_OR_RETURN(Value object, Evaluate(*expr.children[0]));
      return GetAttribute(*this, object, expr.name);
    }
    case Kind::kItem:
      return Item(expr);
    case Kind::kCall:
      return CallExpr(expr);
    case Kind::kFilter:
      return Filter(expr);
    case Kind::kTest:
      return Test(expr);
    case Kind::kSlice:
    case Kind::kNamespaceAttribute:
      break;
  }
  return Value::Undefined("a slice is no value");
}

Result<Value> Renderer::Lookup(const std::string& name) {
  for (const Scope* scope = scope_.get(); scope != nullptr; scope = scope->parent.get()) {
    if (const Value* value = scope->FindHere(name)) return *value;
  }
  if (const Function* function = FindGlobal(name))
    return Value(static_cast<Object*>(const_cast<Function*>(function)));
  return Value::Undefined("'" + name.substr(0, 200) + "' is undefined");
}

Result<Items> Renderer::EvaluateAll(const std::vector<ExprPtr>& exprs) {
  Items items;
  items.reserve(exprs.size());
  for (const ExprPtr& expr : exprs) {
    MLC_ASSIGN_OR_RETURN(Value item, Evaluate(*expr));
    items.push_back(std::move(item));
  }
  return items;
}

Result<Value> Renderer::Display(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Items items, EvaluateAll(expr.children));
  if (expr.kind == Expr::Kind::kList) return List(std::move(items));
  if (expr.kind == Expr::Kind::kTuple) return Tuple(std::move(items));
  Dict dict;
  for (size_t i = 0; i < items.size(); i += 2) {
    if (!items[i].hashable())
      return InvalidArgument(std::string("unhashable type: '") + TypeName(items[i]) + "'");
    if (items[i].is_tuple()) MLC_RETURN_IF_ERROR(Charge(dict.size() + items[i].weight()));
    dict.Set(std::move(items[i]), std::move(items[i + 1]));
  }
  return Make(std::move(dict));
}

Result<Value> Renderer::Unary(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value operand, Evaluate(*expr.children[0]));
  if (expr.ops[0] == "not") return Value(!IsTrue(operand));
  return Negate(operand, expr.ops[0] == "-");
}

Result<Value> Renderer::Binary(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value left, Evaluate(*expr.children[0]));
  MLC_ASSIGN_OR_RETURN(Value right, Evaluate(*expr.children[1]));
  return BinaryOperation(*this, expr.ops[0], left, right);
}

Result<Value> Renderer::AndOr(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value left, Evaluate(*expr.children[0]));
  if (IsTrue(left) == (expr.kind == Expr::Kind::kOr)) return left;
  return Evaluate(*expr.children[1]);
}

Result<Value> Renderer::Concat(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Items items, EvaluateAll(expr.children));
  std::string text;
  for (const Value& item : items) {
    MLC_ASSIGN_OR_RETURN(std::string part, ToText(item));
    text += part;
    if (text.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  }
  return Text(std::move(text));
}

Result<Value> Renderer::Compare(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value left, Evaluate(*expr.children[0]));
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(Value right, Evaluate(*expr.children[i + 1]));
    MLC_ASSIGN_OR_RETURN(bool holds, CompareOperation(*this, expr.ops[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Renderer::Condition(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value test, Evaluate(*expr.children[0]));
  if (IsTrue(test)) return Evaluate(*expr.children[1]);
  if (expr.children[2]) return Evaluate(*expr.children[2]);
  return Value::Undefined("the inline if-expression was false and has no else");
}

Result<Value> Renderer::Item(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value object, Evaluate(*expr.children[0]));
  const Expr& index = *expr.children[1];
  if (index.kind != Expr::Kind::kSlice) {
    MLC_ASSIGN_OR_RETURN(Value key, Evaluate(index));
    return GetItem(*this, object, key);
  }
  Value bounds[3] = {Value::None(), Value::None(), Value::None()};
  for (int i = 0; i < 3; ++i) {
    if (!index.children[i]) continue;
    MLC_ASSIGN_OR_RETURN(bounds[i], Evaluate(*index.children[i]));
  }
  return GetSlice(*this, object, bounds[0], bounds[1], bounds[2]);
}

Status Renderer::SpreadKeywords(const Value& mapping, Arguments* arguments) {
  if (!mapping.is_dict()) return InvalidArgument("argument after ** must be a mapping");
  MLC_RETURN_IF_ERROR(Charge(mapping.dict().size() * (1 + arguments->named.size())));
  for (const auto& [key, value] : mapping.dict().entries()) {
    if (!key.is_string()) return InvalidArgument("keywords must be strings");
    for (const auto& [other, unused] : arguments->named) {
      if (other == key.as_string())
        return InvalidArgument("got multiple values for keyword argument '" + other + "'");
    }
    arguments->named.emplace_back(key.as_string(), value);
  }
  return {};
}

Result<Arguments> Renderer::EvaluateArguments(const CallSyntax& call) {
  Arguments arguments;
  MLC_ASSIGN_OR_RETURN(arguments.positional, EvaluateAll(call.positional));
  for (const auto& [name, expr] : call.named) {
    MLC_ASSIGN_OR_RETURN(Value value, Evaluate(*expr));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (call.star) {
    MLC_ASSIGN_OR_RETURN(Value spread, Evaluate(*call.star));
    MLC_ASSIGN_OR_RETURN(Items items, Iterate(*this, spread));
    for (Value& item : items) arguments.positional.push_back(std::move(item));
  }
  if (call.double_star) {
    MLC_ASSIGN_OR_RETURN(Value spread, Evaluate(*call.double_star));
    MLC_RETURN_IF_ERROR(SpreadKeywords(spread, &arguments));
  }
  return arguments;
}

Result<Value> Renderer::CallExpr(const Expr& expr, const Value* caller) {
  const Expr& callee = *expr.children[0];
  Value function;
  std::optional<Value> self;  // of a method call; then no Method object is needed
  if (callee.kind == Expr::Kind::kAttribute) {
    MLC_ASSIGN_OR_RETURN(Value object, Evaluate(*callee.children[0]));
    if (FindMethod(object, callee.name) == MethodStatus::kSafe) {
      self = std::move(object);
    } else {
      MLC_ASSIGN_OR_RETURN(function, GetAttribute(*this, object, callee.name));
    }
  } else {
    MLC_ASSIGN_OR_RETURN(function, Evaluate(callee));
  }
  MLC_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expr.call));
  if (caller) arguments.named.emplace_back("caller", *caller);
  if (self) return CallMethod(*this, *self, callee.name, std::move(arguments));
  return Call(function, std::move(arguments));
}

Result<Value> Renderer::Call(const Value& callee, Arguments arguments) {
  if (callee.is_undefined()) return InvalidArgument(callee.hint());
  if (callee.is_object()) {
    Object* object = callee.object();
    switch (object->type) {
      case Object::Type::kFunction:
        return static_cast<Function*>(object)->call(*this, std::move(arguments));
      case Object::Type::kMethod: {
        const Method& method = *static_cast<Method*>(object);
        return CallMethod(*this, method.self, method.name, std::move(arguments));
      }
      case Object::Type::kMacro:
        return CallMacro(*static_cast<Macro*>(object), std::move(arguments));
      case Object::Type::kJoiner: {
        Joiner& joiner = *static_cast<Joiner*>(object);
        return std::exchange(joiner.used, true) ? joiner.separator : Value::String("");
      }
      case Object::Type::kLoop:
        return InvalidArgument("recursive loops are not offered in chat templates");
      default:
        break;
    }
  }
  return InvalidArgument(std::string("'") + TypeName(callee) + "' object is not callable");
}

Result<Value> Renderer::Filter(const Expr& expr, const Value* block_text) {
  Value input;
  const Expr* inner = expr.children[0].get();
  if (inner == nullptr) {
    input = *block_text;
  } else if (block_text != nullptr && inner->kind == Expr::Kind::kFilter) {
    MLC_ASSIGN_OR_RETURN(input, Filter(*inner, block_text));
  } else {
    MLC_ASSIGN_OR_RETURN(input, Evaluate(*inner));
  }
  if (expr.filter == nullptr) return InvalidArgument("no filter named '" + expr.name + "'");
  MLC_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expr.call));
  return ApplyFilter(*this, *expr.filter, input, std::move(arguments));
}

Result<Value> Renderer::Test(const Expr& expr) {
  MLC_ASSIGN_OR_RETURN(Value value, Evaluate(*expr.children[0]));
  if (expr.test == nullptr) return InvalidArgument("no test named '" + expr.name + "'");
  MLC_ASSIGN_OR_RETURN(Arguments arguments, EvaluateArguments(expr.call));
  MLC_ASSIGN_OR_RETURN(bool holds, ApplyTest(*this, *expr.test, value, std::move(arguments)));
  return Value(holds);
}

}  // namespace mlc::jinja
