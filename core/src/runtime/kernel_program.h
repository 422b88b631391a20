// A function of a model library that the core runs kernel by kernel, without TVM's virtual machine.
//
//   MLC_ASSIGN_OR_RETURN(auto program,
//                        KernelProgram::Load(library, "embed", weights, 0, Device{}));
//   ProgramInput tokens{ids.data(), 3};
//   MLC_RETURN_IF_ERROR(program->Run(&tokens, 1));
//   char* rows = program->data("embeddings");  // [3, width], valid until the next Run
//
// On a CPU the virtual machine took a fifth of a decode step: ten instructions and two allocations
// for each kernel. Here the arguments of every call are prepared. A run sets the pointers and sizes
// of a dozen tensors, and calls the kernels. Temporaries stay in the same memory
// (program_memory.h), so a device that can record launches replays them in later runs of the same
// sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/input_spec.h"
#include "runtime/model_library.h"
#include "runtime/program_input.h"
#include "runtime/tensor.h"

namespace mlc {

class KernelProgram {
 public:
  // How many tensors a model keeps between steps: of pages, of recurrent states, of adapters.
  struct Kept {
    size_t pages = 0, states = 0, adapters = 0;
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
  void SetAdapters(const std::vector<Tensor>& adapters);

  // In the order in which Run takes them.
  const std::vector<InputSpec>& inputs() const;

  // Inputs are on the host; they are copied where they are not aligned to 64 bytes. Needs pages and
  // states when the function does. Errors: kInvalidArgument when sizes contradict each other;
  // kResourceExhausted; what a kernel says.
  Status Run(const ProgramInput* inputs, size_t num_inputs);
  // The same in turns: Begin prepares a run, and each Continue calls kernels until that moment, at
  // least one; a device has finished each before the next begins. True: the run is done. What Begin
  // got stays valid until then. An error ends the run.
  Status Begin(const ProgramInput* inputs, size_t num_inputs);
  Result<bool> Continue(std::chrono::steady_clock::time_point until);
  // Gives the memory of temporaries back until the next run; results are gone.
  void Release();
  // A result of the last run, on the program's device; it may be written to and stays until the
  // next run. Null, or empty: the program has no such result.
  char* data(std::string_view result);
  Result<Tensor> tensor(std::string_view result);

 private:
  struct Impl;
  explicit KernelProgram(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc
