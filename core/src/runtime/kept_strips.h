// The strips of a model's weights one after another: in memory, and in a file of their own, so that
// the next load maps them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/weights.h"

namespace mlc {

class KeptStrips {
 public:
  // `prefix`: what the file's path begins with; "": nothing is kept. `weights_id`: see WeightIndex.
  // `wanted` must outlive this object.
  KeptStrips(const std::string& prefix, const std::string& weights_id,
             const std::vector<ParamSpec>& wanted);

  // Maps the file. False if it is not there or not whole.
  bool Map();
  // Allocates memory for all strips. Errors: kResourceExhausted.
  Status Allocate();
  // Lays out `wanted[param]` in that memory. Errors: kInvalidArgument for the tensor of a device.
  Result<Tensor> LayOut(size_t param, const Tensor& stored);
  // Writes the memory, in which all strips are now, and maps the file. False if that fails: a full
  // disk is no reason not to load.
  bool Write();
  // Sets the strips among `tensors` to those in the mapped file. Returns their bytes.
  int64_t Use(std::vector<Tensor>* tensors) const;
  const std::shared_ptr<MappedFile>& file() const { return file_; }

 private:
  // Strips among the parameters, and where they are.
  struct Place {
    size_t param;
    int64_t offset, bytes;
  };
  const std::vector<ParamSpec>& wanted_;
  std::string path_, trailer_;
  std::vector<Place> places_;
  int64_t end_ = 0;                 // of the tensors
  std::shared_ptr<Tensor> memory_;  // bytes
  std::shared_ptr<MappedFile> file_;
};

}  // namespace mlc
