#include "model/runner/library_tower.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "model/runner/library_functions.h"
#include "runtime/kernel_program.h"

namespace mlc {
namespace {

// An input by name, on the host.
struct Given {
  std::string_view name;
  ProgramInput value;
};

std::vector<Given> InputsOf(const TowerInput& input) {
  auto num_patches = static_cast<int64_t>(input.positions.size() / 2);
  return {{"patches", {input.patches.data(), num_patches}},
          {"patch_positions", {input.positions.data(), num_patches}},
          {"patch_grids", {input.grids.data(), num_patches}},
          {"view_indptr", InputOf(input.view_indptr)},
          {"window_indptr", InputOf(input.window_indptr)},
          {"first_patches", InputOf(input.first_patches)}};
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
               std::shared_ptr<Weights> weights, std::unique_ptr<KernelProgram> program)
      : library_(std::move(library)),
        spec_(spec),
        weights_(std::move(weights)),
        program_(std::move(program)) {}

  const TowerSpec& spec() const override { return spec_; }

  std::unique_ptr<TowerRun> Begin(TowerInput input) override {
    return std::make_unique<Run>(this, std::move(input));
  }

 private:
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
      if (tower_->running_ != this) MLC_RETURN_IF_ERROR(tower_->Start(this, input_));
      auto until = std::chrono::steady_clock::now() + kTowerTurn;
      Result<bool> is_done = tower_->program_->Continue(until);
      if (is_done.ok() && !*is_done) return false;
      tower_->running_ = nullptr;
      Status status = is_done.ok() ? tower_->Append(input_, rows) : Status(is_done.status());
      tower_->program_->Release();  // its memory is free until the next picture
      MLC_RETURN_IF_ERROR(status);
      return true;
    }

   private:
    LibraryTower* tower_;
    TowerInput input_;
  };

  Status Start(const Run* run, const TowerInput& input) {
    std::vector<Given> given = InputsOf(input);
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

  Status Append(const TowerInput& input, std::vector<float>* rows) {
    MLC_ASSIGN_OR_RETURN(Tensor made, program_->tensor(kRows));
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

  std::shared_ptr<ModelLibrary> library_;
  TowerSpec spec_;
  std::shared_ptr<Weights> weights_;
  std::unique_ptr<KernelProgram> program_;
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
  MLC_ASSIGN_OR_RETURN(std::unique_ptr<KernelProgram> program,
                       KernelProgram::Load(*library, spec.function, params, {}, device));
  bool gives_rows = function != metadata.functions.end() && function->second.Gives(kRows);
  if (!gives_rows || program == nullptr) {
    return Corrupt("has no function '" + spec.function + "' that gives '" + kRows +
                   "' kernel by kernel")
        .WithParam("model_lib");
  }
  for (const InputSpec& input : program->inputs()) {
    bool is_known = false;
    for (const Given& given : InputsOf({})) is_known |= given.name == input.name;
    if (!is_known) return Unknown(input.name);
  }
  return std::shared_ptr<TowerProgram>(std::make_shared<LibraryTower>(
      std::move(library), spec, std::move(weights), std::move(program)));
}

}  // namespace mlc
