// Finding the markers of a format in text that is not complete yet.
#ifndef MLC_CHAT_TOOLS_MARKERS_H_
#define MLC_CHAT_TOOLS_MARKERS_H_

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
    size_t at;             // where it begins; the text's end when there is none
    const Marker* marker;  // null: none, or one that may still become one
  };
  // Whether a marker counts at a position.
  using Filter = std::function<bool(const Marker& marker, size_t at)>;

  // Of equal texts the one added first counts. Empty texts are left out.
  void Add(Marker::Kind kind, const std::string& text);
  void Add(Marker::Kind kind, const std::vector<std::string>& texts);

  // The first marker in text[from ..]; of those that begin at one place the longest. Where a longer
  // one could still come it is none yet, unless the text `is_whole`.
  Found Find(std::string_view text, size_t from, bool is_whole, const Filter& filter) const;
  // The same at text[at] alone; `at` of the result is past `at` when none can begin there.
  Found FindAt(std::string_view text, size_t at, bool is_whole, const Filter& filter) const;

 private:
  std::vector<Marker> markers_;
  std::bitset<256> first_bytes_;
};

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_MARKERS_H_
