#include "text/tokenizer.h"

#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "text/added_tokens.h"
#include "text/decoder.h"
#include "text/json_view.h"
#include "text/model.h"
#include "text/normalizer.h"
#include "text/post_processor.h"
#include "text/pre_tokenizer.h"

namespace mlc {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30;

Status TooManyTokens() {
  return ResourceExhausted("the text has too many tokens").WithReason(Reason::kTooManyTokens);
}

}  // namespace

struct Tokenizer::Impl {
  std::unique_ptr<TokenModel> model;
  std::unique_ptr<Normalizer> normalizer;       // may be null
  std::unique_ptr<PreTokenizer> pre_tokenizer;  // may be null
  AddedTokens added_tokens;
  PostProcessor post_processor;
  DecodeChain decode_chain;
  // Indexed by id, for all ids below vocab_size().
  std::vector<std::string> tokens, bytes;
  std::vector<bool> exists, special;

  Status Read(const JsonView& file);
  void IndexIds();
  // Whether the pieces certainly have more than `max_tokens` tokens, before they are divided
  // further.
  bool MustExceed(const std::vector<Piece>& pieces, size_t max_tokens) const;
  Status CheckPostProcessor(const JsonView& file) const;
};

Status Tokenizer::Impl::Read(const JsonView& file) {
  if (file.Optional("version")) {
    MLC_ASSIGN_OR_RETURN(std::string version, file.String("version"));
    if (version != "1.0") return file.NotOffered("the version \"" + version + "\" is not known");
  }
  MLC_ASSIGN_OR_RETURN(JsonView model_view, file.Member("model"));
  MLC_ASSIGN_OR_RETURN(model, TokenModel::FromJson(model_view));
  if (std::optional<JsonView> view = file.Optional("normalizer")) {
    MLC_ASSIGN_OR_RETURN(normalizer, Normalizer::FromJson(*view));
  }
  if (std::optional<JsonView> view = file.Optional("pre_tokenizer")) {
    MLC_ASSIGN_OR_RETURN(pre_tokenizer, PreTokenizer::FromJson(*view));
  }
  MLC_ASSIGN_OR_RETURN(added_tokens,
                       AddedTokens::FromJson(file, model->vocabulary(), normalizer.get()));
  MLC_ASSIGN_OR_RETURN(post_processor, PostProcessor::FromJson(file));
  MLC_ASSIGN_OR_RETURN(decode_chain, DecodeChain::FromJson(file));
  IndexIds();
  return CheckPostProcessor(file);
}

void Tokenizer::Impl::IndexIds() {
  size_t size = 1 + std::max(model->vocabulary().max_id(), added_tokens.max_id());
  tokens.resize(size);
  bytes.resize(size);
  exists.resize(size);
  special.resize(size);
  for (size_t id = 0; id < size; ++id) {
    const std::string* token = added_tokens.IdToToken(static_cast<int32_t>(id));
    if (token == nullptr) token = model->vocabulary().IdToToken(static_cast<int32_t>(id));
    if (token == nullptr) continue;
    exists[id] = true;
    tokens[id] = *token;
    bytes[id] = decode_chain.InsideText(*token);
    special[id] = added_tokens.IsSpecial(*token);
  }
}

