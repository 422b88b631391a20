// How models write tool calls and thoughts, as data: one entry for each format.
//
// The marks in a model's chat template select its format. mlc-chat-config.json may name another one
// (`tool_call_format`, `reasoning_format`). docs/tool-formats.md says how to add a format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace mlc {

enum class CallStyle {
  kJson,    // {"name": NAME, "arguments": {...}}, or an array of those
  kNamed,   // NAME, some text, then the arguments as a JSON object
  kXml,     // <function=NAME> <parameter=KEY> VALUE </parameter> </function>, or other tags
  kPython,  // NAME(KEY=VALUE, ...) with Python's literals, in a list or one on each line
  kQuoted,  // call:NAME{KEY:VALUE,...} with texts between marks; a grammar writes JSON
};

// The tags of kXml. Spaces around tags do not count.
struct XmlTags {
  std::string name, name_end;  // around the function's name; no `name_end`: a space or "<" ends it
  std::string key, key_end;    // around the name of an argument
  std::string value, value_end;  // around its value
  std::string end;               // behind the last argument
  std::string grammar;           // the name that xgrammar has for this way to write arguments
  // Behind the name of an argument, then "true" or "false": whether the value is a text.
  std::string is_text;
};

struct ToolFormat {
  std::string name;
  // The templates of this format contain all of these texts. If several formats match, the first
  // one counts.
  std::vector<std::string> template_marks;
  CallStyle style = CallStyle::kJson;

  // How calls are written, in prompts and by a grammar:
  //   section_begin  call_begin CALL call_end  separator  call_begin CALL call_end  section_end
  std::string section_begin, call_begin, call_end, separator, section_end;
  // For kJson. No names: the call is {NAME: {...}}.
  std::string name_key = "name", arguments_key = "arguments";
  XmlTags xml;
  std::string name_end;  // for kNamed: between the name and the arguments
  std::string quote;     // for kQuoted: before and after a text

  // What the parser accepts. Spaces around these texts do not count.
  std::vector<std::string> openers;  // a call, or an array of calls, follows
  std::vector<std::string> closers;  // may follow a call
  std::vector<std::string> fillers;  // for kNamed: may stand next to the name
  bool bare = false;                 // an answer may begin with a call that has no opener
  bool lines = false;                // an opener begins several calls, one behind another

  bool ends_with_call = false;  // a stop token ends the call and the answer
  bool one_call = false;        // the template refuses messages with several calls
  bool short_ids = false;       // the template needs ids of nine letters and digits
  bool named_ids = false;       // the template shows a call's id in place of its function
  // the template reads the function's name from "metadata", and results have the role "observation"
  bool calls_in_metadata = false;
  // the template reads the tools from the system message, as JSON text
  bool tools_in_system = false;
};

// Whether calls are written without text before them. A grammar then knows their own first words.
inline bool IsWrittenBare(const ToolFormat& format) {
  return format.section_begin.empty() && format.call_begin.empty();
}

struct ReasoningFormat {
  std::string name;
  std::vector<std::string> template_marks;
  std::string begin, end;
  bool anywhere = false;            // thoughts may also come after the beginning of the answer
  std::vector<std::string> hidden;  // texts that are not part of the answer
  // How an answer continues after thoughts, under a grammar: `next`, then a call; or
  // `answer_begin`, then the content.
  std::string next, answer_begin;
};

// Finds a format by name; nullptr if there is none.
const ToolFormat* FindToolFormat(std::string_view name);
const ReasoningFormat* FindReasoningFormat(std::string_view name);

// The format of a model with this chat template. For tools there is always one: `json`, which every
// model can be told to use. For thoughts: nullptr if the model has none.
const ToolFormat& ChooseToolFormat(std::string_view chat_template);
const ReasoningFormat* ChooseReasoningFormat(std::string_view chat_template);

const std::vector<ToolFormat>& ToolFormats();
const std::vector<ReasoningFormat>& ReasoningFormats();

struct WrittenCall {
  std::string name;
  std::string arguments;  // a JSON object's text
};

// The calls of one message, as a model of this format writes them. All styles except JSON need
// arguments that are JSON objects.
std::string WriteCalls(const ToolFormat& format, const std::vector<WrittenCall>& calls);

// The text before and after the arguments of a call of `name`, without call_begin and call_end.
struct CallFrame {
  std::string before, after;
};
CallFrame FrameOf(const ToolFormat& format, const std::string& name);

}  // namespace mlc
