#include "runtime/program_spec.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr int64_t kMaxUnitBytes = int64_t{1} << 30;  // of a buffer, for one row
constexpr int kMaxExtents = 4;

using Sizes = std::vector<std::string>;

Result<const Json::Array*> Items(const Json& json, const char* key) {
  const Json* found = json.Find(key);
  if (found == nullptr || !found->is_array()) {
    return InvalidArgument(std::string("a program's '") + key + "' is no array");
  }
  return &found->as_array();
}

// The index of the size with that name; kFixedSize for ""; -1 if there is none.
int Find(const Sizes& sizes, const Json& name) {
  if (!name.is_string()) return -1;
  if (name.as_string().empty()) return kFixedSize;
  auto found = std::find(sizes.begin(), sizes.end(), name.as_string());
  return found == sizes.end() ? -1 : static_cast<int>(found - sizes.begin());
}

// Reads a tensor. If the size of an input has no index yet, it gets the next one.
Result<RowsSpec> ReadRows(const Json& json, Sizes* sizes, bool input) {
  RowsSpec rows;
  MLC_ASSIGN_OR_RETURN(const Json::Array* shape, Items(json, "shape"));
  MLC_ASSIGN_OR_RETURN(std::string name, GetString(json, "dtype"));
  std::optional<DType> dtype = ParseDType(name);
  bool is_fixed = !shape->empty() && shape->front().is_int() && !input;
  bool is_rows =
      !shape->empty() && shape->front().is_string() && !shape->front().as_string().empty();
  if (!dtype || shape->size() > kMaxExtents || (!is_fixed && !is_rows)) {
    return InvalidArgument("a program has a bad tensor");
  }
  rows.dtype = *dtype;
  rows.size = is_fixed ? kFixedSize : Find(*sizes, shape->front());
  if (rows.size == -1 && input) {
    rows.size = static_cast<int>(sizes->size());
    sizes->push_back(shape->front().as_string());
  }
  for (size_t i = is_fixed ? 0 : 1; i < shape->size(); ++i) {
    rows.row.push_back((*shape)[i].is_int() ? (*shape)[i].as_int() : -1);
  }
  std::optional<int64_t> bytes = TensorBytes(rows.row, rows.dtype);
  if (rows.size == -1 || !bytes || *bytes > kMaxUnitBytes) {
    return InvalidArgument("a program has a tensor of a bad shape");
  }
  return rows;
}

Result<ProgramSpec::Buffer> ReadBuffer(const Json& json, const Sizes& sizes) {
  if (json.is_array() && json.as_array().size() == 2 && json.as_array()[1].is_int()) {
    ProgramSpec::Buffer buffer{Find(sizes, json.as_array()[0]), json.as_array()[1].as_int()};
    if (buffer.size != -1 && buffer.bytes >= 0 && buffer.bytes <= kMaxUnitBytes) return buffer;
  }
  return InvalidArgument("a program has a bad buffer");
}

Result<RowsSpec> ReadTemporary(const Json& json, Sizes* sizes, const ProgramSpec& program) {
  MLC_ASSIGN_OR_RETURN(RowsSpec rows, ReadRows(json, sizes, false));
  MLC_ASSIGN_OR_RETURN(int64_t buffer, GetInt(json, "buffer"));
  if (buffer < 0 || buffer >= static_cast<int64_t>(program.buffers.size())) {
    return InvalidArgument("a program has a temporary without a buffer");
  }
  rows.buffer = static_cast<int>(buffer);
  const ProgramSpec::Buffer& place = program.buffers[rows.buffer];
  if (place.size != rows.size || place.bytes < rows.row_bytes()) {
    return InvalidArgument("a program has a temporary that leaves its buffer");
  }
  return rows;
}

// "t12": a letter and a number. "i12!": it must have no rows.
Result<ProgramSpec::Name> ReadName(const Json& json) {
  constexpr std::string_view kLetters = "iwpctsa";
  std::string text = json.is_string() ? json.as_string() : "";
  bool must_be_empty = text.size() > 1 && text.back() == '!';
  if (must_be_empty) text.pop_back();
  size_t letter = text.empty() ? std::string::npos : kLetters.find(text[0]);
  bool digits = text.size() > 1 && text.size() < 8 &&
                text.find_first_not_of("0123456789", 1) == std::string::npos;
  if (letter == std::string::npos || !digits) {
    return InvalidArgument("a program names a tensor '" + text + "'");
  }
  return ProgramSpec::Name{static_cast<ProgramSpec::Kind>(letter), std::stoi(text.substr(1)),
                           must_be_empty};
}

