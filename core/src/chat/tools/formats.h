// How models write tool calls and thoughts, as data: one entry a format.
//
// A format is chosen by what the model's chat template holds; mlc-chat-config.json may name another
// (`tool_call_format`, `reasoning_format`). docs/tools.md says how to add one.
#ifndef MLC_CHAT_TOOLS_FORMATS_H_
#define MLC_CHAT_TOOLS_FORMATS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

enum class CallStyle {
  kJson,    // {"name": NAME, "arguments": {...}}, or an array of those
  kNamed,   // NAME, some text, then the arguments as a JSON object
  kXml,     // <function=NAME> <parameter=KEY> VALUE </parameter> </function>
  kPython,  // [NAME(KEY=VALUE, ...), ...] with Python's literals
  kQuoted,  // call:NAME{KEY:VALUE,...}, texts between marks; or JSON, as a grammar writes it
};

struct ToolFormat {
  std::string name;
  // The templates of this format hold all of these texts; of several formats the first one counts.
  std::vector<std::string> template_marks;
  CallStyle style = CallStyle::kJson;

  // How calls are written, in prompts and under a grammar:
  //   section_begin  call_begin CALL call_end  separator  call_begin CALL call_end  section_end
  std::string section_begin, call_begin, call_end, separator, section_end;
  std::string arguments_key = "arguments";  // of kJson
  std::string name_end;                     // of kNamed: between the name and the arguments
  std::string quote;                        // of kQuoted: before and after a text

  // What is understood, around which spaces do not count.
  std::vector<std::string> openers;  // a call, or an array of them, follows any of these
  std::vector<std::string> closers;  // may follow a call
  std::vector<std::string> fillers;  // of kNamed: may stand beside the name
  bool bare = false;                 // an answer may begin with a call and no opener

  bool ends_with_call = false;   // a stop token ends a call, and with it the answer
  bool one_call = false;         // the template refuses messages with several calls
  bool short_ids = false;        // the template wants ids of nine letters and digits
  bool tools_in_system = false;  // the template reads tools off the system message, as JSON text
};

struct ReasoningFormat {
  std::string name;
  std::vector<std::string> template_marks;
  std::string begin, end;
  bool anywhere = false;            // thoughts may come after the answer has begun
  std::vector<std::string> hidden;  // framing that is no part of the answer
  // How an answer goes on after thoughts, under a grammar: `next`, then a call, or `answer_begin`
  // and the content.
  std::string next, answer_begin;
};

// By name; nullptr when there is none.
const ToolFormat* FindToolFormat(std::string_view name);
const ReasoningFormat* FindReasoningFormat(std::string_view name);

// The format of a model with this chat template. For tools there is always one: `json`, which any
// model can be told to use. nullptr: a model that does not think.
const ToolFormat& ChooseToolFormat(std::string_view chat_template);
const ReasoningFormat* ChooseReasoningFormat(std::string_view chat_template);

const std::vector<ToolFormat>& ToolFormats();
const std::vector<ReasoningFormat>& ReasoningFormats();

struct WrittenCall {
  std::string name;
  std::string arguments;  // a JSON object's text
};

// The calls of one message as a model of this format writes them. Styles that are not
// JSON need arguments that are JSON objects.
std::string WriteCalls(const ToolFormat& format, const std::vector<WrittenCall>& calls);

// What stands before and after the arguments of a call of `name`, without call_begin and call_end.
struct CallFrame {
  std::string before, after;
};
CallFrame FrameOf(const ToolFormat& format, const std::string& name);

}  // namespace mlc

#endif  // MLC_CHAT_TOOLS_FORMATS_H_
