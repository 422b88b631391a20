// The tokens that end the repetitions which DRY counts (sampling/dry.h), from the texts of a
// request.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace mlc {

// Keeps the last answer, because a look at all tokens takes milliseconds. Every method may be
// called from any thread.
class DryBreakers {
 public:
  // By token id: special tokens, tokens that contain one of the texts, and for a text that is in no
  // single token the last one of its tokens.
  std::shared_ptr<const std::vector<bool>> Find(const Tokenizer& tokenizer,
                                                const std::vector<std::string>& texts);

 private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
  std::shared_ptr<const std::vector<bool>> tokens_;  // of `texts_`; null: of none yet
};

}  // namespace mlc
