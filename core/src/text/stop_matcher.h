// Stop strings in streamed text.
//
// Text goes in as it is decoded and comes out as soon as it can no longer be part of a stop string;
// the rest is held back. On a hit the text before the stop string comes out, the stop string never.
//
//   StopMatcher matcher({"\nUser:", "</s>"});
//   StopMatcher::Out out = matcher.Put(piece);
//   Send(out.text);
//   if (out.stopped) return;       // nothing more comes out
//   ...
//   Send(matcher.Finish());        // the stream ended without a hit
//
// Takes time linear in the text, whatever the number of stop strings. Copies are independent.
#ifndef MLC_TEXT_STOP_MATCHER_H_
#define MLC_TEXT_STOP_MATCHER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mlc {

class StopMatcher {
 public:
  struct Out {
    std::string text;      // new text, safe to show; whole code points when the input has them
    bool stopped = false;  // a stop string was hit now or earlier
    int index = -1;        // which one, an index into the constructor's list
  };

  // Empty stop strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  // The hit completed first wins, of those completed by the same byte the longest: the result does
  // not depend on how the text is cut into pieces.
  Out Put(std::string_view text);
  // The text still held back; "" after a hit. The matcher is then as new.
  std::string Finish();

 private:
  struct Automaton;
  std::shared_ptr<const Automaton> automaton_;
  int state_ = 0;
  int stopped_index_ = -1;
  std::string held_;  // the longest suffix of the text so far that begins a stop string
};

}  // namespace mlc

#endif  // MLC_TEXT_STOP_MATCHER_H_
