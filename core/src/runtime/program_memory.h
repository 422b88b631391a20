// The memory of a kernel program on a device: of its inputs and of its buffers. It is kept between
// runs.
//
// On a CPU, by CUDA and by ROCm it is one piece, so that all addresses depend only on the sizes of
// a run, and launches can be recorded. OpenCL, WebGPU and Metal have no pointers into a buffer, or
// aligned ones alone, and WebGPU's kernels may not read one part of a buffer and write another one.
// So there each input and each buffer has a piece.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "runtime/program_input.h"
#include "runtime/program_spec.h"
#include "runtime/tensor.h"

namespace mlc {

// Memory that grows with the size of a step. On the host it shrinks again after a much larger step.
// On a device it does not: it was counted when the model was loaded, and launch records use its
// addresses.
class Arena {
 public:
  explicit Arena(Device device) : device_(device) {}

  // Returns at least `bytes`. Their content is undefined.
  Result<char*> Reserve(int64_t bytes);
  Status Write(const void* data, int64_t bytes) { return memory_.Write(0, data, bytes); }
  void Release() {
    memory_ = Tensor();
    capacity_ = 0;
  }
  const Tensor& memory() const { return memory_; }
  int64_t number() const { return number_; }  // changes when the memory changes

 private:
  Device device_;
  Tensor memory_;
  int64_t capacity_ = 0, number_ = 0;
};

class ProgramMemory {
 public:
  explicit ProgramMemory(Device device) : device_(device), whole_(device) {}

  // Gives every input and every buffer of `spec` its place in a run of these sizes, and copies the
  // inputs there. An aligned input on the host stays where the caller has it.
  Status Place(const ProgramSpec& spec, const ProgramInput* given,
               const std::vector<int64_t>& sizes);
  char* input(size_t index) const { return inputs_[index]; }
  char* buffer(int index) const { return buffers_[static_cast<size_t>(index)]; }
  // The tensor that the buffer is in.
  const Tensor& owner(int buffer) const;
  int64_t number() const { return whole_.number(); }  // changes when the one piece changes
  // Gives it back until the next run.
  void Release();

 private:
  bool on_host() const { return device_.type == Device{}.type; }
  bool in_pieces() const;
  Status PlaceInOne(const ProgramSpec& spec, const ProgramInput* given,
                    const std::vector<int64_t>& sizes);
  Status PlaceInPieces(const ProgramSpec& spec, const ProgramInput* given,
                       const std::vector<int64_t>& sizes);
  char* PlaceInputs(const ProgramSpec& spec, const ProgramInput* given, char* next);

  Device device_;
  Arena whole_;
  std::vector<Arena> pieces_;            // of each input, then of each buffer
  std::vector<char*> inputs_, buffers_;  // members, so that a run allocates nothing
  std::vector<char> upload_;  // the inputs for a device, in the layout of the piece's beginning
};

}  // namespace mlc
