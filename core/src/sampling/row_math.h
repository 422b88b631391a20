// Passes over one row of floats, with the CPU's vector instructions.
//
// The order of additions is fixed: 16 running sums, which are added up every kRowChunk values. So a
// result depends only on the row, and not on the CPU or the number of threads.
#pragma once

#include <cstdint>

namespace mlc {

constexpr int kRowBlock = 64;    // BlockMax gives one maximum for each so many values
constexpr int kRowChunk = 1024;  // the sum of so many values is a float; longer sums are doubles

struct RowMax {
  float value;
  int32_t index;  // the first one if several are equal; -1 if a value is NaN or all are -infinity
};
RowMax MaxOfRow(const float* row, int size);

// The maximum of every kRowBlock values: `out` is [ceil(size / kRowBlock)]. No value may be NaN.
void BlockMax(const float* row, int size, float* out);

// Computes weights[i] = exp((row[i] - max) * scale), exact to 2e-7, and returns their sum. No value
// may be above `max`. A weight below e^-87 becomes 0. `weights` may be `row`.
double ExpOfRow(const float* row, int size, float max, float scale, float* weights);

double SumOfRow(const float* row, int size);

// The row divided into values of at least `bound` (finite) and smaller values.
struct RowSplit {
  double sum = 0;  // of the values that are at least `bound`
  int count = 0;   // how many these are
  float least;     // the smallest of them; +infinity if there are none
  float next;      // the largest of the others; -infinity if there are none
};
RowSplit SplitRow(const float* row, int size, float bound);

// The same passes compiled for the baseline instructions only, to compare results.
struct RowKernels {
  RowMax (*max)(const float*, int);
  void (*block_max)(const float*, int, float*);
  double (*exp)(const float*, int, float, float, float*);
  RowSplit (*split)(const float*, int, float);
  double (*sum)(const float*, int);
};
RowKernels BaselineKernels();

}  // namespace mlc