Result<ProgramSpec::Call> ReadCall(const Json& json) {
  if (!json.is_array() || json.as_array().empty() || !json.as_array()[0].is_string()) {
    return InvalidArgument("a program has a bad call");
  }
  ProgramSpec::Call call{json.as_array()[0].as_string(), {}};
  for (size_t i = 1; i < json.as_array().size(); ++i) {
    MLC_ASSIGN_OR_RETURN(ProgramSpec::Name name, ReadName(json.as_array()[i]));
    call.arguments.push_back(name);
  }
  return call;
}

// "results": {"logits": "t21"}.
Status ReadResults(const Json& json, ProgramSpec* program) {
  const Json* results = json.Find("results");
  if (results == nullptr || !results->is_object() || results->as_object().empty()) {
    return InvalidArgument("a program has no results");
  }
  for (const auto& [key, value] : results->as_object()) {
    MLC_ASSIGN_OR_RETURN(ProgramSpec::Name name, ReadName(value));
    if (name.kind != ProgramSpec::Kind::kTemporary ||
        name.index >= static_cast<int>(program->temporaries.size())) {
      return InvalidArgument("a program's result '" + key + "' is not there");
    }
    program->results.emplace_back(key, name.index);
  }
  return Status();
}

}  // namespace

Status ProgramSpec::Check(int weights, int pages, int constants, int states, int adapters) const {
  const int counts[] = {static_cast<int>(inputs.size()),      weights, pages,   constants,
                        static_cast<int>(temporaries.size()), states,  adapters};
  for (const Call& call : calls) {
    for (const Name& name : call.arguments) {
      if (name.index >= counts[static_cast<int>(name.kind)]) {
        return InvalidArgument("a program calls '" + call.kernel +
                               "' with a tensor that is not there");
      }
    }
  }
  return Status();
}

namespace {

Result<ProgramSpec> Parse(const Json& json) {
  ProgramSpec program;
  Sizes sizes;
  MLC_ASSIGN_OR_RETURN(const Json::Array* inputs, Items(json, "inputs"));
  for (const Json& input : *inputs) {
    MLC_ASSIGN_OR_RETURN(RowsSpec rows, ReadRows(input, &sizes, true));
    MLC_ASSIGN_OR_RETURN(std::string name, GetString(input, "name"));
    program.named.push_back(
        {std::move(name), sizes[static_cast<size_t>(rows.size)], rows.row, rows.dtype});
    program.inputs.push_back(std::move(rows));
  }
  MLC_ASSIGN_OR_RETURN(const Json::Array* buffers, Items(json, "buffers"));
  for (const Json& buffer : *buffers) {
    MLC_ASSIGN_OR_RETURN(ProgramSpec::Buffer read, ReadBuffer(buffer, sizes));
    program.buffers.push_back(read);
  }
  MLC_ASSIGN_OR_RETURN(const Json::Array* temporaries, Items(json, "temporaries"));
  for (const Json& temporary : *temporaries) {
    MLC_ASSIGN_OR_RETURN(RowsSpec rows, ReadTemporary(temporary, &sizes, program));
    program.temporaries.push_back(std::move(rows));
  }
  MLC_ASSIGN_OR_RETURN(const Json::Array* calls, Items(json, "calls"));
  for (const Json& call : *calls) {
    MLC_ASSIGN_OR_RETURN(ProgramSpec::Call read, ReadCall(call));
    program.calls.push_back(std::move(read));
  }
  MLC_RETURN_IF_ERROR(ReadResults(json, &program));
  program.num_sizes = static_cast<int>(sizes.size());
  return program;
}

}  // namespace

// The program of a library that an older compiler made, or a newer one.
Result<ProgramSpec> ParseProgram(const Json& json) {
  Result<ProgramSpec> program = Parse(json);
  if (program.ok()) return program;
  return Corrupt(program.status().message() + "; compile the model again").WithParam("model_lib");
}

}  // namespace mlc
