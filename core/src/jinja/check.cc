// The checks that jinja2 makes when it compiles a parsed template.
#include "jinja/parser.h"

namespace mlc::jinja {

namespace {

// In "soft" places jinja2 reports an unknown filter or test only when it renders. These places are
// under an `if` (statement or expression), if there is no statement with its own scope between.
class Checker {
 public:
  Status CheckBlock(const Block& block, bool soft, bool in_loop) {
    for (const auto& statement : block)
      MLC_RETURN_IF_ERROR(CheckStatement(*statement, soft, in_loop));
    return {};
  }

 private:
  Status CheckStatement(const Stmt& statement, bool soft, bool in_loop) {
    using Kind = Stmt::Kind;
    if ((statement.kind == Kind::kBreak || statement.kind == Kind::kContinue) && !in_loop)
      return TemplateError(statement.line, "'break' or 'continue' outside of a loop");
    bool is_if = statement.kind == Kind::kIf;
    bool exprs_soft = is_if || soft;
    for (const ExprPtr& expr : statement.exprs) MLC_RETURN_IF_ERROR(CheckExpr(expr, exprs_soft));
    for (const ExprPtr& expr : statement.macro.defaults)
      MLC_RETURN_IF_ERROR(CheckExpr(expr, false));
    for (size_t i = 0; i < statement.bodies.size(); ++i) {
      bool body_soft = is_if;
      MLC_RETURN_IF_ERROR(
          CheckBlock(statement.bodies[i], body_soft, StaysInLoop(statement, i, in_loop)));
    }
    return {};
  }

  static bool StaysInLoop(const Stmt& statement, size_t body, bool in_loop) {
    switch (statement.kind) {
      case Stmt::Kind::kFor:
        return body == 0 || in_loop;
      case Stmt::Kind::kMacro:
      case Stmt::Kind::kCallBlock:
      case Stmt::Kind::kScope:
        return false;
      default:
        return in_loop;
    }
  }

  Status CheckExpr(const ExprPtr& expr, bool soft) {
    if (!expr) return {};
    if (!soft && expr->kind == Expr::Kind::kFilter && expr->filter == nullptr)
      return TemplateError(expr->line, "no filter named '" + expr->name + "'");
    if (!soft && expr->kind == Expr::Kind::kTest && expr->test == nullptr)
      return TemplateError(expr->line, "no test named '" + expr->name + "'");
    bool inner_soft = soft || expr->kind == Expr::Kind::kCondition;
    for (const ExprPtr& child : expr->children) MLC_RETURN_IF_ERROR(CheckExpr(child, inner_soft));
    for (const ExprPtr& child : expr->call.positional)
      MLC_RETURN_IF_ERROR(CheckExpr(child, inner_soft));
    for (const auto& [name, child] : expr->call.named)
      MLC_RETURN_IF_ERROR(CheckExpr(child, inner_soft));
    MLC_RETURN_IF_ERROR(CheckExpr(expr->call.star, inner_soft));
    return CheckExpr(expr->call.double_star, inner_soft);
  }
};

}  // namespace

Status CheckTemplate(const Block& block) { return Checker().CheckBlock(block, false, false); }

}  // namespace mlc::jinja
