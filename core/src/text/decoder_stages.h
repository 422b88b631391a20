// The decoders by name. Each function reads its own fields.
#ifndef MLC_TEXT_DECODER_STAGES_H_
#define MLC_TEXT_DECODER_STAGES_H_

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

#endif  // MLC_TEXT_DECODER_STAGES_H_
