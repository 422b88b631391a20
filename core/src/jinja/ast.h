// The syntax tree of a template. It is immutable after parsing and shared by all renders.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jinja/value.h"

namespace mlc::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;
struct FilterSpec;
struct TestSpec;

struct CallSyntax {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr star, double_star;  // f(*star, **double_star)
};

struct Expr {
  enum class Kind {
    kConstant,  // constant
    kName,      // name
    kList,      // children
    kTuple,     // children
    kDict,      // children: key, value, key, value, ...
    kUnary,     // op "-", "+", "not"; children[0]
    kBinary,    // op; children[0], children[1]
    kAnd,       // children[0], children[1]
    kOr,
    kConcat,     // children joined as strings
    kCompare,    // children[0] op[0] children[1] op[1] children[2] ...; in `ops`
    kCondition,  // children: test, then, otherwise (may be null)
    kAttribute,  // children[0].name
    kItem,       // children[0][children[1]]
    kSlice,      // only as children[1] of kItem: children start, stop, step, each may be null
    kCall,       // children[0](call)
    kFilter,     // children[0] (null in a filter block) | name(call)
    kTest,       // children[0] is name(call)
    kNamespaceAttribute,  // assignment target: name "ns", attribute in ops[0]
  };
  Kind kind;
  int line;
  int depth = 1;  // depth of the tree below; it is limited
  std::string name;
  Value constant;
  std::vector<std::string> ops;
  std::vector<ExprPtr> children;
  CallSyntax call;
  const FilterSpec* filter = nullptr;  // null: there is no filter of that name
  const TestSpec* test = nullptr;
};

struct Stmt;
using Block = std::vector<std::unique_ptr<Stmt>>;

struct MacroSyntax {
  std::string name;  // "" for the body of a call block
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults;  // of the last parameters
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Stmt {
  enum class Kind {
    kText,    // text
    kOutput,  // exprs, printed one after another
    kIf,      // exprs[i] guards bodies[i]; one more body is the else
    kFor,     // target, exprs[0] iterable, exprs[1] filter or null; bodies[0], bodies[1] else
    kBreak,
    kContinue,
    kSet,          // target = exprs[0]
    kSetBlock,     // target = bodies[0], through the filters of exprs[0] if not null
    kWith,         // targets[i] = exprs[i]; bodies[0]
    kMacro,        // macro, bodies[0]
    kCallBlock,    // macro (the caller), exprs[0] the call, bodies[0]
    kFilterBlock,  // exprs[0] the filters, bodies[0]
    kScope,        // bodies[0] in its own scope: {% generation %}
  };
  Kind kind;
  int line;
  std::string text;
  std::vector<ExprPtr> exprs;
  std::vector<ExprPtr> targets;
  std::vector<Block> bodies;
  MacroSyntax macro;
};

}  // namespace mlc::jinja
