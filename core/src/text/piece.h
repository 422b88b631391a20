// A part of the input on its way to the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

// Text during normalization. The reference keeps, for every byte, its position in the input. The
// ids can depend only on one thing: whether that is the very beginning (Metaspace with
// prepend_scheme "first"). So two fields are enough.
struct Piece {
  std::string text;
  bool at_start = false;  // the piece begins where the input begins
  // if at_start: how many bytes at its start come from the input's first character
  size_t lead = 0;
  int32_t id = -1;  // an added token that was found here; then `text` is empty

  static Piece OfInput(std::string_view text);
  Piece Slice(size_t begin, size_t end) const;
};

// Rewrites a piece's text from left to right and keeps `lead` correct. Each new character either
// replaces the next old characters or is inserted behind the previous ones.
class PieceRewriter {
 public:
  explicit PieceRewriter(Piece* piece) : piece_(piece), old_lead_(piece->lead) {}

  // Skips `old_bytes` of the old text.
  void Drop(size_t old_bytes) { offset_ += old_bytes; }
  // Replaces `old_bytes` of the old text by `text`.
  void Replace(std::string_view text, size_t old_bytes) {
    Append(text, offset_ < old_lead_);
    offset_ += old_bytes;
  }
  // Inserts `text` behind the last replaced text.
  void Insert(std::string_view text) { Append(text, offset_ < 1 || offset_ - 1 < old_lead_); }
  // Copies bytes of the old text.
  void Copy(size_t old_bytes);
  void Finish();
  bool empty() const { return out_.empty(); }  // nothing was written yet

 private:
  void Append(std::string_view text, bool leads) {
    if (leads && in_lead_) lead_ += text.size();
    in_lead_ = in_lead_ && leads;
    out_.append(text);
  }
  Piece* piece_;
  size_t old_lead_;
  size_t offset_ = 0;
  size_t lead_ = 0;
  bool in_lead_ = true;
  std::string out_;
};

}  // namespace mlc
