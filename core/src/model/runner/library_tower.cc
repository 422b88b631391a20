#include "model/runner/library_tower.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "model/runner/library_call.h"
#include "model/runner/library_functions.h"
#include "runtime/kernel_program.h"

namespace mlc {
namespace {

// An input by name, on the host.
struct Given {
  std::string_view name;
  ProgramInput value;
  Shape row;
  DType dtype = DType::kInt32;
};

std::vector<Given> InputsOf(const TowerInput& input, const TowerSpec& spec) {
  auto num_patches = static_cast<int64_t>(input.positions.size() / 2);
  return {{"patches", {input.patches.data(), num_patches}, {spec.patch_dim}, DType::kFloat32},
          {"patch_positions", {input.positions.data(), num_patches}, {2}},
          {"patch_grids", {input.grids.data(), num_patches}, {2}},
          {"view_indptr", InputOf(input.view_indptr), {}},
          {"window_indptr", InputOf(input.window_indptr), {}},
          {"first_patches", InputOf(input.first_patches), {}}};
}

Status Unknown(const std::string& name) {
  return Unsupported("the model library's tower takes an input '" + name +
                     "', which this engine does not know; update the engine, or compile the model "
                     "again")
      .WithParam("model_lib");
}

class LibraryTower : public TowerProgram {
 public:
  LibraryTower(std::shared_ptr<ModelLibrary> library, const TowerSpec& spec,
               const FunctionSpec& function, TensorList params, std::shared_ptr<Weights> weights,
               Device device)
      : library_(std::move(library)),
        spec_(spec),
        call_(library_.get(), function),
        params_(std::move(params)),
        weights_(std::move(weights)),
        device_(device) {}

  Status LoadProgram() {
    MLC_ASSIGN_OR_RETURN(program_,
                         KernelProgram::Load(*library_, call_.spec().name, params_, {}, device_));
    for (const InputSpec& input : program_ ? program_->inputs() : call_.spec().inputs) {
      bool is_known = input.name == kParams;
      for (const Given& given : InputsOf({}, spec_)) is_known |= given.name == input.name;
      if (!is_known) return Unknown(input.name);
    }
    return Status();
  }

  const TowerSpec& spec() const override { return spec_; }

  std::unique_ptr<TowerRun> Begin(TowerInput input) override {
    return std::make_unique<Run>(this, std::move(input));
  }

 private:
  // Where TVM's virtual machine runs the function, it is one turn.
  class Run : public TowerRun {
   public:
    Run(LibraryTower* tower, TowerInput input) : tower_(tower), input_(std::move(input)) {}
    // On any thread: that of the caller of a request may be the last one that has it.
    ~Run() override {
      const Run* self = this;
      tower_->running_.compare_exchange_strong(self, nullptr);
    }
    Result<bool> Advance(std::vector<float>* rows) override {
      tower_->weights_->Restore();
      if (tower_->program_ == nullptr) {
        MLC_ASSIGN_OR_RETURN(Tensor made, tower_->RunFunction(InputsOf(input_, tower_->spec_)));
        MLC_RETURN_IF_ERROR(tower_->Append(made, input_, rows));
        return true;
      }
      if (tower_->running_ != this) MLC_RETURN_IF_ERROR(tower_->Start(this, input_));
      auto until = std::chrono::steady_clock::now() + kTowerTurn;
      Result<bool> is_done = tower_->program_->Continue(until);
      if (is_done.ok() && !*is_done) return false;
      tower_->running_ = nullptr;
      Status status = is_done.ok() ? tower_->AppendMade(input_, rows) : Status(is_done.status());
      tower_->program_->Release();  // its memory is free until the next picture
      MLC_RETURN_IF_ERROR(status);
      return true;
    }

   private:
    LibraryTower* tower_;
    TowerInput input_;
  };

  Status Start(const Run* run, const TowerInput& input) {
    std::vector<Given> given = InputsOf(input, spec_);
    std::vector<ProgramInput> ordered;
    for (const InputSpec& wanted : program_->inputs()) {
      for (const Given& one : given) {
        if (one.name == wanted.name) ordered.push_back(one.value);
      }
    }
    running_ = nullptr;
    MLC_RETURN_IF_ERROR(program_->Begin(ordered.data(), ordered.size()));
    running_ = run;
    return Status();
  }

  Status AppendMade(const TowerInput& input, std::vector<float>* rows) {
    MLC_ASSIGN_OR_RETURN(Tensor made, program_->tensor(kRows));
    return Append(made, input, rows);
  }

  Status Append(const Tensor& given, const TowerInput& input, std::vector<float>* rows) {
    Tensor made = given;
    Shape expected = {static_cast<int64_t>(input.first_patches.size()), spec_.width};
    if (made.shape() != expected || made.dtype() != DType::kFloat32) {
      return Internal("the tower returned rows of shape " + ShapeText(made.shape()) +
                      " instead of " + ShapeText(expected));
    }
    MLC_ASSIGN_OR_RETURN(made, made.OnHost());
    const auto* values = static_cast<const float*>(made.data());
    rows->insert(rows->end(), values, values + expected[0] * expected[1]);
    return Status();
  }

  Result<Tensor> RunFunction(const std::vector<Given>& given) {
    std::vector<NamedArgument> arguments = {{kParams, params_}};
    for (const Given& one : given) {
      MLC_ASSIGN_OR_RETURN(Tensor tensor,
                           OnDevice(one.value.data, one.value.size, one.row, one.dtype, device_));
      arguments.emplace_back(one.name, std::move(tensor));
    }
    MLC_ASSIGN_OR_RETURN(std::vector<Tensor> made, call_(arguments));
    return std::move(made[0]);
  }

  std::shared_ptr<ModelLibrary> library_;
  TowerSpec spec_;
  LibraryCall call_;
  TensorList params_;
  std::shared_ptr<Weights> weights_;
  Device device_;
  std::unique_ptr<KernelProgram> program_;     // null: TVM's virtual machine runs the function
  std::atomic<const Run*> running_ = nullptr;  // whose temporaries are in the program
};

}  // namespace

Result<std::shared_ptr<TowerProgram>> LoadTowerProgram(std::shared_ptr<ModelLibrary> library,
                                                       const LibraryMetadata& metadata,
                                                       const TensorList& params,
                                                       std::shared_ptr<Weights> weights,
                                                       Device device) {
  const TowerSpec& spec = *metadata.tower;
  auto function = metadata.functions.find(spec.function);
  if (function == metadata.functions.end() || !function->second.Gives(kRows)) {
    return Corrupt("has no function '" + spec.function + "' that gives '" + kRows + "'")
        .WithParam("model_lib");
  }
  auto tower = std::make_shared<LibraryTower>(std::move(library), spec, function->second, params,
                                              std::move(weights), device);
  MLC_RETURN_IF_ERROR(tower->LoadProgram());
  return std::shared_ptr<TowerProgram>(std::move(tower));
}

}  // namespace mlc
