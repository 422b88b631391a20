#include "sampling/logit_processor.h"

#include <cmath>
#include <limits>

namespace mlc {

Status LogitProcessorFailed(const std::string& message) {
  return InvalidArgument("the request's logit processor " + message)
      .WithParam("logit_processor")
      .WithReason(Reason::kLogitProcessorFailed);
}

Status RunLogitProcessor(const LogitProcessor& processor, const std::vector<int32_t>& tokens,
                         int num_prompt, float* logits, int vocab_size) {
  MLC_RETURN_IF_ERROR(processor(tokens, num_prompt, logits, vocab_size));
  bool is_possible = false;
  for (int i = 0; i < vocab_size; ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) {
      return LogitProcessorFailed("made the logit of token " + std::to_string(i) +
                                  " NaN or infinite");
    }
    is_possible = is_possible || std::isfinite(logits[i]);
  }
  return is_possible ? Status() : LogitProcessorFailed("left no token that may be chosen");
}

}  // namespace mlc
