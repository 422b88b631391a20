#include "text/model.h"

namespace mlc {

Result<std::unique_ptr<TokenModel>> TokenModel::FromJson(const JsonView& view) {
  std::string type = TypeOf(view);
  if (type.empty() && !view.Optional("type")) {
    const Json* vocabulary = view.json().Find("vocab");
    bool is_list = vocabulary != nullptr && vocabulary->is_array();
    if (view.Optional("merges")) {
      type = "BPE";
    } else if (is_list) {
      type = "Unigram";
    } else if (view.Optional("max_input_chars_per_word")) {
      type = "WordPiece";
    } else {
      type = "WordLevel";
    }
  }
  if (type == "BPE") return MakeBpeModel(view);
  if (type == "Unigram") return MakeUnigramModel(view);
  if (type == "WordPiece") return MakeWordPieceModel(view);
  if (type == "WordLevel") return MakeWordLevelModel(view);
  return view.NotOffered("the model type \"" + type + "\" is not supported");
}

std::string ByteToken(unsigned char byte) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  return std::string("<0x") + kDigits[byte >> 4] + kDigits[byte & 15] + ">";
}

}  // namespace mlc
