#include "chat/tools/tool_prompt.h"

#include <map>

#include "base/hash.h"
#include "chat/tools/answer_planner.h"

namespace mlc {
namespace {

using protocol::ChatCompletionMessage;
using protocol::ChatCompletionRequest;
using protocol::ChatCompletionRole;

// The content as one text.
std::string TextOf(const Json* content) {
  if (content == nullptr || content->is_null()) return "";
  if (content->is_string()) return content->as_string();
  std::string text;
  for (const Json& part : content->as_array()) {
    const Json* words = part.Find("text");
    if (words != nullptr) text += (text.empty() ? "" : "\n") + words->as_string();
  }
  return text;
}

// Nine letters and digits, which Mistral's templates require.
std::string ShortId(const std::string& id) {
  constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
  uint64_t bits = Fnv1a(id);
  std::string out;
  for (int i = 0; i < 9; ++i, bits /= 36) out.push_back(kDigits[bits % 36]);
  return out;
}

// Gives the calls of a message, and the call that it answers, the ids that `change` makes of
// theirs.
template <typename Change>
void ChangeIds(Json* message, Change change) {
  for (auto& [key, member] : message->as_object()) {
    if (key == "tool_call_id") member = change(member.as_string());
    if (key != "tool_calls") continue;
    for (Json& call : member.as_array()) call.Set("id", change(call.Find("id")->as_string()));
  }
}

std::string CallsAsText(const ToolFormat& format, const ChatCompletionMessage& message) {
  std::vector<WrittenCall> calls;
  for (const protocol::ChatCompletionMessageToolCall& call : *message.tool_calls) {
    calls.push_back({call.function.name, call.function.arguments});
  }
  return WriteCalls(format, calls);
}

bool HasCalls(const ChatCompletionMessage& message) {
  return message.tool_calls && !message.tool_calls->empty();
}

// For a template that shows neither calls nor results: they become the assistant's and the user's
// text.
Json AsPlainMessage(const ToolFormat& format, const ChatCompletionMessage& message, Json json) {
  std::string text = TextOf(json.Find("content"));
  if (message.role == ChatCompletionRole::kTool) {
    return Json()
        .Set("role", "user")
        .Set("content", "<tool_response>\n" + text + "\n</tool_response>");
  }
  if (!HasCalls(message)) return json;
  text += (text.empty() ? "" : "\n") + CallsAsText(format, message);
  return Json().Set("role", "assistant").Set("content", std::move(text));
}

// For a template that has the function in "metadata": a message for each call, behind the text.
void AppendCallsApart(const ChatCompletionMessage& message, const std::string& text,
                      Json* messages) {
  auto append = [&](const char* role, std::string content) -> Json& {
    messages->Append(Json().Set("role", role).Set("content", std::move(content)));
    return messages->as_array().back();
  };
  if (message.role == ChatCompletionRole::kTool) {
    append("observation", text);
    return;
  }
  if (!text.empty()) append("assistant", text);
  for (const protocol::ChatCompletionMessageToolCall& call : *message.tool_calls) {
    append("assistant", call.function.arguments).Set("metadata", call.function.name);
  }
}

// Appends a message. For templates in which turns alternate, the results of one message's calls are
// joined into one turn.
void AppendTurn(Json message, bool joins, Json* messages) {
  Json::Array& all = messages->as_array();
  if (!joins || all.empty() || *all.back().Find("role") != *message.Find("role")) {
    return all.push_back(std::move(message));
  }
  std::string text = TextOf(all.back().Find("content")) + "\n" + TextOf(message.Find("content"));
  all.back().Set("content", std::move(text));
}

bool IsResult(const Json& message) { return *message.Find("role") == Json("tool"); }

bool HasSeveralCalls(const Json& message) {
  const Json* calls = message.Find("tool_calls");
  return calls != nullptr && calls->as_array().size() > 1;
}

// Divides an assistant's message into one message for each call, each followed by its results.
// Results without a call come last.
void AppendApart(Json message, const Json::Array& results, Json* out) {
  std::map<std::string, Json::Array> by_call;
  for (const Json& result : results) {
    by_call[result.Find("tool_call_id")->as_string()].push_back(result);
  }
  const Json calls = *message.Find("tool_calls");
  auto append_results = [&](Json::Array* found) {
    for (Json& result : *found) out->Append(std::move(result));
    found->clear();
  };
  for (const Json& call : calls.as_array()) {
    out->Append(message.Set("tool_calls", Json(Json::Array{call})));
    message.Set("content", Json());  // the content stays only in the first message
    append_results(&by_call[call.Find("id")->as_string()]);
  }
  for (auto& [id, found] : by_call) append_results(&found);
}

Json SplitCalls(const Json& messages) {
  Json out = Json::MakeArray();
  const Json::Array& all = messages.as_array();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!HasSeveralCalls(all[i])) {
      out.Append(all[i]);
      continue;
    }
    size_t call = i;
    Json::Array results;
    while (i + 1 < all.size() && IsResult(all[i + 1])) results.push_back(all[++i]);
    AppendApart(all[call], results, &out);
  }
  return out;
}

// The functions that were called so far, by the ids of the calls.
class CalledFunctions {
 public:
  struct Called {
    std::string name;
    size_t index;  // among all calls of the conversation
  };

