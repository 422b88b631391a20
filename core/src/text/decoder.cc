#include "text/decoder.h"

#include "text/decoder_stages.h"

namespace mlc {
namespace {

bool IsFuse(const JsonView& view) { return TypeOf(view) == "Fuse" || TypeOf(view) == "ByteLevel"; }

Result<DecodeStagePtr> MakeStage(const JsonView& view, bool after_fuse) {
  std::string type = TypeOf(view);
  if (type == "ByteLevel") return MakeByteLevelDecoder();
  if (type == "ByteFallback") return MakeByteFallbackDecoder();
  if (type == "Fuse") return MakeFuseDecoder();
  if (type == "Strip") return MakeStripDecoder(view, after_fuse);
  if (type == "Replace") return MakeReplaceDecoder(view);
  if (type == "Metaspace") return MakeMetaspaceDecoder(view);
  if (type == "WordPiece") return MakeWordPieceDecoder(view);
  if (type == "BPEDecoder") return MakeBpeDecoder(view);
  return view.NotOffered("the decoder type \"" + type + "\" is not supported");
}

}  // namespace

void DecodeStage::Output::Put(std::string_view fragment) const { chain_->PutAt(stage_, fragment); }
void DecodeStage::Output::EndToken() const { chain_->EndTokenAt(stage_); }

Result<DecodeChain> DecodeChain::FromJson(const JsonView& file) {
  DecodeChain chain;
  if (std::optional<JsonView> decoder = file.Optional("decoder")) {
    MLC_RETURN_IF_ERROR(Append(*decoder, &chain));
  } else {
    chain.stages_.push_back(MakeJoinBySpaces());
  }
  return chain;
}

// Turns nested sequences into one flat chain. The JSON parser limits the depth.
Status DecodeChain::Append(const JsonView& view, DecodeChain* chain) {
  if (TypeOf(view) != "Sequence") {
    MLC_ASSIGN_OR_RETURN(DecodeStagePtr stage, MakeStage(view, /*after_fuse=*/false));
    chain->stages_.push_back(std::move(stage));
    return Status();
  }
  MLC_ASSIGN_OR_RETURN(std::vector<JsonView> elements, view.Array("decoders"));
  bool after_fuse = false;
  for (const JsonView& element : elements) {
    if (TypeOf(element) == "Sequence") {
      MLC_RETURN_IF_ERROR(Append(element, chain));
      continue;
    }
    MLC_ASSIGN_OR_RETURN(DecodeStagePtr stage, MakeStage(element, after_fuse));
    chain->stages_.push_back(std::move(stage));
    after_fuse = after_fuse || IsFuse(element);
  }
  return Status();
}

DecodeChain::DecodeChain(const DecodeChain& other) : text_(other.text_) {
  stages_.reserve(other.stages_.size());
  for (const auto& stage : other.stages_) stages_.push_back(stage->Clone());
}

DecodeChain& DecodeChain::operator=(const DecodeChain& other) {
  if (this != &other) *this = DecodeChain(other);
  return *this;
}

void DecodeChain::PutToken(std::string_view token) {
  PutAt(0, token);
  EndTokenAt(0);
}

void DecodeChain::Finish() {
  for (size_t i = 0; i < stages_.size(); ++i) {
    stages_[i]->Finish(DecodeStage::Output(this, i + 1));
  }
}

std::string DecodeChain::Take() { return std::exchange(text_, std::string()); }

std::string DecodeChain::InsideText(std::string token) const {
  for (const auto& stage : stages_) token = stage->InsideText(std::move(token));
  return token;
}

void DecodeChain::PutAt(size_t stage, std::string_view fragment) {
  if (stage == stages_.size()) {
    text_.append(fragment);
  } else {
    stages_[stage]->Put(fragment, DecodeStage::Output(this, stage + 1));
  }
}

void DecodeChain::EndTokenAt(size_t stage) {
  if (stage < stages_.size()) stages_[stage]->EndToken(DecodeStage::Output(this, stage + 1));
}

}  // namespace mlc
