// A library's description of a program: its kernels, and the tensors for each call
// (docs/model-library.md, "Programs").
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "runtime/input_spec.h"
#include "runtime/tensor.h"

namespace mlc {

// Instead of the index of a size: the tensor has the same shape in every run.
constexpr int kFixedSize = -2;

// A tensor whose first extent is the run-time size with index `size`.
struct RowsSpec {
  int size = 0;
  Shape row;  // the other extents; all extents if kFixedSize
  DType dtype = DType::kFloat32;
  int buffer = 0;  // for a temporary: the buffer that contains it

  int64_t row_bytes() const { return *TensorBytes(row, dtype); }
};

struct ProgramSpec {
  enum class Kind { kInput, kWeight, kPages, kConstant, kTemporary, kState, kAdapter };
  struct Name {
    Kind kind;
    int index;
    bool must_be_empty = false;  // no argument: the call runs only if it has no rows
  };
  struct Call {
    std::string kernel;
    std::vector<Name> arguments;
  };
  struct Buffer {
    int size = 0;
    int64_t bytes = 0;  // for each unit of `size`; all bytes if kFixedSize
  };

  int num_sizes = 0;
  std::vector<RowsSpec> inputs, temporaries;
  std::vector<InputSpec> named;  // the inputs again, as the function's arguments
  std::vector<Buffer> buffers;
  std::vector<Call> calls;
  std::vector<std::pair<std::string, int>> results;  // by name: the index of a temporary

  // Whether names are in bounds. `weights`, ...: how many there are.
  Status Check(int weights, int pages, int constants, int states, int adapters) const;
};

// Reads a program of `_programs`. Checks that every size is the size of an input, and that every
// temporary fits its buffer.
Result<ProgramSpec> ParseProgram(const Json& json);

}  // namespace mlc
