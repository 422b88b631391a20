#include "runtime/param_spec.h"

#include <utility>

namespace mlc {
namespace {

int64_t FirstOf(const Shares::Run& run, int rank) {
  return run.first + (run.on_all ? 0 : rank * run.count);
}

// The parameter of a shard, which has an equal part of each run of the stored tensor.
Status TakePart(const Shares& shares, int rank, ParamSpec* spec) {
  // A part in one piece is cut like a part of a weight that is too large.
  if (shares.runs.size() == 1 && shares.axis <= 1) {
    spec->first = FirstOf(shares.runs.front(), rank);
    spec->extent = shares.Extent();
    spec->axis = shares.axis;
    return Status();
  }
  if (spec->parts) {
    return Unsupported("parameter '" + spec->name +
                       "': shards cannot share it in a folder that MLC-LLM's converter made; "
                       "convert the model again (mlc_llm convert_weight)")
        .WithParam("tensor_parallel_shards");
  }
  spec->shares = shares;  // StoredShape is that of the whole tensor
  StoredPart part{spec->name, StoredShape(*spec), StoredDType(*spec), {}, ""};
  spec->shares.reset();
  for (const Shares::Run& run : shares.runs) {
    part.rows.push_back({FirstOf(run, rank), {{run.count, 1}}});
  }
  spec->parts = StoredParts{{std::move(part)}, shares.axis, PartChange::kNone};
  return CheckParts(*spec->parts, StoredShape(*spec), StoredDType(*spec));
}

}  // namespace

DType StoredDType(const ParamSpec& spec) {
  if (spec.stored_dtype) return *spec.stored_dtype;
  return spec.strips ? DTypeBeforeStrips(*spec.strips, spec.dtype) : spec.dtype;
}

Shape StoredShape(const ParamSpec& spec) {
  Shape whole = spec.strips ? ShapeBeforeStrips(*spec.strips, spec.shape) : spec.shape;
  if (spec.extent > 0) whole[static_cast<size_t>(spec.axis)] = spec.extent;
  if (spec.shares && !spec.shares->runs.empty()) {
    whole[static_cast<size_t>(spec.shares->axis)] = spec.shares->Extent();
  }
  if (spec.stored_dtype) {
    whole.back() *= *TensorBytes({1}, spec.dtype) / *TensorBytes({1}, *spec.stored_dtype);
  }
  return whole;
}

ParamSpec BeforeStrips(ParamSpec spec) {
  if (!spec.strips) return spec;
  spec.shape = ShapeBeforeStrips(*spec.strips, spec.shape);
  spec.dtype = DTypeBeforeStrips(*spec.strips, spec.dtype);
  spec.strips.reset();
  return spec;
}

int64_t Shares::Extent() const {
  int64_t extent = 0;
  for (const Run& run : runs) extent += run.on_all ? run.count : num_shards * run.count;
  return extent;
}

std::string NameOfPart(const std::string& tensor, int rank) {
  return tensor + "_shard-" + std::to_string(rank);
}

Result<std::vector<ParamSpec>> ParamsOfShard(std::vector<ParamSpec> specs, int rank) {
  for (ParamSpec& spec : specs) {
    if (!spec.shares) continue;
    Shares shares = *std::exchange(spec.shares, std::nullopt);
    if (shares.runs.empty()) {
      spec.is_zero = rank > 0;
    } else {
      if (!spec.parts) spec.own_name = NameOfPart(spec.name, rank);
      spec.num_shards = shares.num_shards;
      MLC_RETURN_IF_ERROR(TakePart(shares, rank, &spec));
    }
  }
  return specs;
}

}  // namespace mlc
