#include "engine/pooling.h"

#include <algorithm>

namespace mlc {

void Pooler::Add(const float* rows, int num_rows, int hidden_size) {
  if (pooling_ == Pooling::kCls) num_rows = num_rows_ == 0 ? std::min(num_rows, 1) : 0;
  sums_.resize(static_cast<size_t>(hidden_size));
  for (int row = 0; row < num_rows; ++row) {
    for (double& sum : sums_) sum += *rows++;
  }
  num_rows_ += num_rows;
}

std::vector<double> Pooler::Vector() const {
  std::vector<double> vector = sums_;
  for (double& value : vector) value /= num_rows_;
  return vector;
}

}  // namespace mlc
