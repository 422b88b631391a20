#include "engine/step_pace.h"

#include <algorithm>
#include <utility>

namespace mlc {
namespace {

constexpr double kBesideDecodes = 0.2, kAlone = 0.5;  // seconds that the rows of a step take
// A step of fewer rows reads the weights too often for what it computes.
constexpr int kLeastBeside = 64, kLeastAlone = 256;
// The time of a step of fewer rows says little about that of many.
constexpr int kTellingRows = 32;

int RowsIn(double seconds, double row_seconds, int least) {
  constexpr int kTile = 32;  // rows that prompt kernels compute together
  double rows = std::min(seconds / row_seconds, 1e6);
  return std::max(least, static_cast<int>(rows) / kTile * kTile);
}

// A slow step may have waited for a file or for another program. A fast one shows what is possible.
void Learn(double seconds, double* known) {
  bool is_slower = *known > 0 && seconds > *known;
  *known = is_slower ? (*known + seconds) / 2 : seconds;
}

}  // namespace

void StepPace::Add(int prompt_rows, int decode_rows, double seconds, bool is_done) {
  prompt_rows_ += prompt_rows;
  decode_rows_ += decode_rows;
  seconds_ += seconds;
  if (!is_done) return;
  int rows = std::exchange(prompt_rows_, 0), decodes = std::exchange(decode_rows_, 0);
  double took = std::exchange(seconds_, 0.0);
  if (rows == 0 && decodes > 0) Learn(took, &decode_seconds_);
  if (rows < kTellingRows || took <= 0) return;
  if (decodes > 0) took = std::max(took - decode_seconds_, took / 4);
  Learn(took / rows, &row_seconds_);
}

PromptRows StepPace::Next() const {
  if (row_seconds_ == 0) return {kLeastAlone, kLeastAlone};
  return {RowsIn(kBesideDecodes, row_seconds_, kLeastBeside),
          RowsIn(kAlone, row_seconds_, kLeastAlone)};
}

}  // namespace mlc
