#include "model/param_specs.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/weight_index.h"

namespace mlc {
namespace {

constexpr int64_t kMaxShards = 64;

// The whole tensor, of which the parameter may be a part, in bytes that a number can say.
Status CheckSize(const ParamSpec& spec) {
  if (TensorBytes(StoredShape(spec), StoredDType(spec))) return Status();
  return InvalidArgument("parameter '" + spec.name + "' is too large").WithParam("params");
}

// "rows": [first, number]: the parameter is shape[0] rows, from row `first`, of a tensor with
// `number` rows. "columns": the same for shape[1].
Status ReadPart(const Json& param, ParamSpec* spec) {
  for (auto [key, axis] : {std::pair("rows", 0), {"columns", 1}}) {
    const Json* part = param.Find(key);
    if (part == nullptr) continue;
    Status bad =
        InvalidArgument("parameter '" + spec->name + "': field '" + key +
                        "' must hold where it begins in the tensor and the tensor's number")
            .WithParam("params");
    bool is_pair = part->is_array() && part->as_array().size() == 2;
    if (!is_pair || !part->as_array()[0].is_int() || !part->as_array()[1].is_int()) return bad;
    int64_t first = part->as_array()[0].as_int(), extent = part->as_array()[1].as_int();
    Shape shape = StoredShape(*spec);
    if (spec->extent > 0 || shape.size() <= static_cast<size_t>(axis)) return bad;
    int64_t own = shape[static_cast<size_t>(axis)];
    if (first < 0 || extent < own || first > extent - own) return bad;
    spec->first = first;
    spec->extent = extent;
    spec->axis = axis;
  }
  return Status();
}

// "stored_dtype": the type of the elements in the weight files. The library takes them as `dtype`.
Status ReadStoredDType(const Json& param, ParamSpec* spec) {
  if (param.Find("stored_dtype") == nullptr) return Status();
  MLC_ASSIGN_OR_RETURN(DType stored, ReadDType(param, "stored_dtype"));
  int64_t own = *TensorBytes({1}, spec->dtype), theirs = *TensorBytes({1}, stored);
  bool is_rounded = spec->strips && spec->strips->change == Strips::Change::kHalves;
  if (spec->shape.empty() || own % theirs != 0 || is_rounded) {
    return InvalidArgument("parameter '" + spec->name + "': " + DTypeName(stored) +
                           " cannot be taken as " + DTypeName(spec->dtype))
        .WithParam("params");
  }
  spec->stored_dtype = stored;
  return Status();
}

// "strips": [outputs, axis]: the shape is [..., strips, places, 16]. A number behind them is a
// change.
Status ReadStrips(const Json& param, ParamSpec* spec) {
  const Json* json = param.Find("strips");
  if (json == nullptr) return Status();
  Strips strips{0, 0};
  std::vector<int64_t> numbers;
  if (json->is_array()) {
    for (const Json& one : json->as_array()) numbers.push_back(one.is_int() ? one.as_int() : -1);
  }
  for (auto change : {Strips::Change::kThrees, Strips::Change::kHalves}) {
    if (numbers.size() == 3 && numbers[2] == static_cast<int64_t>(change)) strips.change = change;
  }
  if (numbers.size() == 2 || strips.change != Strips::Change::kNone) {
    strips.outputs = numbers[0];
    strips.axis = static_cast<int>(numbers[1]);
  }
  Status fits = CheckStrips(strips, spec->shape, spec->dtype);
  if (!fits.ok()) return std::move(fits).In("parameter '" + spec->name + "'");
  spec->strips = strips;
  return Status();
}

// [first, count], or [first, count, 0] for places that all shards have.
std::optional<Shares::Run> ReadSharesRun(const Json& json) {
  if (!json.is_array() || json.as_array().size() < 2 || json.as_array().size() > 3) return {};
  for (const Json& number : json.as_array()) {
    if (!number.is_int()) return {};
  }
  bool on_all = json.as_array().size() == 3;
  if (on_all && json.as_array()[2].as_int() != 0) return {};
  return Shares::Run{json.as_array()[0].as_int(), json.as_array()[1].as_int(), on_all};
}

// "shares": {"axis", "runs": [run, ...]}: how shards share the parameter.
Status ReadShares(const Json& param, int num_shards, ParamSpec* spec) {
  const Json* json = param.Find("shares");
  if (json == nullptr) return Status();
  Status bad = InvalidArgument("parameter '" + spec->name +
                               "': field 'shares' must hold an axis and runs [first, count]")
                   .WithParam("params");
  Shares shares{num_shards, 0, {}};
  MLC_ASSIGN_OR_RETURN(int64_t axis, GetIntOr(*json, "axis", 0));
  Shape shape = StoredShape(*spec);
  const Json* runs = json->Find("runs");
  bool is_list = runs != nullptr && runs->is_array();
  bool is_plain = spec->extent == 0 && !spec->stored_dtype;
  if (!is_list || !is_plain || axis < 0 || axis >= static_cast<int64_t>(shape.size())) return bad;
  shares.axis = static_cast<int>(axis);
  int64_t left = shape[static_cast<size_t>(axis)], most = 0;
  if (__builtin_mul_overflow(left, num_shards, &most)) return bad;
  for (const Json& json : runs->as_array()) {
    std::optional<Shares::Run> run = ReadSharesRun(json);
    if (!run || run->first < 0 || run->count < 1 || run->count > left) return bad;
    left -= run->count;
    shares.runs.push_back(*run);
  }
  if (left != 0 && !shares.runs.empty()) return bad;
  for (const Shares::Run& run : shares.runs) {
    int64_t of_all = run.on_all ? run.count : run.count * num_shards;
    if (run.first > shares.Extent() - of_all) return bad;
  }
  spec->shares = std::move(shares);
  return CheckSize(*spec);
}

// [first, count, step, ...]: places along an axis, the outermost loop first.
Result<RowRun> ReadRun(const Json& json) {
  Status bad = InvalidArgument("field 'rows' of a part must hold [first, count, step, ...]")
                   .WithParam("params");
  if (!json.is_array() || json.as_array().size() < 3 || json.as_array().size() % 2 == 0) return bad;
  std::vector<int64_t> numbers;
  for (const Json& number : json.as_array()) {
    if (!number.is_int() || number.as_int() < 0) return bad;
    numbers.push_back(number.as_int());
  }
  RowRun run{numbers[0], {}};
  for (size_t i = 1; i < numbers.size(); i += 2) {
    run.levels.push_back({numbers[i], numbers[i + 1]});
  }
  return run;
}

Result<StoredPart> ReadStoredPart(const Json& json) {
  StoredPart part;
  MLC_ASSIGN_OR_RETURN(part.name, GetString(json, "name"));
  MLC_ASSIGN_OR_RETURN(part.shape, ReadShape(json, "shape"));
  MLC_ASSIGN_OR_RETURN(part.scales, GetStringOr(json, "scales", ""));
  MLC_ASSIGN_OR_RETURN(part.dtype, ReadDType(json, "dtype"));
  const Json* rows = json.Find("rows");
  if (rows == nullptr) return part;
  if (!rows->is_array()) {
    return InvalidArgument("field 'rows' of a part must be a list").WithParam("params");
  }
  for (const Json& run : rows->as_array()) {
    MLC_ASSIGN_OR_RETURN(part.rows.emplace_back(), ReadRun(run));
  }
  return part;
}

Result<PartChange> ReadChange(const Json& json) {
  MLC_ASSIGN_OR_RETURN(std::string word, GetStringOr(json, "change", ""));
  if (word.empty()) return PartChange::kNone;
  if (word == "transposed") return PartChange::kTransposed;
  if (word == "plus_one") return PartChange::kPlusOne;
  if (word == "minus_exp") return PartChange::kMinusExp;
  if (word == "log_minus_log") return PartChange::kLogMinusLog;
  return Unsupported("a parameter's change '" + word +
                     "' is unknown to this engine: compile the model again");
}

// "from": {"parts": [{"name", "shape", "dtype", "rows", "scales"}, ...], "axis", "change"}.
Status ReadParts(const Json& param, ParamSpec* spec) {
  const Json* from = param.Find("from");
  if (from == nullptr) return Status();
  const Json* parts = from->Find("parts");
  if (parts == nullptr || !parts->is_array() || parts->as_array().empty()) {
    return InvalidArgument("parameter '" + spec->name + "': field 'parts' must be a list")
        .WithParam("params");
  }
  StoredParts stored;
  for (const Json& part : parts->as_array()) {
    MLC_ASSIGN_OR_RETURN(stored.parts.emplace_back(), ReadStoredPart(part));
  }
  MLC_ASSIGN_OR_RETURN(int64_t axis, GetIntOr(*from, "axis", 0));
  if (axis != 0 && axis != 1) {
    return InvalidArgument("field 'axis' must be 0 or 1").WithParam("params");
  }
  stored.axis = static_cast<int>(axis);
  MLC_ASSIGN_OR_RETURN(stored.change, ReadChange(*from));
  MLC_RETURN_IF_ERROR(CheckParts(stored, StoredShape(*spec), StoredDType(*spec)));
  spec->parts = std::move(stored);
  return Status();
}

}  // namespace

Result<Shape> ReadShape(const Json& object, std::string_view key) {
  const Json* list = object.Find(key);
  Shape shape;
  if (list != nullptr && list->is_array()) {
    for (const Json& extent : list->as_array()) {
      if (!extent.is_int() || extent.as_int() <= 0) break;
      shape.push_back(extent.as_int());
    }
    if (shape.size() == list->as_array().size()) return shape;
  }
  return InvalidArgument("field '" + std::string(key) + "' must be a list of positive integers")
      .WithParam(std::string(key));
}

Result<DType> ReadDType(const Json& object, std::string_view key) {
  MLC_ASSIGN_OR_RETURN(std::string name, GetString(object, key));
  std::optional<DType> dtype = ParseDType(name);
  if (!dtype) return InvalidArgument("unknown dtype '" + name + "'").WithParam(std::string(key));
  return *dtype;
}

Result<int> ReadNumShards(const Json& metadata) {
  MLC_ASSIGN_OR_RETURN(int64_t count, GetIntOr(metadata, "tensor_parallel_shards", 1));
  if (count >= 1 && count <= kMaxShards) return static_cast<int>(count);
  return InvalidArgument("field 'tensor_parallel_shards' must be from 1 to " +
                         std::to_string(kMaxShards))
      .WithParam("tensor_parallel_shards");
}

Result<std::vector<ParamSpec>> ReadParams(const Json& json, int64_t* weight_bytes,
                                          int64_t* table_bytes) {
  std::vector<ParamSpec> specs;
  const Json* params = json.Find("params");
  if (params == nullptr || !params->is_array()) {
    return InvalidArgument("field 'params' must be a list").WithParam("params");
  }
  MLC_ASSIGN_OR_RETURN(int num_shards, ReadNumShards(json));
  for (const Json& param : params->as_array()) {
    ParamSpec spec;
    MLC_ASSIGN_OR_RETURN(spec.name, GetString(param, "name"));
    MLC_ASSIGN_OR_RETURN(spec.shape, ReadShape(param, "shape"));
    MLC_ASSIGN_OR_RETURN(spec.dtype, ReadDType(param, "dtype"));
    MLC_RETURN_IF_ERROR(ReadStrips(param, &spec));
    MLC_RETURN_IF_ERROR(ReadPart(param, &spec));
    MLC_RETURN_IF_ERROR(CheckSize(spec));
    MLC_RETURN_IF_ERROR(ReadStoredDType(param, &spec));
    MLC_RETURN_IF_ERROR(ReadShares(param, num_shards, &spec));
    MLC_RETURN_IF_ERROR(ReadParts(param, &spec));
    MLC_ASSIGN_OR_RETURN(spec.by_rows, GetBoolOr(param, "by_rows", false));
    std::optional<int64_t> bytes = TensorBytes(spec.shape, spec.dtype);
    bool stays = spec.by_rows && !spec.parts;  // what is joined of parts is in memory
    int64_t* sum = stays ? table_bytes : weight_bytes;
    if (!bytes || __builtin_add_overflow(*sum, *bytes, sum)) {
      return InvalidArgument("parameter '" + spec.name + "' is too large").WithParam("params");
    }
    specs.push_back(std::move(spec));
  }
  return specs;
}

void CountWidenedTables(const ByteSource& source, const std::vector<ParamSpec>& params,
                        ModelInfo* info) {
  bool has_tables = std::any_of(params.begin(), params.end(),
                                [](const ParamSpec& spec) { return spec.by_rows && !spec.parts; });
  if (!has_tables) return;
  Result<WeightIndex> index = ReadWeightIndex(source);
  if (!index.ok()) return;  // a plan may be asked for before the weights are there
  for (const ParamSpec& spec : params) {
    auto record = index->records.find(spec.name);
    bool is_stored = record != index->records.end();
    if (!spec.by_rows || spec.parts || !is_stored || !record->second.stored_as_bf16) continue;
    int64_t bytes = TensorBytes(spec.shape, spec.dtype).value_or(0) * info->num_shards;
    info->table_bytes -= bytes;
    info->weight_bytes += bytes;
  }
}

}  // namespace mlc
