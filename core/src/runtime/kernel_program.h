// A function of a model library as the core runs it: kernel after kernel, without TVM's virtual
// machine.
//
//   MLC_ASSIGN_OR_RETURN(auto program, KernelProgram::Load(library, "embed", weights, 0,
//   Device{})); ProgramInput tokens{ids.data(), 3}; float* rows = *program->Run(&tokens, 1); // [3,
//   width], until the next Run
//
// On a CPU the machine took a fifth of a decode step, for ten instructions and two allocations a
// kernel. Here the arguments of every call stand ready; a run writes pointers and sizes of a dozen
// tensors and calls. Temporaries lie in one piece of memory that is kept from run to run, so that a
// device that can may record the calls of a run and replay them as one in runs of the same sizes.
#ifndef MLC_RUNTIME_KERNEL_PROGRAM_H_
#define MLC_RUNTIME_KERNEL_PROGRAM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/model_library.h"
#include "runtime/tensor.h"

namespace mlc {

struct ProgramInput {
  const void* data = nullptr;
  int64_t size = 0;  // of the first dimension; the others are the program's
};

inline ProgramInput InputOf(const std::vector<int32_t>& values) {
  return {values.data(), static_cast<int64_t>(values.size())};
}

class KernelProgram {
 public:
  // How many tensors a model keeps between steps: of pages, and of recurrent states.
  struct Kept {
    size_t pages = 0, states = 0;
  };

  // The program of that function; null when the library has none. `weights` are all parameters,
  // in the library's order.
  static Result<std::unique_ptr<KernelProgram>> Load(const ModelLibrary& library,
                                                     const std::string& function,
                                                     const TensorList& weights, Kept kept,
                                                     Device device);
  ~KernelProgram();

  void SetPages(const std::vector<Tensor>& pages);
  void SetStates(const std::vector<Tensor>& states);

  // The result's first element; it may be written to and stays until the next Run. Inputs are
  // copied where they are not aligned to 64 bytes. Needs pages and states when the function does.
  // Errors: kInvalidArgument when sizes contradict each other; kResourceExhausted; what a kernel
  // says.
  Result<char*> Run(const ProgramInput* inputs, size_t num_inputs);
  // The same on any device: `inputs` are on the host, the result lies where the program runs.
  Result<Tensor> RunToTensor(const ProgramInput* inputs, size_t num_inputs);

 private:
  struct Impl;
  explicit KernelProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc

#endif  // MLC_RUNTIME_KERNEL_PROGRAM_H_
