// A tower turns a picture into embedding rows of a prompt. A model without a tower reads only text.
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
  // `picture`: the bytes of a picture file (media/picture.h, which says what is read and with which
  // error the rest is refused). May be called from any thread.
  virtual Result<std::shared_ptr<const EmbeddingRows>> Encode(std::string_view picture) const = 0;
};

// The tower of the fake model: decodes the picture as a real one would, and makes a few rows from a
// hash of the file's bytes.
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
