// A model's chat template (Jinja, as Hugging Face's tokenizer_config.json or GGUF metadata carry
// it), and the text it makes of a conversation: what transformers' apply_chat_template makes.
//
//   MLC_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Parse(source, "<s>", "</s>"));
//   MLC_ASSIGN_OR_RETURN(std::string prompt, chat.Render(messages, tools, true));
//
// The variables a template sees: messages, tools, documents (none), add_generation_prompt,
// bos_token, eos_token, and the members of `extra_context`, which may replace any of them.
//
// Messages are adapted to what the template can take, which Parse finds out once by rendering small
// conversations:
//  - content given as a list of parts is joined with newlines to one string where the template
//    would print the list itself or fail on it; a part that is no text is then an error. Content
//    given as a string becomes a list of one text part where the template can only take lists;
//  - content that is null or absent becomes "" where the template would print "None" or fail;
//  - the arguments of a tool call, JSON text in OpenAI's protocol, become an object, as templates
//    expect; text that is no JSON object stays as it is.
#ifndef MLC_CHAT_REQUEST_CHAT_TEMPLATE_H_
#define MLC_CHAT_REQUEST_CHAT_TEMPLATE_H_

#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/status.h"

namespace mlc {

class ChatTemplate {
 public:
  using Clock = std::function<std::tm()>;  // for strftime_now(); by default the local time

  // An error in the template is kInvalidArgument and names the line.
  static Result<ChatTemplate> Parse(std::string source, std::string bos_token,
                                    std::string eos_token);

  // `messages`: array of objects. `tools`: null or array. `extra_context`: object or null.
  // What the template itself refuses (raise_exception) is kInvalidArgument with the template's own
  // message and reason "template_error"; any other failure names the template's line. Safe on
  // several threads at once. Time, memory and recursion are bounded; 512 KB of stack are enough.
  Result<std::string> Render(const Json& messages, const Json& tools, bool add_generation_prompt,
                             const Json& extra_context = Json::MakeObject(),
                             const Clock& clock = nullptr) const;

  // Whether the template reads a variable of that name: "tools", "enable_thinking", ...
  bool Uses(const std::string& name) const;
  bool UsesTools() const { return Uses("tools"); }
  // Whether content can be a list of parts as it stands (images need it).
  bool TakesContentParts() const;

  const std::string& source() const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace mlc

#endif  // MLC_CHAT_REQUEST_CHAT_TEMPLATE_H_
