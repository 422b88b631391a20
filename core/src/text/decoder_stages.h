// The decoders by name. Each function reads its own fields.
#pragma once

#include <memory>

#include "text/decoder.h"

namespace mlc {

using DecodeStagePtr = std::unique_ptr<DecodeStage>;

DecodeStagePtr MakeJoinBySpaces();
DecodeStagePtr MakeByteLevelDecoder();
DecodeStagePtr MakeByteFallbackDecoder();
DecodeStagePtr MakeFuseDecoder();
Result<DecodeStagePtr> MakeStripDecoder(const JsonView& view, bool after_fuse);
Result<DecodeStagePtr> MakeReplaceDecoder(const JsonView& view);
Result<DecodeStagePtr> MakeMetaspaceDecoder(const JsonView& view);
Result<DecodeStagePtr> MakeWordPieceDecoder(const JsonView& view);
Result<DecodeStagePtr> MakeBpeDecoder(const JsonView& view);

}  // namespace mlc