// Checks that every id is a token: the model has no embedding row for another id.
Status Tokenizer::Impl::CheckPostProcessor(const JsonView& file) const {
  for (int32_t id : post_processor.SpecialIds()) {
    if (static_cast<size_t>(id) < exists.size() && exists[id]) continue;
    MLC_ASSIGN_OR_RETURN(JsonView place, file.Member("post_processor"));
    return place.Bad("adds the id " + std::to_string(id) + ", which no token has");
  }
  return Status();
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::unique_ptr<Tokenizer>> Tokenizer::FromJson(std::string_view tokenizer_json) {
  Result<Json> json = Json::Parse(tokenizer_json);
  if (!json.ok()) {  // the message may quote the wrong bytes
    return InvalidArgument("tokenizer.json: " + RepairUtf8(json.status().message()));
  }
  auto impl = std::make_unique<Impl>();
  MLC_RETURN_IF_ERROR(impl->Read(JsonView(*json)));
  return std::unique_ptr<Tokenizer>(new Tokenizer(std::move(impl)));
}

bool Tokenizer::Impl::MustExceed(const std::vector<Piece>& pieces, size_t max_tokens) const {
  size_t most_bytes = model->MostBytesOfToken();
  if (max_tokens == SIZE_MAX || most_bytes == 0) return false;
  if (pre_tokenizer != nullptr && !pre_tokenizer->KeepsText()) return false;
  size_t tokens = 0;
  for (const Piece& piece : pieces) {
    tokens += piece.id >= 0 ? 1 : (piece.text.size() + most_bytes - 1) / most_bytes;
  }
  return tokens > max_tokens;
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                               bool add_special_tokens) const {
  EncodeOptions options;
  options.add_special_tokens = add_special_tokens;
  return Encode(text, options);
}

std::string Tokenizer::MarkSpecialTokens(std::string_view text, std::string_view mark,
                                         const std::vector<int32_t>& shown) const {
  return impl_->added_tokens.MarkSpecial(text, mark, shown);
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  if (text.size() > kMaxTextBytes) return ResourceExhausted("the text is over 1 GiB");
  std::string repaired;
  if (!IsValidUtf8(text)) text = repaired = RepairUtf8(text);
  std::vector<Piece> pieces;
  MLC_RETURN_IF_ERROR(
      impl_->added_tokens.Split(text, impl_->normalizer.get(), &pieces, options.mark));
  if (impl_->MustExceed(pieces, options.max_tokens)) return TooManyTokens();
  if (impl_->pre_tokenizer) MLC_RETURN_IF_ERROR(impl_->pre_tokenizer->Apply(&pieces));
  std::vector<int32_t> ids;
  for (const Piece& piece : pieces) {
    if (piece.id >= 0) {
      ids.push_back(piece.id);
    } else if (!piece.text.empty()) {
      MLC_RETURN_IF_ERROR(impl_->model->Tokenize(piece.text, &ids));
    }
    if (ids.size() > options.max_tokens) return TooManyTokens();
  }
  return impl_->post_processor.Apply(ids, options.add_special_tokens);
}

TokenPair Tokenizer::Pair(const std::vector<int32_t>& first,
                          const std::vector<int32_t>& second) const {
  return impl_->post_processor.ApplyPair(first, second);
}

std::string Tokenizer::Decode(const std::vector<int32_t>& ids, bool skip_special_tokens) const {
  DecodeChain chain = impl_->decode_chain;
  for (int32_t id : ids) {
    if (!HasToken(id) || (skip_special_tokens && IsSpecial(id))) continue;
    chain.PutToken(impl_->tokens[id]);
  }
  chain.Finish();
  return chain.Take();
}

int32_t Tokenizer::vocab_size() const { return static_cast<int32_t>(impl_->tokens.size()); }

std::optional<int32_t> Tokenizer::TokenToId(std::string_view token) const {
  std::optional<int32_t> id = impl_->added_tokens.TokenToId(std::string(token));
  return id ? id : impl_->model->vocabulary().TokenToId(token);
}

const std::string& Tokenizer::IdToToken(int32_t id) const {
  static const std::string* const kEmpty = new std::string;
  return id >= 0 && id < vocab_size() ? impl_->tokens[id] : *kEmpty;
}

const std::string& Tokenizer::TokenBytes(int32_t id) const {
  static const std::string* const kEmpty = new std::string;
  return id >= 0 && id < vocab_size() ? impl_->bytes[id] : *kEmpty;
}

bool Tokenizer::HasToken(int32_t id) const {
  return id >= 0 && id < vocab_size() && impl_->exists[id];
}

bool Tokenizer::IsSpecial(int32_t id) const { return HasToken(id) && impl_->special[id]; }

const DecodeChain& Tokenizer::decode_chain() const { return impl_->decode_chain; }

}  // namespace mlc
