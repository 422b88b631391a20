// What followed the last tokens in earlier texts, of all requests of an engine: a hash table of
// fixed size from an n-gram to the next token, after llama.cpp's `ngram-mod`. It needs no text to
// be kept: one entry is 4 bytes, a newer text overwrites an older one, and a wrong guess only costs
// a row, because the model checks it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/drafts.h"

namespace mlc {

class NgramTable {
 public:
  // The lengths of the n-grams, the longest first.
  static constexpr int kLengths[] = {8, 4};
  static constexpr int kIndexBits = 22;
  static constexpr int64_t kBytes = int64_t{sizeof(uint32_t)} << kIndexBits;

  // Learns which token follows the n-gram before it, for the tokens from `begin` on. An id below
  // zero is not a token.
  void Learn(const std::vector<int32_t>& tokens, int begin);

  // A chain of at most `max_drafts` tokens that follow `tokens`, each behind the longest n-gram
  // that is known. None unless an n-gram longer than `longer_than` is known now.
  Drafts LookUp(const std::vector<int32_t>& tokens, int max_drafts, int longer_than) const;

  // Forgets everything and frees the memory.
  void Clear() { entries_ = {}; }

 private:
  std::vector<uint32_t> entries_;  // a token and some bits of its n-gram's hash; 0: empty
};

}  // namespace mlc
