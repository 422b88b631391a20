// The normalization forms of Unicode 9 (the version of the reference's library).
#ifndef MLC_TEXT_UNICODE_NORMALIZE_H_
#define MLC_TEXT_UNICODE_NORMALIZE_H_

#include "text/piece.h"

namespace mlc {

enum class NormalizationForm { kNfc, kNfd, kNfkc, kNfkd };

// Requires valid UTF-8. The worst case is O(n log n), for a text of marks only.
void NormalizeUnicode(NormalizationForm form, Piece* piece);

}  // namespace mlc

#endif  // MLC_TEXT_UNICODE_NORMALIZE_H_
