// Grammars that an answer must follow: compiled once a tokenizer and schema, matched token by
// token.
//
//   GrammarCompiler compiler(tokenizer, vocab_size, stop_token_ids);
//   MLC_ASSIGN_OR_RETURN(Grammar grammar, compiler.CompileJsonSchema(schema));
//   GrammarMatcher matcher(grammar);
//   matcher.FillMask(&mask);                 // which tokens may come next
//   matcher.Accept(token);
#ifndef MLC_GRAMMAR_GRAMMAR_H_
#define MLC_GRAMMAR_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace mlc {

// A shared handle to a compiled grammar.
class Grammar {
 public:
  struct Impl;
  explicit Grammar(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

// Keeps what it compiled. May be called from several threads at once. Errors are kInvalidArgument
// with the reason: what is wrong, too large or cannot be enforced.
class GrammarCompiler {
 public:
  // Stop tokens are allowed where the grammar is complete; special tokens among `marker_ids` where
  // a structural tag names them as tokens; other special tokens never.
  GrammarCompiler(const Tokenizer& tokenizer, int vocab_size,
                  const std::vector<int32_t>& stop_token_ids,
                  const std::vector<int32_t>& marker_ids = {});
  ~GrammarCompiler();

  // Any JSON object.
  Result<Grammar> CompileJsonObject();
  // JSON that a schema (JSON text) admits.
  Result<Grammar> CompileJsonSchema(const std::string& schema);
  // Text that a regular expression of ECMAScript's syntax matches as a whole.
  Result<Grammar> CompileRegex(const std::string& regex);
  // Text that an EBNF grammar (GBNF's notation) derives from its rule `root`.
  Result<Grammar> CompileEbnf(const std::string& grammar);
  // Text with tagged stretches of a shape: {"type": "structural_tag", "format": {...}}, as xgrammar
  // defines it.
  Result<Grammar> CompileStructuralTag(const std::string& tag_json);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Where one answer stands in its grammar.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(const Grammar& grammar);
  ~GrammarMatcher();
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;

  // One bit a token, low bits first, resized to the vocabulary. Not once finished().
  Status FillMask(std::vector<int32_t>* mask);
  // False (and nothing changed) for a token that the grammar does not allow.
  bool Accept(int32_t token);
  // Takes the last tokens back that were accepted.
  void Rollback(int num_tokens);
  // Nothing can follow: a stop token was accepted or, where there are none, the text is complete.
  bool finished() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_GRAMMAR_H_
