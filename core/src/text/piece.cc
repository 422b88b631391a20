#include "text/piece.h"

#include <algorithm>

#include "base/utf8.h"

namespace mlc {

Piece Piece::OfInput(std::string_view text) {
  Piece piece;
  piece.text = text;
  piece.at_start = true;
  if (!text.empty()) DecodeUtf8(text, &piece.lead);
  return piece;
}

Piece Piece::Slice(size_t begin, size_t end) const {
  Piece piece;
  piece.text = text.substr(begin, end - begin);
  piece.at_start = at_start && begin < lead;
  if (piece.at_start) piece.lead = std::min(lead, end) - begin;
  return piece;
}

void PieceRewriter::Copy(size_t old_bytes) {
  std::string_view text = std::string_view(piece_->text).substr(offset_, old_bytes);
  size_t leading = offset_ < old_lead_ ? std::min(old_lead_ - offset_, old_bytes) : 0;
  Append(text.substr(0, leading), true);
  if (leading < old_bytes) Append(text.substr(leading), false);
  offset_ += old_bytes;
}

void PieceRewriter::Finish() {
  piece_->text = std::move(out_);
  piece_->lead = lead_;
}

}  // namespace mlc
