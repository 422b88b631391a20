#include "model/runner/step_executor.h"

#include <utility>

#include "model/runner/cpu_executor.h"
#include "model/runner/library_functions.h"
#include "model/runner/recorded_executor.h"
#include "model/runner/vm_executor.h"

namespace mlc {

Result<StepTensors> TensorsOf(const Batch& batch, KernelProgram* program) {
  StepTensors made;
  if (!batch.logit_rows.empty()) {
    MLC_ASSIGN_OR_RETURN(made.logits, program->tensor(kLogits));
  }
  if (batch.hidden_rows.empty()) return made;
  MLC_ASSIGN_OR_RETURN(made.hidden_states, program->tensor(kHiddenStates));
  if (program->data(kLayerStates) != nullptr) {
    MLC_ASSIGN_OR_RETURN(made.layer_states, program->tensor(kLayerStates));
  }
  return made;
}

HeadNames HeadOf(const LibraryMetadata& metadata) {
  bool fuses = metadata.functions.count(kFuse) > 0;
  return fuses ? HeadNames{kFuse, kStates} : HeadNames{kHead, kLogits};
}

Result<std::unique_ptr<StepExecutor>> MakeStepExecutor(ModelLibrary* library,
                                                       const LibraryMetadata& metadata,
                                                       const TensorList& params, Device device) {
  std::unique_ptr<StepExecutor> executor;
  if (device.kind() == "cpu") {
    MLC_ASSIGN_OR_RETURN(executor, CpuExecutor::Load(*library, metadata, params));
    if (executor != nullptr) return executor;
  }
  MLC_ASSIGN_OR_RETURN(executor, VmExecutor::Load(library, metadata, params, device));
  if (device.kind() == "cpu" || metadata.functions.count(kDecodeTokens) == 0) return executor;
  return RecordedExecutor::Over(std::move(executor), *library, metadata, params, device);
}

}  // namespace mlc
