// A part of the input on its way to the model.
#ifndef MLC_TEXT_PIECE_H_
#define MLC_TEXT_PIECE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

// Text under normalization. The reference keeps, for every byte, the place in the input that it
// came from; all that ids can depend on is whether that is the very beginning (Metaspace with
// prepend_scheme "first"), so that two fields are enough.
struct Piece {
  std::string text;
  bool at_start = false;  // the slice begins where the input begins
  size_t lead = 0;        // then: how many bytes at the start come from the input's first character
  int32_t id = -1;        // an added token that was found here; `text` is then empty

  static Piece OfInput(std::string_view text);
  Piece Slice(size_t begin, size_t end) const;
};

// Rewrites a piece's text from left to right, keeping `lead` right. Each character put is either
// in the place of the next old characters or inserted behind the ones before.
class PieceRewriter {
 public:
  explicit PieceRewriter(Piece* piece) : piece_(piece), old_lead_(piece->lead) {}

  // Skips `old_bytes` of the old text without putting anything.
  void Drop(size_t old_bytes) { offset_ += old_bytes; }
  // Puts `text` in the place of `old_bytes` of the old text.
  void Replace(std::string_view text, size_t old_bytes) {
    Append(text, offset_ < old_lead_);
    offset_ += old_bytes;
  }
  // Puts `text` behind what was consumed last.
  void Insert(std::string_view text) { Append(text, offset_ < 1 || offset_ - 1 < old_lead_); }
  // Copies bytes of the old text.
  void Copy(size_t old_bytes);
  void Finish();
  bool empty() const { return out_.empty(); }  // nothing has been put yet

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

#endif  // MLC_TEXT_PIECE_H_
