#include "model/vit_tower.h"

#include <algorithm>
#include <utility>

#include "model/picture_layout.h"
#include "model/picture_views.h"

namespace mlc {
namespace {

// A run takes views up to this many patches, and at least one.
constexpr int kPatchesOfRun = 1024;

int NumPatches(const PictureSettings& settings, PictureSize view) {
  return view.width / settings.patch_size * (view.height / settings.patch_size);
}

// Until its first turn it has the picture as a file: many requests may wait for theirs.
class ViewMaker : public RowMaker {
 public:
  ViewMaker(std::shared_ptr<const PictureSettings> settings, std::shared_ptr<TowerProgram> program,
            std::string_view file, PictureDetail detail)
      : settings_(std::move(settings)),
        program_(std::move(program)),
        file_(file),
        detail_(detail) {}

  Status Next(std::vector<float>* values) override {
    if (!file_.empty()) MLC_RETURN_IF_ERROR(Look(std::exchange(file_, {})));
    if (run_ == nullptr) {
      if (next_ == views_.size()) return Internal("the vision tower made fewer rows than planned");
      run_ = program_->Begin(NextInput());
    }
    MLC_ASSIGN_OR_RETURN(bool is_done, run_->Advance(order_.empty() ? values : &made_));
    if (!is_done) return Status();
    run_ = nullptr;
    return order_.empty() || next_ < views_.size() ? Status() : AppendInOrder(values);
  }

 private:
  Status Look(std::string_view file) {
    MLC_ASSIGN_OR_RETURN(Picture picture, DecodePicture(file));
    MLC_ASSIGN_OR_RETURN(PictureLayout layout,
                         LayOutPicture(*settings_, {picture.width, picture.height}, detail_));
    views_ = LookAtViews(layout, std::move(picture));
    order_ = std::move(layout.order);
    for (const PictureView& view : layout.views) num_made_ += NumRows(*settings_, view);
    return Status();
  }
  // The learned rows are the first ones that were made.
  Status AppendInOrder(std::vector<float>* values) {
    auto width = static_cast<size_t>(program_->spec().width);
    int learned = program_->spec().learned_rows;
    if (made_.size() != width * static_cast<size_t>(learned + num_made_)) {
      return Internal("the vision tower made fewer rows than planned");
    }
    for (int32_t row : order_) {
      auto from =
          made_.begin() + static_cast<int64_t>(width) * (row < 0 ? -1 - row : learned + row);
      values->insert(values->end(), from, from + static_cast<int64_t>(width));
    }
    made_ = {};
    return Status();
  }
  TowerInput NextInput() {
    const TowerSpec& spec = program_->spec();
    int most = std::min(kPatchesOfRun, spec.max_patches);
    Patches patches;
    TowerInput input;
    input.view_indptr.push_back(0);
    int learned = order_.empty() || next_ > 0 ? 0 : spec.learned_rows;
    for (int row = 0; row < learned; ++row) patches.first_patches.push_back(-1 - row);
    do {
      Add(views_[next_], &patches, &input);
      views_[next_] = {};
      ++next_;
    } while (next_ < views_.size() && patches.count() + PatchesOf(views_[next_]) <= most &&
             static_cast<int>(input.view_indptr.size()) <= spec.max_views);
    input.patches = std::move(patches.values);
    input.positions = std::move(patches.positions);
    input.grids = std::move(patches.grids);
    input.first_patches = std::move(patches.first_patches);
    input.window_indptr = {0};
    input.window_indptr.insert(input.window_indptr.end(), patches.window_ends.begin(),
                               patches.window_ends.end());
    return input;
  }
  int PatchesOf(const ViewPixels& view) const {
    return NumPatches(*settings_, {view.width, view.height}) + (program_->spec().class_row ? 1 : 0);
  }
  void Add(const ViewPixels& view, Patches* patches, TowerInput* input) const {
    const TowerSpec& spec = program_->spec();
    if (spec.class_row) patches->AppendClassRow(spec.patch_dim);
    patches->Append(*settings_, view, spec.window);
    input->view_indptr.push_back(patches->count());
  }

