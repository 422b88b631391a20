// Where a model's thoughts begin and end, how many tokens they take, and their end when they may
// take no more.
#ifndef MLC_ENGINE_THINKING_H_
#define MLC_ENGINE_THINKING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlc {

struct Thinking {
  std::string begin, end;           // the texts around thoughts
  bool is_open = false;             // when the answer begins: the prompt ended with `begin`
  bool anywhere = false;            // they may begin again, and later than the answer
  int max_tokens = -1;              // all thoughts of an answer; -1: no limit
  std::vector<int32_t> end_tokens;  // `end`, which comes instead of any other token at the limit
};

// Of one choice.
class ThinkingMeter {
 public:
  // `thinking` must outlive it.
  explicit ThinkingMeter(const Thinking* thinking)
      : thinking_(thinking), is_open_(thinking->is_open) {}

  // A token of the answer and the text that it added.
  void Put(int32_t token, const std::string& text);
  // Between the two texts.
  int num_tokens() const { return num_tokens_; }
  // The token that must come next, if one must.
  std::optional<int32_t> forced() const;

 private:
  // Moves on over one marker; false when there is none.
  bool MeetMarker();

  const Thinking* thinking_;
  bool is_open_, is_over_ = false;
  std::string recent_;  // text that a marker may begin in
  int num_tokens_ = 0;
  size_t num_forced_ = 0;  // of end_tokens
};

}  // namespace mlc

#endif  // MLC_ENGINE_THINKING_H_
