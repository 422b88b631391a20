#include "text/model.h"
namespace mlc {
Result<std::unique_ptr<TokenModel>> MakeUnigramModel(const JsonView& view) {
  return view.NotOffered("Unigram is not supported");
}
Result<std::unique_ptr<TokenModel>> MakeWordPieceModel(const JsonView& view) {
  return view.NotOffered("WordPiece is not supported");
}
Result<std::unique_ptr<TokenModel>> MakeWordLevelModel(const JsonView& view) {
  return view.NotOffered("WordLevel is not supported");
}
}  // namespace mlc
