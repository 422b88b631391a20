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
#include "runtime/tensor.h"
#include "runtime/weight_parts.h"
#include "runtime/weight_strips.h"

namespace mlc {

// How shards share a parameter: of each run along `axis`, shard r has the `count` places from
// first + r * count on, or all shards have those from `first` on. Without runs the first shard has
// the parameter, and the others have zeros.
struct Shares {
  struct Run {
    int64_t first, count;
    bool on_all = false;
  };
  int num_shards = 1;
  int axis = 0;
  std::vector<Run> runs;

  // Of the stored tensor, along the axis.
  int64_t Extent() const;
};

// A parameter of a model library: a tensor, or some of its rows (axis 0) or columns (axis 1) if the
// tensor is too large for a device. A library may read the bytes as another type than the stored
// one, along the last axis: float16 [8, 16] as uint32 [8, 8].
struct ParamSpec {
  std::string name;
  Shape shape;
  DType dtype;
  // shape[axis] of `extent` elements, from `first` on; extent 0: the whole tensor
  int64_t first = 0, extent = 0;
  int axis = 0;
  std::optional<DType> stored_dtype;  // dtype of the stored weights, if it differs from `dtype`
  std::optional<StoredParts> parts;   // what the tensor is made of, if it is not stored as it is
  std::optional<Strips> strips;       // how it is laid out at last; only on the CPU
  std::optional<Shares> shares;       // then the rest says what one of the shards has
  bool is_zero = false;               // it is not stored
  bool by_rows = false;               // steps read single rows of it; only on the CPU
  // What the parameter of one of `num_shards` shards is in a folder whose weights MLC-LLM divided:
  // a tensor of this name; "": not that parameter of a shard.
  std::string own_name;
  int num_shards = 1;
};

// The shape of the whole stored tensor, of which a parameter is all or a part.
Shape StoredShape(const ParamSpec& spec);

// What shard `rank` loads for the parameters: they have no `shares` then. Errors: kUnsupported.
Result<std::vector<ParamSpec>> ParamsOfShard(std::vector<ParamSpec> specs, int rank);

// What MLC-LLM's converter calls a shard's part of a tensor (its `preshard.py`).
std::string NameOfPart(const std::string& tensor, int rank);

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
