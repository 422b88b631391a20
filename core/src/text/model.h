// The model of a tokenizer file: it turns one piece of text into token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/json_view.h"
#include "text/vocabulary.h"

namespace mlc {

class TokenModel {
 public:
  virtual ~TokenModel() = default;

  // Appends the ids of a piece. The piece must be valid UTF-8 and not empty. Thread-safe. Errors:
  // kInvalidArgument if a part has no token and there is no unknown token.
  virtual Status Tokenize(std::string_view piece, std::vector<int32_t>* ids) const = 0;
  virtual const Vocabulary& vocabulary() const = 0;
  // The most bytes of a piece that one token can stand for; 0 if there is no limit, for example if
  // the unknown token can stand for a whole word.
  virtual size_t MostBytesOfToken() const { return 0; }

  // Reads the file's "model". In files older than the "type" member, the other members tell the
  // type.
  static Result<std::unique_ptr<TokenModel>> FromJson(const JsonView& view);
};

// One function for each kind of model, each in its own file.
Result<std::unique_ptr<TokenModel>> MakeBpeModel(const JsonView& view);
Result<std::unique_ptr<TokenModel>> MakeUnigramModel(const JsonView& view);
Result<std::unique_ptr<TokenModel>> MakeWordPieceModel(const JsonView& view);
Result<std::unique_ptr<TokenModel>> MakeWordLevelModel(const JsonView& view);

// "<0x0A>": the token of a single byte in models with byte fallback.
std::string ByteToken(unsigned char byte);

}  // namespace mlc
