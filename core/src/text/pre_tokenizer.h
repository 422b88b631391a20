// Pre-tokenizers: they divide normalized text into the pieces that the model gets one by one.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"
#include "text/piece.h"

namespace mlc {

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;

  // Replaces each piece that is not an added token by its parts. Empty parts are left out. Errors:
  // kResourceExhausted if a pattern needs too many steps.
  virtual Status Apply(std::vector<Piece>* pieces) const = 0;
  // Whether the parts contain all bytes of the text.
  virtual bool KeepsText() const { return false; }

  // Reads the object {"type": ..., ...}.
  static Result<std::unique_ptr<PreTokenizer>> FromJson(const JsonView& view);
};

}  // namespace mlc
