// A model's chat template (Jinja, as Hugging Face's tokenizer_config.json or GGUF metadata carry
// it), and the text it makes of a conversation: what transformers' apply_chat_template makes.
//
//   MLC_ASSIGN_OR_RETURN(ChatTemplate chat, ChatTemplate::Parse(source, "<s>", "</s>"));
//   MLC_ASSIGN_OR_RETURN(std::string prompt, chat.Render(messages, tools, true));
//
// The variables a template sees: messages, tools, documents (none), add_generation_prompt,
// bos_token, eos_token, and the members of `extra_context`, which may replace any of them.
//
// Messages are changed to a form that the template can use. Parse renders small conversations once
// to find this form:
//  - If the template cannot use a list of parts, the parts are joined with newlines to a string; a
//    part that is not text is then an error. If the template can only use lists, a string becomes a
//    list with one text part.
//  - Content that is null or absent becomes "" if the template would print "None" or fail.
//  - The arguments of a tool call are JSON text in OpenAI's protocol. They become an object, as
//    templates expect. Text that is not a JSON object does not change.
#pragma once

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
  // If the template refuses the conversation (raise_exception), the error is kInvalidArgument with
  // the template's message and the reason "template_error". Other errors name the template's line.
  // Several threads may call it at once. Time, memory and recursion are limited; 512 KB of stack
  // are enough.
  Result<std::string> Render(const Json& messages, const Json& tools, bool add_generation_prompt,
                             const Json& extra_context = Json::MakeObject(),
                             const Clock& clock = nullptr) const;

  // Whether the template reads a variable of that name: "tools", "enable_thinking", ...
  bool Uses(const std::string& name) const;
  bool UsesTools() const { return Uses("tools"); }
  // Whether the template can use a list of parts as content (images need it).
  bool TakesContentParts() const;

  const std::string& source() const;

 private:
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace mlc
