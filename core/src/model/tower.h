// What makes rows of a prompt out of a picture. A model without one reads text alone.
#ifndef MLC_MODEL_TOWER_H_
#define MLC_MODEL_TOWER_H_

#include <memory>
#include <string_view>

#include "base/status.h"
#include "model/prompt.h"

namespace mlc {

class Tower {
 public:
  virtual ~Tower() = default;
  // `picture`: the bytes of a file, PNG or JPEG. Called from any thread. kInvalidArgument for what
  // is no picture.
  virtual Result<std::shared_ptr<const EmbeddingRows>> Encode(std::string_view picture) const = 0;
};

// Of the fake model: a few rows made of a hash of the bytes, whatever they are.
class FakeTower : public Tower {
 public:
  explicit FakeTower(int width) : width_(width) {}
  static constexpr int kRows = 4;
  Result<std::shared_ptr<const EmbeddingRows>> Encode(std::string_view picture) const override;

 private:
  int width_;
};

}  // namespace mlc

#endif  // MLC_MODEL_TOWER_H_
