#include "kv/content_names.h"

#include <limits>

namespace mlc {

Result<int32_t> ContentNames::NameOf(const ContentHash& content) {
  auto found = places_.find(content);
  if (found != places_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return found->second->second;
  }
  if (last_name_ == std::numeric_limits<int32_t>::min()) {
    return ResourceExhausted("the engine has seen too many pictures; load the model again");
  }
  if (places_.size() >= most_) {
    places_.erase(recent_.back().first);
    recent_.pop_back();
  }
  recent_.emplace_front(content, --last_name_);
  places_[content] = recent_.begin();
  return last_name_;
}

}  // namespace mlc
