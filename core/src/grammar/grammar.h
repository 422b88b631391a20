// Grammars that an answer must follow. A grammar is compiled once for each tokenizer and source,
// and matched token by token.
//
//   GrammarCompiler compiler(tokenizer, vocab_size, stop_token_ids);
//   MLC_ASSIGN_OR_RETURN(Grammar grammar, compiler.CompileJsonSchema(schema));
//   MLC_RETURN_IF_ERROR(grammar.Prepare());  // may be slow: call it on a thread that may wait
//   GrammarMatcher matcher(grammar);
//   matcher.FillMask(&mask);                 // which tokens may come next
//   matcher.Accept(token);
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace mlc {

// A keyword of a schema that cannot be enforced is an error (strict) or a warning (lenient).
enum class Strictness { kStrict, kLenient };

// A keyword of a schema that the grammar leaves out.
struct SchemaWarning {
  std::string path;  // the keyword's JSON pointer
  std::string message;
  std::string param = "";  // the field of the request that holds the schema
};

// A shared handle to a grammar. It is compiled by Prepare.
class Grammar {
 public:
  class Impl;
  explicit Grammar(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  // Whether Prepare returns at once.
  bool ready() const;
  // Compiles the grammar, or waits for the thread that compiles it. A source is compiled once for
  // all handles. May be called from any thread. Errors are kInvalidArgument; kCancelled if the flag
  // is set before the end: then the next call compiles it.
  Status Prepare(const std::atomic<bool>* is_cancelled = nullptr) const;
  // The same grammar; its errors name the field `place` of a request.
  Grammar For(std::string place) const;
  // The keywords of its schemas that it does not enforce; none when strict.
  std::vector<SchemaWarning> warnings() const;
  const std::string& place() const { return place_; }
  // The same grammar with other warnings.
  Grammar WithWarnings(std::vector<SchemaWarning> warnings) const;
  // The memory that it takes; 0 before it is compiled.
  int64_t memory_bytes() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
  std::string place_;
  std::optional<std::vector<SchemaWarning>> warnings_;
};

// Makes grammars and keeps the compiled ones; it drops the least recently used first. May be called
// from several threads at once. Each Compile... reads its source in time linear in its length. It
// refuses a source that is wrong, too large or cannot be enforced (kInvalidArgument). Prepare then
// compiles the grammar.
class GrammarCompiler {
 public:
  // Stop tokens are allowed when the grammar is complete. Special tokens in `marker_ids` are
  // allowed where a structural tag names them as tokens. Other special tokens are never allowed.
  // The tokenizer must live until the last Prepare has returned.
  GrammarCompiler(const Tokenizer& tokenizer, int vocab_size,
                  const std::vector<int32_t>& stop_token_ids,
                  const std::vector<int32_t>& marker_ids = {});
  ~GrammarCompiler();

  // Any JSON object.
  Result<Grammar> CompileJsonObject();
  // JSON that is valid under a schema (JSON text). Errors begin with the JSON pointer of the
  // keyword that is wrong or cannot be enforced (grammar/schema/keywords).
  Result<Grammar> CompileJsonSchema(const std::string& schema,
                                    Strictness strictness = Strictness::kStrict);
  // Text that a regular expression of ECMAScript's syntax matches as a whole.
  Result<Grammar> CompileRegex(const std::string& regex);
  // Text of the rule `root` of an EBNF grammar (GBNF's notation).
  Result<Grammar> CompileEbnf(const std::string& grammar);
  // Text with tagged parts: {"type": "structural_tag", "format": {...}}, as xgrammar defines it.
  // The schemas in it are enforced like those of CompileJsonSchema.
  Result<Grammar> CompileStructuralTag(const std::string& tag_json,
                                       Strictness strictness = Strictness::kStrict);

  struct Stats {
    int64_t compiled = 0;  // by Prepare
    int64_t found = 0;     // requests that found a kept grammar
    int64_t kept = 0;      // kept now
    int64_t kept_bytes = 0;
  };
  Stats stats() const;

 private:
  struct Cache;
  std::shared_ptr<Cache> cache_;
};

// The position of one answer in its grammar, which must be prepared. Each call takes bounded work
// and memory. When a bound is reached, nothing more is accepted and FillMask says why.
class GrammarMatcher {
 public:
  explicit GrammarMatcher(const Grammar& grammar);
  ~GrammarMatcher();
  GrammarMatcher(GrammarMatcher&&) noexcept;
  GrammarMatcher& operator=(GrammarMatcher&&) noexcept;

  // One bit per token, low bits first, resized to the vocabulary. Do not call it after finished().
  Status FillMask(std::vector<int32_t>* mask);
  // False for a token that the grammar does not allow; then nothing changes.
  bool Accept(int32_t token);
  // Undoes the last `num_tokens` accepted tokens.
  void Rollback(int num_tokens);
  // Nothing can follow: a stop token was accepted, or the text is complete and there are no stop
  // tokens.
  bool finished() const;
  // The text that must come next, or its first 64 bytes. It may be split into tokens in any way. ""
  // when there is a choice.
  std::string ForcedText();
  // A copy at the same position, independent from this one.
  GrammarMatcher Fork() const;

 private:
  struct Impl;
  explicit GrammarMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc
