// The tower of a compiled model: lays a picture out by the folder's "pictures"
// (picture_settings.h), and lets the library's function turn patches into rows.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "model/picture_settings.h"
#include "model/tower.h"
#include "model/tower_spec.h"

namespace mlc {

// The patches of some views, as the function takes them.
struct TowerInput {
  std::vector<float> patches;        // [n, patch_dim]
  std::vector<int32_t> positions;    // [n, 2], see Patches; -1, -1: the class row
  std::vector<int32_t> view_indptr;  // [v + 1]: where the patches of each view begin
  // [m]: for each row the first of its merge * merge patches, or its query, counted through all
  // views; -1 - k: the k-th learned row
  std::vector<int32_t> first_patches;
  std::vector<int32_t> grids;          // [n, 2]: rows and columns of the patch's view
  std::vector<int32_t> window_indptr;  // [w + 1]: where the patches of each window begin
};

// One run of the function, in turns. A run that begins in between takes its memory: then this one
// begins anew in its next turn. It may be destroyed on any thread.
class TowerRun {
 public:
  virtual ~TowerRun() = default;
  // Computes for about `kTowerTurn`. True: it is done, and the rows [m, width] are in `rows`,
  // behind what was there.
  virtual Result<bool> Advance(std::vector<float>* rows) = 0;
};

// Running answers wait for a turn, and so does the end of a request that is cancelled.
inline constexpr std::chrono::milliseconds kTowerTurn{50};

// The function, where it runs. Only the thread of the model may use it and its runs.
class TowerProgram {
 public:
  virtual ~TowerProgram() = default;
  virtual const TowerSpec& spec() const = 0;
  virtual std::unique_ptr<TowerRun> Begin(TowerInput input) = 0;
};

class VitTower : public Tower {
 public:
  // `weights_id`: of the weights and of the library. `width`: of the model's embedding rows.
  // Errors: kCorrupt when the settings are not the library's.
  static Result<std::shared_ptr<const Tower>> Make(PictureSettings settings,
                                                   std::shared_ptr<TowerProgram> program,
                                                   const std::string& weights_id, int width);

  int width() const override { return program_->spec().width; }
  const std::string& id() const override { return id_; }
  const std::string& marker() const override { return settings_->marker; }
  Result<PicturePlan> Plan(PictureSize size, PictureDetail detail) const override;
  Result<std::unique_ptr<RowMaker>> Encode(std::string_view picture,
                                           PictureDetail detail) const override;

 private:
  VitTower() = default;
  std::shared_ptr<const PictureSettings> settings_;
  std::shared_ptr<TowerProgram> program_;
  std::string id_;
};

}  // namespace mlc
