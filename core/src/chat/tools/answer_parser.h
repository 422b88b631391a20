// From a model's text to what an answer consists of: content, thoughts and tool calls.
//
//   AnswerParser parser(plan);                       // one for each choice
//   for (piece of text) Send(parser.Put(piece));
//   Send(parser.Finish());
//
// The parts, joined, do not depend on how the text was cut into pieces, and nothing is taken back.
// So text is held back while it could be the beginning of a marker, and a free-form call until it
// is complete: what turns out to be malformed, or calls a tool that is not offered, is content.
// Under a grammar a call cannot be malformed, and its arguments come out as they are generated.
//
// Time is linear in the text, but for texts made to provoke false beginnings, whose repeated
// reading is bounded by eight times their length.
#ifndef MLC_CHAT_TOOLS_ANSWER_PARSER_H_
#define MLC_CHAT_TOOLS_ANSWER_PARSER_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "chat/tools/call_reader.h"
#include "chat/tools/formats.h"

namespace mlc {

// What is to be found in an answer's text.
struct AnswerPlan {
  const ReasoningFormat* reasoning = nullptr;  // null: there are no thoughts
  bool begins_in_thoughts = false;             // the prompt has opened them
  const ToolFormat* tools = nullptr;           // null: there are no calls
  OfferedTools offered;
  bool is_guided = false;           // a grammar writes the calls, as the format says
  std::vector<std::string> hidden;  // texts that are never content: of special tokens

  bool IsPlain() const { return reasoning == nullptr && tools == nullptr; }
};

struct AnswerPart {
  enum class Kind { kContent, kReasoning, kCall, kArguments };
  Kind kind;
  std::string text;  // of kCall: the tool's name
  int call = -1;     // of kCall and kArguments: which of the answer's calls, from 0
};

class AnswerParser {
 public:
  explicit AnswerParser(std::shared_ptr<const AnswerPlan> plan);
  ~AnswerParser();
  AnswerParser(AnswerParser&&) noexcept;
  AnswerParser& operator=(AnswerParser&&) noexcept;

  // New parts: neighbours of one kind are joined, texts are whole code points.
  std::vector<AnswerPart> Put(std::string_view text);
  // The text is over: what was held back.
  std::vector<AnswerPart> Finish();
  int num_calls() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_ANSWER_PARSER_H_
