#include "engine/thinking.h"

namespace mlc {

void ThinkingMeter::Put(int32_t token, const std::string& text) {
  if (forced() == token) ++num_forced_;
  bool was_open = is_open_;
  if (!is_over_) recent_ += text;
  while (MeetMarker()) {
  }
  if (was_open && is_open_) ++num_tokens_;
}

bool ThinkingMeter::MeetMarker() {
  if (is_over_) return false;
  const std::string& marker = is_open_ ? thinking_->end : thinking_->begin;
  bool is_first = !is_open_ && !thinking_->anywhere;  // only spaces may stand before it
  if (is_first) recent_.erase(0, recent_.find_first_not_of(" \n\t\r"));
  size_t at = recent_.find(marker);
  if (at == std::string::npos || (is_first && at > 0)) {
    // thoughts that must come first do not come if the text is no beginning of their marker
    is_over_ = is_first && recent_.compare(0, recent_.size(), marker, 0, recent_.size()) != 0;
    if (!is_first && recent_.size() >= marker.size()) {
      recent_.erase(0, recent_.size() - marker.size() + 1);
    }
    return false;
  }
  recent_.erase(0, at + marker.size());
  is_open_ = !is_open_;
  is_over_ = !is_open_ && !thinking_->anywhere;
  num_forced_ = 0;
  return true;
}

std::optional<int32_t> ThinkingMeter::forced() const {
  bool is_at_limit = is_open_ && thinking_->max_tokens >= 0 &&
                     num_tokens_ >= thinking_->max_tokens &&
                     num_forced_ < thinking_->end_tokens.size();
  if (!is_at_limit) return std::nullopt;
  return thinking_->end_tokens[num_forced_];
}

}  // namespace mlc
