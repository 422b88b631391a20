#include "chat/answer/rerank_writer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "chat/answer/answer_parts.h"
#include "chat/request/rerank_builder.h"

namespace mlc {

RerankWriter::RerankWriter(const protocol::RerankRequest& request, std::string model)
    : num_results_(request.documents.size()),
      num_unfinished_(request.documents.size()),
      is_raw_(request.raw_scores) {
  if (request.return_documents) documents_ = request.documents;
  if (request.top_n) {
    num_results_ = std::min(num_results_, static_cast<size_t>(*request.top_n));
  }
  AnswerHead head("rerank-", std::move(model));
  whole_.id = head.id;
  whole_.model = head.model;
  whole_.results.resize(request.documents.size());
}

void RerankWriter::Collect(size_t document, const RequestEvent& event) {
  if (!event.finished) return;
  double score = event.embedding[0];
  protocol::RerankResult& result = whole_.results[document];
  result.index = static_cast<int64_t>(document);
  result.relevance_score = is_raw_ ? score : 1 / (1 + std::exp(-score));
  whole_.usage.prompt_tokens += event.usage.prompt_tokens;
  whole_.usage.total_tokens = whole_.usage.prompt_tokens;
  --num_unfinished_;
}

protocol::RerankResponse RerankWriter::Whole() const {
  protocol::RerankResponse answer = whole_;
  std::stable_sort(answer.results.begin(), answer.results.end(),
                   [](const protocol::RerankResult& a, const protocol::RerankResult& b) {
                     return a.relevance_score > b.relevance_score;
                   });
  answer.results.resize(num_results_);
  if (documents_.empty()) return answer;
  for (protocol::RerankResult& result : answer.results) {
    result.document.emplace().text = TextOf(documents_[static_cast<size_t>(result.index)]);
  }
  return answer;
}

}  // namespace mlc
