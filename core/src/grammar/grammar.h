// Grammars that an answer must follow: compiled once a tokenizer and source, matched token by
// token.
//
//   GrammarCompiler compiler(tokenizer, vocab_size, stop_token_ids);
//   MLC_ASSIGN_OR_RETURN(Grammar grammar, compiler.CompileJsonSchema(schema));
//   MLC_RETURN_IF_ERROR(grammar.Prepare());  // takes its time: on a thread that may wait
//   GrammarMatcher matcher(grammar);
//   matcher.FillMask(&mask);                 // which tokens may come next
//   matcher.Accept(token);
#ifndef MLC_GRAMMAR_GRAMMAR_H_
#define MLC_GRAMMAR_GRAMMAR_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "text/tokenizer.h"

namespace mlc {

// What becomes of keywords of a schema that no grammar can say: an error, or a warning.
enum class Strictness { kStrict, kLenient };

// What a grammar made of a schema leaves out.
struct SchemaWarning {
  std::string path;  // the keyword's JSON pointer
  std::string message;
  std::string param = "";  // the field of the request that holds the schema
};

// A shared handle to a grammar that is compiled, or can be.
class Grammar {
 public:
  class Impl;
  explicit Grammar(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

  // Whether Prepare returns at once.
  bool ready() const;
  // Compiles it, or waits for the thread that does; once for all handles of a source. May be
  // called from any thread. Errors are kInvalidArgument.
  Status Prepare() const;
  // The same grammar, whose errors name the field `place` of a request.
  Grammar For(std::string place) const;
  // What its schemas say and it does not hold to; none when strict.
  std::vector<SchemaWarning> warnings() const;
  // The same grammar, with warnings of its maker's.
  Grammar WithWarnings(std::vector<SchemaWarning> warnings) const;
  // Takes memory of that much; 0 before it is compiled.
  int64_t memory_bytes() const;

  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<Impl> impl_;
  std::string place_;
  std::optional<std::vector<SchemaWarning>> warnings_;
};

// Keeps what was compiled, the longest unused first to go. May be called from several threads at
// once. Each Compile... reads its source, in time linear in its length, and refuses what is wrong,
// too large or cannot be enforced (kInvalidArgument); the grammar is then made by Prepare.
class GrammarCompiler {
 public:
  // Stop tokens are allowed where the grammar is complete; special tokens among `marker_ids` where
  // a structural tag names them as tokens; other special tokens never. The tokenizer must live
  // until the last Prepare has returned.
  GrammarCompiler(const Tokenizer& tokenizer, int vocab_size,
                  const std::vector<int32_t>& stop_token_ids,
                  const std::vector<int32_t>& marker_ids = {});
  ~GrammarCompiler();

  // Any JSON object.
  Result<Grammar> CompileJsonObject();
  // JSON that a schema (JSON text) admits. Errors begin with the JSON pointer of the keyword that
  // is wrong or cannot be enforced (grammar/schema/keywords).
  Result<Grammar> CompileJsonSchema(const std::string& schema,
                                    Strictness strictness = Strictness::kStrict);
  // Text that a regular expression of ECMAScript's syntax matches as a whole.
  Result<Grammar> CompileRegex(const std::string& regex);
  // Text that an EBNF grammar (GBNF's notation) derives from its rule `root`.
  Result<Grammar> CompileEbnf(const std::string& grammar);
  // Text with tagged stretches of a shape: {"type": "structural_tag", "format": {...}}, as xgrammar
  // defines it. The schemas in it are held to as CompileJsonSchema does.
  Result<Grammar> CompileStructuralTag(const std::string& tag_json,
                                       Strictness strictness = Strictness::kStrict);

  struct Stats {
    int64_t compiled = 0;  // by Prepare
    int64_t found = 0;     // asked for and known already
    int64_t kept = 0;      // at present
    int64_t kept_bytes = 0;
  };
  Stats stats() const;

 private:
  struct Cache;
  std::shared_ptr<Cache> cache_;
};

// Where one answer stands in its grammar, which must be prepared.
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
  // The text that must come next, or its beginning, however it is cut; "" when there is a choice.
  std::string ForcedText();
  // One that stands at the same place and goes its own way.
  GrammarMatcher Fork() const;

 private:
  struct Impl;
  explicit GrammarMatcher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc

#endif  // MLC_GRAMMAR_GRAMMAR_H_
