// Turns the scores of documents into the answer to a rerank request: the best first.
#pragma once

#include <string>
#include <vector>

#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

// One answer about several documents. Not thread-safe.
class RerankWriter {
 public:
  RerankWriter(const protocol::RerankRequest& request, std::string model);

  // Takes the last event of a document that succeeded. Its vector is one score.
  void Collect(size_t document, const RequestEvent& event);
  bool finished() const { return num_unfinished_ == 0; }
  // Valid when every document has finished. Documents of the same score stay in their order.
  protocol::RerankResponse Whole() const;

 private:
  std::vector<protocol::RerankInput> documents_;  // empty: they are not wanted
  size_t num_results_, num_unfinished_;
  bool is_raw_;
  protocol::RerankResponse whole_;  // its results are in the order of the documents
};

}  // namespace mlc
