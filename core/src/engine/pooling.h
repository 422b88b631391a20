// One vector out of the hidden states of a text.
//
// Sums are float64 in the order of the rows: a vector depends on the text alone, not on how it was
// cut into steps nor on what ran beside it.
#ifndef MLC_ENGINE_POOLING_H_
#define MLC_ENGINE_POOLING_H_

#include <vector>

#include "engine/request.h"

namespace mlc {

class Pooler {
 public:
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}

  // Whether every row is read; else only the text's last one is.
  bool reads_all() const { return pooling_ == Pooling::kMean; }
  // The next rows that are read: [num_rows, hidden_size].
  void Add(const float* rows, int num_rows, int hidden_size);
  // What the rows so far give: [hidden_size].
  std::vector<double> Vector() const;
  // Forgets them: the text is computed again.
  void Reset() { *this = Pooler(pooling_); }

 private:
  Pooling pooling_;
  std::vector<double> sums_;
  int num_rows_ = 0;
};

}  // namespace mlc

#endif  // MLC_ENGINE_POOLING_H_
