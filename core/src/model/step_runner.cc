#include "model/step_runner.h"

#include <utility>

#include "model/cpu_runner.h"
#include "model/recorded_runner.h"
#include "model/vm_runner.h"

namespace mlc {

Result<std::unique_ptr<StepRunner>> MakeStepRunner(ModelLibrary* library,
                                                   const LibraryMetadata& metadata,
                                                   const TensorList& params, Device device) {
  std::unique_ptr<StepRunner> runner;
  if (device.kind() == "cpu") {
    MLC_ASSIGN_OR_RETURN(runner, CpuRunner::Load(*library, metadata, params));
    if (runner != nullptr) return runner;
  }
  runner = std::make_unique<VmRunner>(library, metadata.info, params, device);
  if (device.kind() == "cpu") return runner;
  return RecordedRunner::Over(std::move(runner), *library, metadata, params, device);
}

}  // namespace mlc
