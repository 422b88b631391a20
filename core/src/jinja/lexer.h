// Divides a template into tokens, with jinja2's rules for trim_blocks=True and lstrip_blocks=True.
//
// Line ends are normalized to "
// ", and one newline at the end of the template is removed. The text around tags is already trimmed
// in the kData tokens. Raw blocks are kData too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc::jinja {

enum class TokenType {
  kData,
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,    // text is the unescaped value
  kInteger,   // integer
  kFloat,     // number
  kOperator,  // text is the operator
  kEof,
};

struct Token {
  TokenType type = TokenType::kEof;
  int line = 1;
  std::string text;
  int64_t integer = 0;
  double number = 0;

  bool IsOperator(std::string_view op) const { return type == TokenType::kOperator && text == op; }
  bool IsName(std::string_view name) const { return type == TokenType::kName && text == name; }
  std::string Describe() const;  // text for error messages
};

// The last token is kEof. Errors name the line.
Result<std::vector<Token>> Tokenize(std::string_view source);

// The value of a string literal without its quotes, as Python's "unicode-escape" reads it.
Result<std::string> UnescapeLiteral(std::string_view body);

// Returns "chat template, line 12: message" as kInvalidArgument.
Status TemplateError(int line, const std::string& message);

}  // namespace mlc::jinja
