// What a library says of a program: kernels, and the tensors that each is called with
// (ARCHITECTURE.md, "Programs").
#ifndef MLC_RUNTIME_PROGRAM_SPEC_H_
#define MLC_RUNTIME_PROGRAM_SPEC_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "runtime/tensor.h"

namespace mlc {

// In the place of a size's number: nothing of the tensor depends on the run.
constexpr int kFixedSize = -2;

// A tensor whose first extent is the run-time size number `size`.
struct RowsSpec {
  int size = 0;
  Shape row;  // the other extents; all of a tensor of kFixedSize
  DType dtype = DType::kFloat32;
  int buffer = 0;  // of a temporary: where it lies

  int64_t row_bytes() const { return *TensorBytes(row, dtype); }
};

struct ProgramSpec {
  enum class Kind { kInput, kWeight, kPages, kConstant, kTemporary, kState };
  struct Name {
    Kind kind;
    int index;
  };
  struct Call {
    std::string kernel;
    std::vector<Name> arguments;
  };
  struct Buffer {
    int size = 0;
    int64_t bytes = 0;  // for each unit of that size; all of kFixedSize
  };

  int num_sizes = 0;
  std::vector<RowsSpec> inputs, temporaries;
  std::vector<Buffer> buffers;
  std::vector<Call> calls;
  int result = 0;  // a temporary

  // Whether names are in bounds. `weights`, ...: how many there are.
  Status Check(int weights, int pages, int constants, int states) const;
};

// A program of `_programs`; every size is that of an input, every temporary fits its buffer.
Result<ProgramSpec> ParseProgram(const Json& json);

}  // namespace mlc

#endif  // MLC_RUNTIME_PROGRAM_SPEC_H_
