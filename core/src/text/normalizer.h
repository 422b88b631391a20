// Normalizers: they rewrite text before it is divided into pieces.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "text/json_view.h"
#include "text/piece.h"

namespace mlc {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Errors: kResourceExhausted if a pattern needs too many steps.
  virtual Status Apply(Piece* piece) const = 0;

  // Reads the object {"type": ..., ...}.
  static Result<std::unique_ptr<Normalizer>> FromJson(const JsonView& view);
};

// SentencePiece's compiled character map; precompiled_charsmap.cc.
Result<std::unique_ptr<Normalizer>> MakePrecompiledNormalizer(const JsonView& view);

}  // namespace mlc
