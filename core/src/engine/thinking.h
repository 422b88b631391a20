// Finds where a model's thoughts begin and end, counts their tokens, and ends them at the limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlc {

struct Thinking {
  std::string begin, end;  // the markers around thoughts
  bool is_open = false;    // the answer begins inside thoughts: the prompt ended with `begin`
  bool anywhere = false;   // thoughts may begin several times, and after text
  int max_tokens = -1;     // of all thoughts in one answer; -1: no limit
  // the tokens of `end`; they replace any other token at the limit
  std::vector<int32_t> end_tokens;
};

// Measures the thoughts of one choice.
class ThinkingMeter {
 public:
  // `thinking` must outlive it.
  explicit ThinkingMeter(const Thinking* thinking)
      : thinking_(thinking), is_open_(thinking->is_open) {}

  // Takes a token of the answer and the text that it added.
  void Put(int32_t token, const std::string& text);
  // The number of tokens between the markers.
  int num_tokens() const { return num_tokens_; }
  // The token that must come next, if one must.
  std::optional<int32_t> forced() const;

 private:
  // Goes past one marker. Returns false when there is none.
  bool MeetMarker();

  const Thinking* thinking_;
  bool is_open_, is_over_ = false;
  std::string recent_;  // text in which a marker may begin
  int num_tokens_ = 0;
  size_t num_forced_ = 0;  // how many of end_tokens came already
};

}  // namespace mlc