  std::shared_ptr<const PictureSettings> settings_;
  std::shared_ptr<TowerProgram> program_;
  std::string file_;
  PictureDetail detail_;
  std::vector<ViewPixels> views_;
  size_t next_ = 0;
  std::vector<int32_t> order_;     // PictureLayout::order
  int num_made_ = 0;               // rows of all views
  std::vector<float> made_;        // rows so far that are not in order yet
  std::unique_ptr<TowerRun> run_;  // of the views before next_
};

Status Mismatch(const std::string& field, int ours, int library) {
  return Corrupt("'pictures." + field + "' of mlc-chat-config.json means " + std::to_string(ours) +
                 ", and the model library's tower was compiled for " + std::to_string(library) +
                 "; convert and compile the model again (mlc_llm prepare)")
      .WithParam("pictures." + field);
}

}  // namespace

Result<std::shared_ptr<const Tower>> VitTower::Make(PictureSettings settings,
                                                    std::shared_ptr<TowerProgram> program,
                                                    const std::string& weights_id, int width) {
  const TowerSpec& spec = program->spec();
  int dim = 3 * settings.patch_size * settings.patch_size;
  if (dim != spec.patch_dim) return Mismatch("patch_size", dim, spec.patch_dim);
  if (settings.merge != spec.merge) return Mismatch("merge", settings.merge, spec.merge);
  if (settings.columns != spec.columns) {
    return Mismatch("columns", settings.columns, spec.columns);
  }
  if (settings.queries != spec.queries) {
    return Mismatch("queries", settings.queries, spec.queries);
  }
  if (int rows = NumLearnedRows(settings); rows > spec.learned_rows) {
    return Mismatch("layout", rows, spec.learned_rows);
  }
  if (settings.rotary != spec.rotary) return Mismatch("rotary", settings.rotary, spec.rotary);
  if (spec.width != width) {
    return Corrupt("the library's tower makes rows of " + std::to_string(spec.width) +
                   " numbers, and the model reads rows of " + std::to_string(width) +
                   "; compile the model again")
        .WithParam("model_lib");
  }
  if (spec.window % spec.merge != 0) {
    return Corrupt("the library's tower has windows of " + std::to_string(spec.window) +
                   " patches, which is no multiple of " + std::to_string(spec.merge))
        .WithParam("model_lib");
  }
  bool is_tiled = settings.tile > 0;
  PictureSize view = is_tiled ? PictureSize{settings.tile, settings.tile} : settings.view;
  int patches = NumPatches(settings, view) + (spec.class_row ? 1 : 0);
  if (view.width > 0 && patches > spec.max_patches) {
    bool is_cropped = settings.kind == PictureSettings::Kind::kCropped;
    return Mismatch(is_tiled ? "tile" : is_cropped ? "crop" : "size", patches, spec.max_patches);
  }
  int64_t patch = int64_t{settings.patch_size} * settings.patch_size;
  bool is_free = settings.kind == PictureSettings::Kind::kClosestGrid ||
                 settings.kind == PictureSettings::Kind::kFilled;
  if (is_free && settings.max_pixels / patch > spec.max_patches) {
    return Mismatch("max_pixels", static_cast<int>(settings.max_pixels / patch), spec.max_patches);
  }
  std::shared_ptr<VitTower> tower(new VitTower());
  tower->id_ = weights_id + " " + settings.source;
  tower->settings_ = std::make_shared<const PictureSettings>(std::move(settings));
  tower->program_ = std::move(program);
  return std::shared_ptr<const Tower>(std::move(tower));
}

Result<PicturePlan> VitTower::Plan(PictureSize size, PictureDetail detail) const {
  MLC_ASSIGN_OR_RETURN(PictureLayout layout, LayOutPicture(*settings_, size, detail));
  const TowerSpec& spec = program_->spec();
  for (const PictureView& view : layout.views) {
    int patches = NumPatches(*settings_, view.size) + (spec.class_row ? 1 : 0);
    if (patches <= spec.max_patches) continue;
    return Unsupported("the picture takes " + std::to_string(patches) +
                       " patches at once, and the model library was compiled for " +
                       std::to_string(spec.max_patches) +
                       "; send a smaller picture, or compile the model for more");
  }
  return std::move(layout.plan);
}

Result<std::unique_ptr<RowMaker>> VitTower::Encode(std::string_view file,
                                                   PictureDetail detail) const {
  MLC_RETURN_IF_ERROR(DecodePicture(file).status());  // a damaged file is the caller's error
  return std::unique_ptr<RowMaker>(std::make_unique<ViewMaker>(settings_, program_, file, detail));
}

}  // namespace mlc
