#include "model/runner/library_call.h"

#include <algorithm>

namespace mlc {

Result<std::vector<Tensor>> LibraryCall::operator()(
    const std::vector<NamedArgument>& arguments) const {
  std::vector<Argument> ordered;
  for (const InputSpec& input : spec_.inputs) {
    auto given = std::find_if(arguments.begin(), arguments.end(),
                              [&](const NamedArgument& one) { return one.first == input.name; });
    if (given == arguments.end()) {
      return Corrupt("'" + spec_.name + "' takes an argument '" + input.name +
                     "', which it is not given; compile the model again")
          .WithParam("model_lib");
    }
    ordered.push_back(given->second);
  }
  return library_->Call(spec_.name, ordered, spec_.results.size());
}

Result<Tensor> OnDevice(const void* data, int64_t count, const Shape& row, DType dtype,
                        Device device) {
  Shape shape = row;
  shape.insert(shape.begin(), count);
  MLC_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Empty(shape, dtype, device));
  MLC_RETURN_IF_ERROR(tensor.Write(0, data, tensor.bytes()));
  return tensor;
}

}  // namespace mlc
