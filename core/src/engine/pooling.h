// Makes one vector from the hidden states of a text.
//
// Sums are float64, in the order of the rows. So a vector depends only on the text, and not on the
// steps or on other requests in them.
#pragma once

#include <vector>

#include "engine/request.h"

namespace mlc {

class Pooler {
 public:
  explicit Pooler(Pooling pooling) : pooling_(pooling) {}

  // Whether every row is read. Otherwise only the last row of the text is read.
  bool reads_all() const { return pooling_ != Pooling::kLast; }
  // Adds the next rows that are read: [num_rows, hidden_size].
  void Add(const float* rows, int num_rows, int hidden_size);
  // The vector of the rows so far: [hidden_size].
  std::vector<double> Vector() const;
  // Forgets all rows, because the text is computed again.
  void Reset() { *this = Pooler(pooling_); }

 private:
  Pooling pooling_;
  std::vector<double> sums_;
  int num_rows_ = 0;
};

}  // namespace mlc