  void Add(const ChatCompletionMessage& message) {
    if (!message.tool_calls) return;
    for (const protocol::ChatCompletionMessageToolCall& call : *message.tool_calls) {
      by_id_.insert_or_assign(call.id, Called{call.function.name, num_calls_++});
    }
  }
  // nullptr if there is no such call.
  const Called* Find(const std::string& id) const {
    auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, Called> by_id_;
  size_t num_calls_ = 0;
};

// The ids that stand for functions: functions.NAME:INDEX.
void NameIds(const CalledFunctions& called, Json* message) {
  ChangeIds(message, [&](const std::string& id) {
    const CalledFunctions::Called* call = called.Find(id);
    return call == nullptr ? id : "functions." + call->name + ":" + std::to_string(call->index);
  });
}

Status ResolveCall(const ChatCompletionMessage& message, size_t index,
                   const CalledFunctions& called, Json* json) {
  if (message.role != ChatCompletionRole::kTool) return {};
  const auto* found = called.Find(message.tool_call_id.value_or(""));
  if (found == nullptr) {
    return InvalidArgument(
               "a message of the role 'tool' must answer one of 'tool_calls' in a "
               "message before it; there is no call '" +
               message.tool_call_id.value_or("") + "'")
        .WithParam("messages[" + std::to_string(index) + "].tool_call_id")
        .WithReason(Reason::kInvalidValue);
  }
  if (!message.name) json->Set("name", found->name);
  return {};
}

// The functions in the form that models know: without OpenAI's `strict`, and always with
// parameters.
Json Functions(const ChatCompletionRequest& request) {
  Json functions = Json::MakeArray();
  for (const protocol::ChatCompletionTool& tool : *request.tools) {
    protocol::FunctionDefinition function = tool.function;
    function.strict.reset();
    if (!function.parameters) {
      function.parameters = Json().Set("type", "object").Set("properties", Json::MakeObject());
    }
    functions.Append(function.ToJson());
  }
  return functions;
}

Json ToolsForTemplate(const ChatCompletionRequest& request) {
  Json tools = Functions(request);
  for (Json& tool : tools.as_array()) {
    tool = Json().Set("type", "function").Set("function", Json(tool));
  }
  return tools;
}

std::string Instructions(const ToolFormat& format, const ChatCompletionRequest& request) {
  std::string text =
      "# Tools\n\nYou may call functions to help with the user's request. Each of these lines "
      "describes one as JSON:\n<tools>\n";
  const Json functions = Functions(request);
  for (const Json& function : functions.as_array()) text += function.Dump() + "\n";
  return text +
         "</tools>\n\nTo call a function, write its name and a JSON object with its arguments in "
         "exactly this form:\n" +
         WriteCalls(format, {{"FUNCTION", R"({"PARAMETER": "VALUE"})"}}) +
         "\n\nThe result comes with the next message. If no function helps, answer without one.";
}

void SetSystemTools(const ChatCompletionRequest& request, Json* messages) {
  *messages = WithInstructions(*messages, "", "system");
  messages->as_array().front().Set("tools", Functions(request).Dump());
}

}  // namespace

Json WithInstructions(const Json& messages, const std::string& text, const char* role) {
  Json out = Json::MakeArray();
  bool is_added = false;
  auto is_meant = [&](const Json& message) {
    const std::string& of = message.Find("role")->as_string();
    return of == role || (std::string_view(role) == "system" && of == "developer");
  };
  for (Json message : messages.as_array()) {
    if (!is_added && is_meant(message)) {
      std::string content = TextOf(message.Find("content"));
      const char* between = content.empty() || text.empty() ? "" : "\n\n";
      // in a user message the added text comes first, in a system message last
      bool is_user = std::string_view(role) == "user";
      message.Set("content", is_user ? text + between + content : content + between + text);
      is_added = true;
    }
    out.Append(std::move(message));
  }
  if (!is_added) {
    Json::Array& all = out.as_array();
    all.insert(all.begin(), Json().Set("role", role).Set("content", text));
  }
  return out;
}

Result<TemplateInput> PrepareMessages(const ModelBundle& model,
                                      const ChatCompletionRequest& request) {
  const ToolFormat& format = ToolFormatOf(model);
  const std::string& source = model.chat_template->source();
  bool shows_calls = source.find("tool_calls") != std::string::npos;
  bool in_metadata = format.calls_in_metadata && source.find("metadata") != std::string::npos;
  TemplateInput input;
  CalledFunctions called;
  for (size_t i = 0; i < request.messages.size(); ++i) {
    const ChatCompletionMessage& message = request.messages[i];
    Json json = message.ToJson();
    // OpenAI's clients send it, and templates ask for it
    if (!message.content) json.Set("content", Json());
    MLC_RETURN_IF_ERROR(ResolveCall(message, i, called, &json));
    called.Add(message);
    bool is_about_calls = message.role == ChatCompletionRole::kTool || HasCalls(message);
    if (in_metadata && is_about_calls) {
      AppendCallsApart(message, TextOf(json.Find("content")), &input.messages);
      continue;
    }
    bool follows_result = i > 0 && request.messages[i - 1].role == ChatCompletionRole::kTool;
    if (!shows_calls) json = AsPlainMessage(format, message, std::move(json));
    if (format.short_ids) ChangeIds(&json, ShortId);
    if (format.named_ids) NameIds(called, &json);
    AppendTurn(std::move(json), !shows_calls && follows_result, &input.messages);
  }
  if (shows_calls && format.one_call) input.messages = SplitCalls(input.messages);
  if (!WantsTools(request)) return input;
  if (model.chat_template->UsesTools()) {
    input.tools = ToolsForTemplate(request);
  } else if (format.tools_in_system) {
    SetSystemTools(request, &input.messages);
  } else {
    input.instructions = Instructions(format, request);
  }
  return input;
}

}  // namespace mlc
