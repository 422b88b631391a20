// Finds stop strings in streamed text.
//
// Decoded text goes in. It comes out as soon as it cannot be part of a stop string any more; the
// rest is held back. After a hit the text before the stop string comes out. The stop string never
// does.
//
//   StopMatcher matcher({"\nUser:", "</s>"});
//   StopMatcher::Out out = matcher.Put(piece);
//   Send(out.text);
//   if (out.stopped) return;       // no more text follows
//   ...
//   Send(matcher.Finish());        // the stream ended without a hit
//
// The time is linear in the text, for any number of stop strings. Copies are independent.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

class StopMatcher {
 public:
  struct Out {
    std::string text;      // new text, safe to show; whole code points when the input has them
    bool stopped = false;  // a stop string was found now or earlier
    int index = -1;        // which one, an index into the constructor's list
  };

  // Empty stop strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // The hit that is complete first wins; of several that end at the same byte, the longest wins. So
  // the result does not depend on how the text is divided into pieces.
  Out Put(std::string_view text);
  // The text that is still held back; "" after a hit. The matcher is then in its initial state.
  std::string Finish();

 private:
  struct Automaton;
  std::shared_ptr<const Automaton> automaton_;
  int state_ = 0;
  int stopped_index_ = -1;
  std::string held_;  // the longest suffix of the text so far that begins a stop string
};

}  // namespace mlc
