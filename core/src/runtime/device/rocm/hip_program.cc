#include "runtime/device/rocm/hip_program.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <vector>

#include "runtime/device/kept_code.h"
#include "runtime/device/signal_handlers.h"

namespace mlc::rocm {
namespace {

// Divisions and roots are the fast ones. Infinities and NaN stay: the engine looks for them.
constexpr const char* kOptions[] = {"-O3", "-std=c++17",
                                    "-fno-hip-fp32-correctly-rounded-divide-sqrt"};

// The compiler's program, while the object lives.
class Program {
 public:
  explicit Program(const std::string& source) {
    if (!compiler().problem.empty()) TVM_FFI_THROW(RuntimeError) << compiler().problem;
    Require(compiler().hiprtcCreateProgram(&program_, source.c_str(), "kernels.hip", 0, nullptr,
                                           nullptr),
            "hiprtcCreateProgram");
  }
  ~Program() { (void)compiler().hiprtcDestroyProgram(&program_); }
  Program(const Program&) = delete;

  // Empty if the compiler refuses the source.
  std::string Compile(const std::string& architecture) {
    std::string device = "--offload-arch=" + architecture;
    std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
    options.push_back(device.c_str());
    int count = static_cast<int>(options.size());
    if (compiler().hiprtcCompileProgram(program_, count, options.data()) != kSuccess) return "";
    size_t bytes = 0;
    Require(compiler().hiprtcGetCodeSize(program_, &bytes), "hiprtcGetCodeSize");
    std::string code(bytes, '\0');
    Require(compiler().hiprtcGetCode(program_, code.data()), "hiprtcGetCode");
    return code;
  }

  std::string Log() {
    size_t bytes = 0;
    if (compiler().hiprtcGetProgramLogSize(program_, &bytes) != kSuccess || bytes == 0) return "";
    std::string log(bytes, '\0');
    (void)compiler().hiprtcGetProgramLog(program_, log.data());
    return log.substr(0, std::min<size_t>(log.find('\0'), 2000));
  }

 private:
  static void Require(int code, const char* what) {
    if (code != kSuccess) TVM_FFI_THROW(RuntimeError) << what << " failed with " << code;
  }

  Handle program_ = nullptr;
};

std::string CodeOf(const HipDevice& device, const std::string& source) {
  Program program(source);
  std::string code = program.Compile(device.limits().architecture);
  if (code.empty()) {
    TVM_FFI_THROW(RuntimeError) << "ROCm's compiler refused the model library's kernels for "
                                << device.limits().architecture << ": " << program.Log();
  }
  return code;
}

std::string KeyOf(const Limits& limits, const std::string& source) {
  std::string key;
  for (const char* option : kOptions) key += std::string(option) + '\n';
  return key + limits.architecture + '\n' + limits.driver + '\n' + source;
}

}  // namespace

void LoadProgram(const HipDevice& device, const std::string& source, LoadedProgram* program) {
  KeptSignalHandlers handlers;
  KeptCode kept("rocm", KeyOf(device.limits(), source));
  program->code = kept.Read();
  auto load = [&] { return api().hipModuleLoadData(&program->module, program->code.data()); };
  if (!program->code.empty() && load() == kSuccess) return;
  (void)api().hipGetLastError();  // else another user of HIP takes it for its own
  program->code = CodeOf(device, source);
  Check(load(), "hipModuleLoadData");
  kept.Write(program->code);
}

}  // namespace mlc::rocm
