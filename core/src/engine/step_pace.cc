#include "engine/step_pace.h"

#include <algorithm>

namespace mlc {
namespace {

constexpr double kBesideDecodes = 0.2, kAlone = 1.0;  // seconds of a step
// A step of fewer rows reads the weights too often for what it computes.
constexpr int kLeastBeside = 64, kLeastAlone = 256;
// The time of a step of fewer rows says little about that of many.
constexpr int kTellingRows = 16;

int RowsIn(double seconds, double row_seconds, int least) {
  constexpr int kTile = 32;  // rows that prompt kernels compute together
  double rows = std::min(seconds / row_seconds, 1e6);
  return std::max(least, static_cast<int>(rows) / kTile * kTile);
}

}  // namespace

void StepPace::Add(int prompt_rows, double seconds) {
  if (prompt_rows < kTellingRows || seconds <= 0) return;
  double now = seconds / prompt_rows;
  // A slow step may have waited for a file, or for another program. A fast one shows what is
  // possible.
  bool is_slower = row_seconds_ > 0 && now > row_seconds_;
  row_seconds_ = is_slower ? (row_seconds_ + now) / 2 : now;
}

PromptRows StepPace::Next() const {
  if (row_seconds_ == 0) return {kLeastAlone, kLeastAlone};
  return {RowsIn(kBesideDecodes, row_seconds_, kLeastBeside),
          RowsIn(kAlone, row_seconds_, kLeastAlone)};
}

}  // namespace mlc
