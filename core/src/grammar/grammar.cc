#include "grammar/grammar.h"

#include <dlpack/dlpack.h>
#include <xgrammar/xgrammar.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"

namespace mlc {
namespace {

// The library's message without the time and the place in its source that it begins with. It quotes
// the caller's text, now and then up to the middle of a character.
std::string WithoutPlace(const std::string& message) {
  size_t file = message.find(".cc:");
  size_t end = file == std::string::npos ? file : message.find(": ", file);
  return RepairUtf8(end == std::string::npos ? message : message.substr(end + 2));
}

constexpr int kCompileThreads = 2;
constexpr int64_t kCacheBytes = 64 << 20;
// The compiler takes quadratic time and recurses into the groups of a pattern.
constexpr size_t kMaxSchemaBytes = 64 << 10;
constexpr int64_t kMaxGroups = 512;

xgrammar::TokenizerInfo DescribeTokenizer(const Tokenizer& tokenizer, int vocab_size,
                                          const std::vector<int32_t>& stop_token_ids,
                                          const std::vector<int32_t>& marker_ids) {
  std::vector<std::string> bytes;
  for (int32_t id = 0; id < vocab_size; ++id) {
    bytes.push_back(tokenizer.IsSpecial(id) ? "" : tokenizer.TokenBytes(id));
  }
  // A token without bytes is never allowed. The first byte is none of UTF-8, so that no text is
  // taken for a marker.
  for (int32_t id : marker_ids) bytes[static_cast<size_t>(id)] = "\xff" + tokenizer.IdToToken(id);
  return xgrammar::TokenizerInfo(bytes, xgrammar::VocabType::RAW, vocab_size, stop_token_ids);
}

int64_t CountGroups(const std::string& text) { return std::count(text.begin(), text.end(), '('); }

// The opening parentheses of all texts, among which the patterns are.
int64_t CountGroups(const Json& json) {
  int64_t count = json.is_string() ? CountGroups(json.as_string()) : 0;
  if (json.is_array()) {
    for (const Json& item : json.as_array()) count += CountGroups(item);
  }
  if (json.is_object()) {
    for (const auto& [key, value] : json.as_object())
      count += CountGroups(key) + CountGroups(value);
  }
  return count;
}

Status CheckSchema(const std::string& schema) {
  auto refuse = [](const std::string& why) {
    return InvalidArgument("the schema cannot be enforced: " + why);
  };
  if (schema.size() > kMaxSchemaBytes) {
    return refuse("it is longer than " + std::to_string(kMaxSchemaBytes) + " bytes");
  }
  Result<Json> json = Json::Parse(schema);
  if (!json.ok()) return refuse(json.status().message());
  if (CountGroups(*json) > kMaxGroups) {
    return refuse("its patterns hold more than " + std::to_string(kMaxGroups) + " groups");
  }
  return Status();
}

Status CheckText(const std::string& what, const std::string& text) {
  if (text.size() > kMaxSchemaBytes) {
    return InvalidArgument(what + " is longer than " + std::to_string(kMaxSchemaBytes) + " bytes");
  }
  if (CountGroups(text) > kMaxGroups) {
    return InvalidArgument(what + " holds more than " + std::to_string(kMaxGroups) + " groups");
  }
  return Status();
}

}  // namespace

struct Grammar::Impl {
  xgrammar::CompiledGrammar compiled;
  int vocab_size;
};

struct GrammarCompiler::Impl {
  xgrammar::GrammarCompiler compiler;
  int vocab_size;

  template <typename Compile>
  Result<Grammar> Run(Compile&& compile) {
    try {
      return Grammar(std::make_shared<const Grammar::Impl>(Grammar::Impl{compile(), vocab_size}));
    } catch (const std::exception& error) {
      return InvalidArgument("cannot be enforced: " + WithoutPlace(error.what()));
    }
  }
};

GrammarCompiler::GrammarCompiler(const Tokenizer& tokenizer, int vocab_size,
                                 const std::vector<int32_t>& stop_token_ids,
                                 const std::vector<int32_t>& marker_ids)
    : impl_(new Impl{xgrammar::GrammarCompiler(
                         DescribeTokenizer(tokenizer, vocab_size, stop_token_ids, marker_ids),
                         kCompileThreads, /*cache_enabled=*/true, kCacheBytes),
                     vocab_size}) {}
GrammarCompiler::~GrammarCompiler() = default;

Result<Grammar> GrammarCompiler::CompileJsonObject() {
  return CompileJsonSchema("{\"type\":\"object\"}");
}

Result<Grammar> GrammarCompiler::CompileJsonSchema(const std::string& schema) {
  MLC_RETURN_IF_ERROR(CheckSchema(schema));
  return impl_->Run([&] { return impl_->compiler.CompileJSONSchema(schema); });
}

Result<Grammar> GrammarCompiler::CompileRegex(const std::string& regex) {
  MLC_RETURN_IF_ERROR(CheckText("the regular expression", regex));
  return impl_->Run([&] { return impl_->compiler.CompileRegex(regex); });
}

Result<Grammar> GrammarCompiler::CompileEbnf(const std::string& grammar) {
  MLC_RETURN_IF_ERROR(CheckText("the grammar", grammar));
  return impl_->Run([&] { return impl_->compiler.CompileGrammar(grammar); });
}

Result<Grammar> GrammarCompiler::CompileStructuralTag(const std::string& tag_json) {
  MLC_RETURN_IF_ERROR(CheckSchema(tag_json));
  return impl_->Run([&] { return impl_->compiler.CompileStructuralTag(tag_json); });
}

struct GrammarMatcher::Impl {
  xgrammar::GrammarMatcher matcher;
  int vocab_size;
};

GrammarMatcher::GrammarMatcher(const Grammar& grammar) {
  const xgrammar::CompiledGrammar& compiled = grammar.impl().compiled;
  // Without a stop token nothing could follow a complete text, and nothing would end it.
  bool ends_by_itself = compiled.GetTokenizerInfo().GetStopTokenIds().empty();
  impl_.reset(new Impl{xgrammar::GrammarMatcher(compiled, std::nullopt, ends_by_itself),
                       grammar.impl().vocab_size});
}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;
GrammarMatcher& GrammarMatcher::operator=(GrammarMatcher&&) noexcept = default;

Status GrammarMatcher::FillMask(std::vector<int32_t>* mask) {
  mask->assign(static_cast<size_t>((impl_->vocab_size + 31) / 32), 0);
  int64_t shape[] = {static_cast<int64_t>(mask->size())};
  DLTensor tensor{mask->data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, shape, nullptr, 0};
  try {
    bool is_needed = impl_->matcher.FillNextTokenBitmask(&tensor);
    if (!is_needed) mask->assign(mask->size(), -1);
  } catch (const std::exception& error) {
    return Internal("the grammar failed: " + WithoutPlace(error.what()));
  }
  return Status();
}

bool GrammarMatcher::Accept(int32_t token) {
  if (token < 0 || token >= impl_->vocab_size || finished()) return false;
  return impl_->matcher.AcceptToken(token);
}

void GrammarMatcher::Rollback(int num_tokens) {
  if (num_tokens > 0) impl_->matcher.Rollback(num_tokens);
}

bool GrammarMatcher::finished() const { return impl_->matcher.IsTerminated(); }

}  // namespace mlc
