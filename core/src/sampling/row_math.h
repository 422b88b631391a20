// Passes over one row of floats, as wide as the processor's vectors.
//
// The order of additions is fixed, 16 running sums folded every kChunk values: a result depends on
// the row alone, on every processor, on every thread.
#ifndef MLC_SAMPLING_ROW_MATH_H_
#define MLC_SAMPLING_ROW_MATH_H_

#include <cstdint>

namespace mlc {

constexpr int kRowBlock = 64;    // values that have one maximum in BlockMax
constexpr int kRowChunk = 1024;  // values whose sum is a float's; beyond that sums are doubles

struct RowMax {
  float value;
  int32_t index;  // the first of the largest; -1 when a value is not a number or all are -infinity
};
RowMax MaxOfRow(const float* row, int size);

// The maximum of each kRowBlock values: `out` [ceil(size / kRowBlock)]. No value may be NaN.
void BlockMax(const float* row, int size, float* out);

// weights[i] = exp((row[i] - max) * scale), within 2e-7 of it, and their sum. No value is above
// `max`; below e^-87 a weight is 0. `weights` may be `row`.
double ExpOfRow(const float* row, int size, float max, float scale, float* weights);

double SumOfRow(const float* row, int size);

// The values that are at least `bound` (finite), and the edge of both sides.
struct RowSplit {
  double sum = 0;  // of those at least `bound`
  int count = 0;   // of them
  float least;     // of them; +infinity without any
  float next;      // the largest of the others; -infinity without any
};
RowSplit SplitRow(const float* row, int size, float bound);

// The same passes for a processor that has the baseline's instructions alone, to compare with.
struct RowKernels {
  RowMax (*max)(const float*, int);
  void (*block_max)(const float*, int, float*);
  double (*exp)(const float*, int, float, float, float*);
  RowSplit (*split)(const float*, int, float);
  double (*sum)(const float*, int);
};
RowKernels BaselineKernels();

}  // namespace mlc

#endif  // MLC_SAMPLING_ROW_MATH_H_
