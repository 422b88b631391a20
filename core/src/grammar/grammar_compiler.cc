// Reads the sources of grammars and keeps the compiled grammars.
#include <algorithm>
#include <exception>
#include <iterator>
#include <list>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "grammar/grammar_impl.h"
#include "grammar/schema/schema.h"
#include "grammar/structural_tag.h"
#include "grammar/text/regex_ebnf.h"

namespace mlc {
namespace {

constexpr int64_t kCacheBytes = 64 << 20;
// Of grammars that are not compiled, and of one beside its texts.
constexpr int64_t kUncompiledBytes = 8 << 20, kEntryBytes = 1 << 10;
constexpr size_t kMaxSchemaBytes = 2 << 20;
constexpr size_t kMaxGrammarBytes = 256 << 10;

Status CheckSize(const char* what, const std::string& text, size_t most) {
  if (text.size() <= most) return Status();
  return InvalidArgument(std::string(what) + " is longer than " + std::to_string(most) + " bytes");
}

std::string KeyOf(const char* kind, Strictness strictness, const std::string& source) {
  return std::string(kind) + (strictness == Strictness::kStrict ? " strict:" : ":") + source;
}

// Names in a schema may contain U+0000, which would end the message for callers in C.
Status Printable(const Status& status) {
  std::string message;
  for (char c : status.message()) message += c == '\0' ? std::string("\\u0000") : std::string(1, c);
  return Status(status.reason(), std::move(message));
}

// Mistakes in a grammar's text are found without compiling it.
Status ParseEbnf(const std::string& grammar, int vocab_size) {
  WorkLimit limit(kMostWork);
  try {
    (void)xgrammar::Grammar::FromEBNF(grammar);
  } catch (const xgrammar::LimitReached& reached) {
    return StatusOf(reached, vocab_size).In("cannot be enforced");
  } catch (const std::exception& error) {
    return InvalidArgument("cannot be enforced: " + LibraryMessage(error.what()));
  }
  return Status();
}

}  // namespace

// By kind and source, in the order of their last use.
struct GrammarCompiler::Cache : std::enable_shared_from_this<Cache> {
  struct Entry {
    std::string key;
    std::shared_ptr<Grammar::Impl> grammar;
    int64_t bytes = 0;  // of its key and its grammar, as counted last
  };
  using Entries = std::list<Entry>;

  explicit Cache(std::shared_ptr<GrammarBackend> b) : backend(std::move(b)) {}

  std::optional<Grammar> Find(const std::string& key) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = by_key.find(key);
    if (found == by_key.end()) return std::nullopt;
    entries.splice(entries.begin(), entries, found->second);
    ++stats.found;
    return Grammar(entries.front().grammar);
  }

  // If another thread has added the same source, its entry is used.
  Grammar Add(const std::string& key, GrammarSource source) {
    std::lock_guard<std::mutex> lock(mutex);
    auto found = by_key.find(key);
    if (found != by_key.end()) return Grammar(found->second->grammar);
    LimitUncompiled();
    auto bytes = static_cast<int64_t>(3 * key.size() + source.text.size()) + kEntryBytes;
    auto done = [weak = weak_from_this(), key](const Grammar::Impl& grammar) {
      if (std::shared_ptr<Cache> cache = weak.lock()) cache->Done(key, grammar);
    };
    auto grammar = std::make_shared<Grammar::Impl>(backend, std::move(source), done);
    entries.push_front({key, grammar, bytes});
    by_key[key] = entries.begin();
    return Grammar(std::move(grammar));
  }

  void Done(const std::string& key, const Grammar::Impl& grammar) {
    std::lock_guard<std::mutex> lock(mutex);
    ++stats.compiled;
    auto found = by_key.find(key);
    if (found == by_key.end() || found->second->grammar.get() != &grammar) return;
    if (grammar.compiled() == nullptr) Forget(found->second);
    int64_t kept = CountBytes();
    // Keeps grammars that are not compiled yet: LimitUncompiled looks after these.
    for (auto last = entries.end(); kept > kCacheBytes && last != entries.begin();) {
      --last;
      if (!last->grammar->ready()) continue;
      kept -= last->bytes;
      last = Forget(last);
    }
  }

  // Of the compiled grammars, which grow when texts need more of their masks.
  int64_t CountBytes() {
    int64_t sum = 0;
    for (Entry& entry : entries) {
      if (!entry.grammar->ready()) continue;
      entry.bytes = static_cast<int64_t>(entry.key.size()) + entry.grammar->memory_bytes();
      sum += entry.bytes;
    }
    return sum;
  }

