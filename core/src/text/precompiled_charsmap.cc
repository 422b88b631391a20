#include "text/normalizer.h"

namespace mlc {

Result<std::unique_ptr<Normalizer>> MakePrecompiledNormalizer(const JsonView& view) {
  return view.NotOffered("the normalizer type \"Precompiled\" is not supported");
}

}  // namespace mlc
