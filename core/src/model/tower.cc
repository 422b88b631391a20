#include "model/tower.h"

#include <utility>
#include <vector>

#include "base/content_hash.h"
#include "media/picture.h"

namespace mlc {

Result<std::shared_ptr<const EmbeddingRows>> FakeTower::Encode(std::string_view picture) const {
  MLC_RETURN_IF_ERROR(DecodePicture(picture).status());
  ContentHash hash = HashContent(picture);
  std::vector<float> values;
  for (int i = 0; i < kRows * width_; ++i) {
    values.push_back(static_cast<float>(hash[static_cast<size_t>(i) % hash.size()]) + 0.01f * i);
  }
  return EmbeddingRows::Make(std::move(values), width_);
}

}  // namespace mlc