  // Of the grammars that nobody compiles: they were read to check a part of a request, or their
  // requests were refused or ended before.
  void LimitUncompiled() {
    int64_t kept = 0;
    for (auto entry = entries.begin(); entry != entries.end();) {
      bool is_unused = !entry->grammar->ready() && entry->grammar.use_count() == 1;
      kept += is_unused ? entry->bytes : 0;
      entry = is_unused && kept > kUncompiledBytes ? Forget(entry) : std::next(entry);
    }
  }

  Entries::iterator Forget(Entries::iterator entry) {
    by_key.erase(entry->key);
    return entries.erase(entry);
  }

  std::shared_ptr<GrammarBackend> backend;
  mutable std::mutex mutex;
  Entries entries;
  std::unordered_map<std::string, Entries::iterator> by_key;
  Stats stats;
};

GrammarCompiler::GrammarCompiler(const Tokenizer& tokenizer, int vocab_size,
                                 const std::vector<int32_t>& stop_token_ids,
                                 const std::vector<int32_t>& marker_ids)
    : cache_(std::make_shared<Cache>(
          std::make_shared<GrammarBackend>(tokenizer, vocab_size, stop_token_ids, marker_ids))) {}
GrammarCompiler::~GrammarCompiler() = default;

Result<Grammar> GrammarCompiler::CompileJsonObject() {
  return CompileJsonSchema("{\"type\":\"object\"}");
}

Result<Grammar> GrammarCompiler::CompileJsonSchema(const std::string& schema,
                                                   Strictness strictness) {
  MLC_RETURN_IF_ERROR(CheckSize("the schema", schema, kMaxSchemaBytes));
  std::string key = KeyOf("schema", strictness, schema);
  if (std::optional<Grammar> known = cache_->Find(key)) return *known;
  MLC_ASSIGN_OR_RETURN(Json document, Json::Parse(schema));
  GrammarSource source;
  Result<std::string> ebnf =
      JsonSchemaToEbnf(document, strictness, &source.warnings, &source.unique);
  if (!ebnf.ok()) return Printable(ebnf.status());
  source.text = std::move(ebnf).value();
  return cache_->Add(key, std::move(source));
}

Result<Grammar> GrammarCompiler::CompileRegex(const std::string& regex) {
  std::string key = "regex:" + regex;
  if (std::optional<Grammar> known = cache_->Find(key)) return *known;
  Result<std::string> ebnf = RegexToEbnf(regex);
  if (!ebnf.ok()) return InvalidArgument("cannot be enforced: " + ebnf.status().message());
  GrammarSource source;
  source.text = "root ::= " + *ebnf + "\n";
  return cache_->Add(key, std::move(source));
}

Result<Grammar> GrammarCompiler::CompileEbnf(const std::string& grammar) {
  MLC_RETURN_IF_ERROR(CheckSize("the grammar", grammar, kMaxGrammarBytes));
  std::string key = "ebnf:" + grammar;
  if (std::optional<Grammar> known = cache_->Find(key)) return *known;
  MLC_RETURN_IF_ERROR(CheckEbnf(grammar));
  MLC_RETURN_IF_ERROR(ParseEbnf(grammar, cache_->backend->vocab_size()));
  GrammarSource source;
  source.text = grammar;
  return cache_->Add(key, std::move(source));
}

Result<Grammar> GrammarCompiler::CompileStructuralTag(const std::string& tag_json,
                                                      Strictness strictness) {
  MLC_RETURN_IF_ERROR(CheckSize("the structural tag", tag_json, kMaxSchemaBytes));
  std::string key = KeyOf("tag", strictness, tag_json);
  if (std::optional<Grammar> known = cache_->Find(key)) return *known;
  GrammarSource source;
  source.kind = GrammarKind::kStructuralTag;
  Result<std::string> read = ReadStructuralTag(tag_json, strictness, &source.warnings);
  if (!read.ok()) return Printable(read.status());
  source.text = std::move(read).value();
  return cache_->Add(key, std::move(source));
}

GrammarCompiler::Stats GrammarCompiler::stats() const {
  std::lock_guard<std::mutex> lock(cache_->mutex);
  Stats stats = cache_->stats;
  stats.kept = static_cast<int64_t>(cache_->entries.size());
  stats.kept_bytes = cache_->CountBytes();
  return stats;
}

}  // namespace mlc
