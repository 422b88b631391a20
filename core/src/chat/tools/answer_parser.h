// Divides a model's text into the parts of an answer: content, thoughts and tool calls.
//
//   AnswerParser parser(plan);                       // one for each choice
//   for (piece of text) Send(parser.Put(piece));
//   Send(parser.Finish());
//
// The joined parts do not depend on how the text was divided into pieces. Nothing is taken back. So
// text is held back while it may be the beginning of a marker. A free-form call is held back until
// it is complete: if it is malformed, or calls a tool that is not offered, it becomes content.
// Under a grammar a call cannot be malformed, so its arguments come out as they are generated.
//
// The time is linear in the text. For texts with many false beginnings of calls, repeated reading
// is limited to eight times their length.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/call_reader.h"
#include "chat/tools/formats.h"

namespace mlc {

// What the parser must find in an answer's text.
struct AnswerPlan {
  const ReasoningFormat* reasoning = nullptr;  // null: the answer has no thoughts
  bool begins_in_thoughts = false;             // the prompt has opened the thoughts
  const ToolFormat* tools = nullptr;           // null: the answer has no calls
  OfferedTools offered;
  bool is_guided = false;           // a grammar writes the calls in the form of the format
  std::vector<std::string> hidden;  // the texts of special tokens, which are never content

  bool IsPlain() const { return reasoning == nullptr && tools == nullptr; }
};

struct AnswerPart {
  enum class Kind { kContent, kReasoning, kCall, kArguments };
  Kind kind;
  std::string text;  // for kCall: the tool's name
  int call = -1;     // for kCall and kArguments: index of the call in the answer
};

class AnswerParser {
 public:
  explicit AnswerParser(std::shared_ptr<const AnswerPlan> plan);
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  // Returns the new parts. Neighbours of the same kind are joined, and texts have whole code
  // points.
  std::vector<AnswerPart> Put(std::string_view text);
  // Ends the text and returns what was held back.
  std::vector<AnswerPart> Finish();
  int num_calls() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc
