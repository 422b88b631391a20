// Finds the markers of a format in text that is not complete yet.
#pragma once

#include <bitset>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

struct Marker {
  enum class Kind { kOpener, kBare, kCloser, kBeginThoughts, kEndThoughts, kHidden };
  Kind kind;
  std::string text;
};

class Markers {
 public:
  struct Found {
    size_t at;             // where it begins; the end of the text if there is none
    const Marker* marker;  // null: none yet
  };
  // Whether a marker has a meaning at a position.
  using Filter = std::function<bool(const Marker& marker, size_t at)>;

  // If two texts are equal, the first one counts. Empty texts are ignored.
  void Add(Marker::Kind kind, const std::string& text);
  void Add(Marker::Kind kind, const std::vector<std::string>& texts);

  // The first marker in text[from ..]. If several begin at the same position, the longest one. If a
  // longer one may still come, the result is none, unless the text `is_whole`.
  Found Find(std::string_view text, size_t from, bool is_whole, const Filter& filter) const;
  // The same, only at text[at]. `at` of the result is behind `at` if no marker can begin there.
  Found FindAt(std::string_view text, size_t at, bool is_whole, const Filter& filter) const;

 private:
  std::vector<Marker> markers_;
  std::bitset<256> first_bytes_;
};

}  // namespace mlc
