// The normalization forms of Unicode 9 (the version of the reference's library).
#pragma once

#include "text/piece.h"

namespace mlc {

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

// Requires valid UTF-8. The worst case is O(n log n), for a text of marks only.
void NormalizeUnicode(NormalizationForm form, Piece* piece);

}  // namespace mlc
