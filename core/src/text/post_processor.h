// Post-processors: the special tokens around a text (BOS, EOS, [CLS], ...).
#ifndef MLC_TEXT_POST_PROCESSOR_H_
#define MLC_TEXT_POST_PROCESSOR_H_

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"

namespace mlc {

// A list of ids with places for the text. For one text, all kinds of post-processors are such a
// list. ByteLevel only changes offsets, which we do not keep.
class PostProcessor {
 public:
  // Reads the file's "post_processor", which may be absent.
  static Result<PostProcessor> FromJson(const JsonView& file);

  // The ids that it adds to every text.
  std::vector<int32_t> SpecialIds() const;
  std::vector<int32_t> Apply(const std::vector<int32_t>& text_ids, bool add_special_tokens) const;

 private:
  struct Part {
    bool is_text;
    std::vector<int32_t> special_ids;
  };
  Status Read(const JsonView& view);
  Status ReadTemplate(const JsonView& view);
  Status ReadSurrounding(const JsonView& view);
  bool is_template_ = false;
  std::vector<Part> parts_;  // empty: only the text
};

}  // namespace mlc

#endif  // MLC_TEXT_POST_PROCESSOR_H_
