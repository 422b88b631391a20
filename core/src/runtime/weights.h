// Reads weights from an -MLC folder: tensor-cache.json (or the older ndarray-cache.json) and its
// shards.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/byte_source.h"
#include "runtime/param_spec.h"
#include "runtime/tensor.h"
#include "runtime/weight_strips.h"

namespace mlc {

// Called with 0.0 .. 1.0. Returning false cancels the load (kCancelled).
using LoadProgress = std::function<bool(double fraction)>;

class KeptStrips;

// The weights of a model in memory.
class Weights {
 public:
  // The tensors in the order of `wanted`. On the CPU, a tensor that is aligned in its shard refers
  // to the mapped file; others are copied. Every record is checked: paths must stay in the folder,
  // ranges in the shard, and sizes must fit the shapes. Errors: kNotFound for a missing file,
  // kCorrupt for a damaged file, kInvalidArgument for weights of another model,
  // kResourceExhausted. Each error names the file or the tensor.
  // `strips_prefix`: what the path of a file begins with in which strips are kept, so that later
  // loads map them; "": they are laid out in each load.
  static Result<Weights> Load(const ByteSource& source, const std::vector<ParamSpec>& wanted,
                              Device device, const LoadProgress& progress,
                              const std::string& strips_prefix = "");

  const std::string& id() const { return id_; }  // see WeightIndex
  const std::vector<Tensor>& tensors() const { return tensors_; }
  // Lets the system take the memory of tensors that can be read from their files again: it reads
  // mapped files by itself, and Restore lays out strips. Returns the bytes of these tensors.
  int64_t Drop();
  // Makes the tensors whole again after Drop. Call it before they are used.
  void Restore();
  // The same, and brings all into memory but the tables that are read by rows. Returns the bytes
  // that were read through.
  int64_t Touch();

 private:
  // A tensor that was laid out from one in a mapped file.
  struct LaidOut {
    Tensor stored;
    Strips strips;
    Tensor tensor;
  };
  void UseFile(const KeptStrips& kept);

  std::string id_;
  std::vector<Tensor> tensors_;
  std::vector<std::shared_ptr<MappedFile>> files_;  // that tensors refer to
  std::vector<LaidOut> laid_out_;
  std::vector<bool> by_rows_;  // of each tensor: whether it stays in its file
  int64_t droppable_bytes_ = 0;
  bool dropped_ = false;
};

}  // namespace mlc
