// Turns the engine's vectors into OpenAI's embeddings: shortened, scaled to length 1, as numbers or
// base64.
#pragma once

#include <string>
#include <vector>

#include "chat/protocol/protocol.gen.h"
#include "engine/request.h"

namespace mlc {

// The first `dimensions` numbers (0: all), scaled to length 1 if `normalize`. A vector of zeros
// stays unchanged.
std::vector<float> FinishVector(std::vector<double> vector, int64_t dimensions, bool normalize);

// One answer to several texts. Not thread-safe.
class EmbeddingWriter {
 public:
  // `normalize`: whether the model's vectors are scaled to length 1.
  EmbeddingWriter(const protocol::EmbeddingRequest& request, size_t num_texts, std::string model,
                  bool normalize);

  // Takes the last event of a text that succeeded.
  void Collect(size_t text, const RequestEvent& event);
  bool finished() const { return num_unfinished_ == 0; }
  // Valid when every text has finished.
  const protocol::EmbeddingResponse& Whole() const { return whole_; }

 private:
  size_t num_unfinished_;
  int64_t dimensions_;
  bool is_base64_, normalize_;
  protocol::EmbeddingResponse whole_;
};

}  // namespace mlc
