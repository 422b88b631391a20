#include "chat/request/rerank_builder.h"

#include <algorithm>
#include <utility>

namespace mlc {
namespace {

// How many tokens a document may have beside the query. kInvalidArgument when none is left.
Result<size_t> RoomForDocument(const ModelBundle& model, size_t query_tokens) {
  auto longest = static_cast<size_t>(model.length_limit.tokens);
  if (longest == 0) return SIZE_MAX;
  size_t used = query_tokens + model.tokenizer->NumPairTokens();
  if (used < longest) return longest - used;
  return PromptTooLong(model.length_limit, std::to_string(query_tokens) + " tokens", "query");
}

Result<std::vector<int32_t>> ReadDocument(const ModelBundle& model,
                                          const protocol::RerankRequest& request, size_t index,
                                          size_t room) {
  std::string path = "documents[" + std::to_string(index) + "]";
  Result<std::vector<int32_t>> read = model.tokenizer->Encode(TextOf(request.documents[index]));
  if (!read.ok()) return Status(read.status()).WithParam(path);
  std::vector<int32_t> tokens = std::move(read).value();
  if (request.max_tokens_per_doc) {
    auto most = static_cast<size_t>(*request.max_tokens_per_doc);
    tokens.resize(std::min(tokens.size(), most));
  }
  if (tokens.size() > room && !request.truncate) {
    return InvalidArgument("'" + path + "' has " + std::to_string(tokens.size()) +
                           " tokens, and beside the query there is room for " +
                           std::to_string(room) + "; shorten it, or leave out 'truncate'")
        .WithParam(path)
        .WithReason(Reason::kContextLengthExceeded);
  }
  tokens.resize(std::min(tokens.size(), room));
  return tokens;
}

}  // namespace

const std::string& TextOf(const protocol::RerankInput& document) {
  return document.text() != nullptr ? *document.text() : document.document()->text;
}

Result<std::vector<TextRequest>> BuildRerank(const ModelBundle& model,
                                             const protocol::RerankRequest& request) {
  Result<std::vector<int32_t>> query = model.tokenizer->Encode(request.query);
  if (!query.ok()) return Status(query.status()).WithParam("query");
  MLC_ASSIGN_OR_RETURN(size_t room, RoomForDocument(model, query->size()));
  std::vector<TextRequest> requests;
  for (size_t i = 0; i < request.documents.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(std::vector<int32_t> document, ReadDocument(model, request, i, room));
    TokenPair pair = model.tokenizer->Pair(*query, document);
    TextRequest next;
    next.path = "documents[" + std::to_string(i) + "]";
    next.request.prompt = std::move(pair.ids);
    next.request.token_types = std::move(pair.types);
    next.request.pooling = model.config.embedding_pooling.value_or(Pooling::kCls);
    next.request.priority = static_cast<int>(request.priority.value_or(0));
    if (request.timeout_ms) next.request.timeout = std::chrono::milliseconds(*request.timeout_ms);
    requests.push_back(std::move(next));
  }
  return requests;
}

}  // namespace mlc
