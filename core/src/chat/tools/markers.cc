#include "chat/tools/markers.h"

#include <algorithm>

namespace mlc {

void Markers::Add(Marker::Kind kind, const std::string& text) {
  if (text.empty()) return;
  markers_.push_back({kind, text});
  first_bytes_.set(static_cast<unsigned char>(text.front()));
}

void Markers::Add(Marker::Kind kind, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) Add(kind, text);
}

Markers::Found Markers::FindAt(std::string_view text, size_t at, bool is_whole,
                               const Filter& filter) const {
  const Marker* longest = nullptr;
  for (const Marker& marker : markers_) {
    size_t length = std::min(marker.text.size(), text.size() - at);
    if (text.compare(at, length, marker.text, 0, length) != 0 || !filter(marker, at)) continue;
    if (length < marker.text.size()) {
      if (!is_whole) return {at, nullptr};
    } else if (longest == nullptr || longest->text.size() < length) {
      longest = &marker;
    }
  }
  return {longest != nullptr ? at : at + 1, longest};
}

Markers::Found Markers::Find(std::string_view text, size_t from, bool is_whole,
                             const Filter& filter) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (!first_bytes_[static_cast<unsigned char>(text[at])]) continue;
    Found found = FindAt(text, at, is_whole, filter);
    if (found.at == at) return found;
  }
  return {text.size(), nullptr};
}

}  // namespace mlc
