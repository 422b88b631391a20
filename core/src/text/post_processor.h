// Post-processors: the special tokens around a text (BOS, EOS, [CLS], ...).
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"
#include "text/token_pair.h"

namespace mlc {

// A list of ids with places for the text, or for two texts. All kinds of post-processors are such
// lists. ByteLevel only changes offsets, which we do not keep.
class PostProcessor {
 public:
  // Reads the file's "post_processor", which may be absent.
  static Result<PostProcessor> FromJson(const JsonView& file);

  // The ids that it adds to a text, and to two texts.
  std::vector<int32_t> SpecialIds() const;
  std::vector<int32_t> Apply(const std::vector<int32_t>& text_ids, bool add_special_tokens) const;
  // Two texts as one input, with special tokens.
  TokenPair ApplyPair(const std::vector<int32_t>& first, const std::vector<int32_t>& second) const;

 private:
  enum class Place { kSpecial, kFirst, kSecond };
  struct Part {
    Place place;
    std::vector<int32_t> special_ids = {};
    int32_t type = 0;
  };
  using Parts = std::vector<Part>;
  Status Read(const JsonView& view);
  Status ReadTemplate(const JsonView& view);
  static Result<Parts> ReadPieces(const JsonView& view, std::string_view key);
  static Result<Part> ReadPiece(const JsonView& piece, const JsonView& tokens);
  Status ReadSurrounding(const JsonView& view, bool has_types);
  bool is_template_ = false;
  Parts parts_;                                              // empty: only the text
  Parts pair_ = {{Place::kFirst}, {Place::kSecond, {}, 1}};  // for two texts
};

}  // namespace mlc
