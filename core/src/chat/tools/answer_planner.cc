#include "chat/tools/answer_planner.h"

#include <algorithm>
#include <set>

namespace mlc {
namespace {

using protocol::ChatCompletionRequest;
using protocol::ToolChoiceMode;

bool HasTools(const ChatCompletionRequest& request) {
  return request.tools && !request.tools->empty();
}

const protocol::ChatCompletionNamedToolChoice* NamedChoice(const ChatCompletionRequest& request) {
  return request.tool_choice ? request.tool_choice->named() : nullptr;
}

bool ChoosesMode(const ChatCompletionRequest& request, ToolChoiceMode mode) {
  const ToolChoiceMode* chosen = request.tool_choice ? request.tool_choice->mode() : nullptr;
  return chosen != nullptr && *chosen == mode;
}

std::string TemplateText(const ModelBundle& model) {
  return model.chat_template != nullptr ? model.chat_template->source() : "";
}

Status Wrong(std::string message, std::string param, const Reason& reason = Reason::kInvalidValue) {
  return InvalidArgument(std::move(message)).WithParam(std::move(param)).WithReason(reason);
}

std::string ToolPath(size_t index, const char* field) {
  return "tools[" + std::to_string(index) + "].function." + field;
}

Status CheckName(const std::string& name, const std::string& path) {
  constexpr char kAllowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  constexpr size_t kLongest = 64;
  if (name.size() <= kLongest && name.find_first_not_of(kAllowed) == std::string::npos) return {};
  return Wrong("a function's name has at most 64 letters, digits, '_' and '-'", path);
}

// Checks what every schema of arguments must have. The grammar compiler checks whether it can be
// enforced.
Status CheckParameters(const Json& schema, const std::string& path) {
  const Json* type = schema.Find("type");
  if (type != nullptr && *type != Json("object")) {
    return Wrong(
        "the schema of a function's parameters must be of the type 'object', not " + type->Dump(),
        path, Reason::kInvalidFunctionParameters);
  }
  const Json* properties = schema.Find("properties");
  const Json* required = schema.Find("required");
  bool is_schema = (properties == nullptr || properties->is_object()) &&
                   (required == nullptr || required->is_array());
  if (is_schema) return {};
  return Wrong("this is no JSON Schema: 'properties' is an object and 'required' a list", path,
               Reason::kInvalidFunctionParameters);
}

Status CheckChoice(const ChatCompletionRequest& request) {
  bool has_tools = HasTools(request);
  bool wants_some = request.tool_choice && !ChoosesMode(request, ToolChoiceMode::kNone);
  if (wants_some && !has_tools) {
    return Wrong("'tool_choice' is only allowed when 'tools' are given", "tool_choice");
  }
  const auto* named = NamedChoice(request);
  if (named == nullptr) return {};
  for (const protocol::ChatCompletionTool& tool : *request.tools) {
    if (tool.function.name == named->function.name) return {};
  }
  return Wrong("the tool '" + named->function.name + "' of 'tool_choice' is not among 'tools'",
               "tool_choice.function.name");
}

bool IsStopToken(const ModelBundle& model, int32_t id) {
  const auto& stops = model.stop_token_ids;
  return std::find(stops.begin(), stops.end(), id) != stops.end();
}

// Parts of `text` that could be tokens of their own: <...>, [...].
void FindMarkersIn(const ModelBundle& model, const std::string& text,
                   std::vector<SpecialMarker>* found) {
  for (size_t begin = 0; begin < text.size(); ++begin) {
    if (text[begin] != '<' && text[begin] != '[') continue;
    char close = text[begin] == '<' ? '>' : ']';
    size_t end = text.find(close, begin);
    if (end == std::string::npos) continue;
    std::string part = text.substr(begin, end + 1 - begin);
    std::optional<int32_t> id = model.tokenizer->TokenToId(part);
    bool is_marker = id && *id < model.config.vocab_size && model.tokenizer->IsSpecial(*id);
    if (!is_marker || IsStopToken(model, *id)) continue;
    found->push_back({std::move(part), *id});
  }
}

// The format for calls that a grammar writes. It is the same format; but no grammar writes Python's
// literals, so `json` replaces a Python format.
const ToolFormat* GuidedFormat(const ToolFormat& format) {
  return format.style == CallStyle::kPython ? FindToolFormat("json") : &format;
}

}  // namespace

const ToolFormat& ToolFormatOf(const ModelBundle& model) {
  const ToolFormat* named = FindToolFormat(model.config.tool_call_format);
  return named != nullptr ? *named : ChooseToolFormat(TemplateText(model));
}

const ReasoningFormat* ReasoningFormatOf(const ModelBundle& model) {
  const std::string& name = model.config.reasoning_format;
  return name.empty() ? ChooseReasoningFormat(TemplateText(model)) : FindReasoningFormat(name);
}

Status CheckFormats(const ChatConfig& config) {
  const std::string &tools = config.tool_call_format, &reasoning = config.reasoning_format;
  if (!tools.empty() && FindToolFormat(tools) == nullptr) {
    return NotFound("there is no format of tool calls '" + tools + "'")
        .WithParam("tool_call_format");
  }
  if (!reasoning.empty() && reasoning != "none" && FindReasoningFormat(reasoning) == nullptr) {
    return NotFound("there is no format of thoughts '" + reasoning + "'")
        .WithParam("reasoning_format");
  }
  return {};
}

bool WantsTools(const ChatCompletionRequest& request) {
  return HasTools(request) && !ChoosesMode(request, ToolChoiceMode::kNone);
}

bool MustCall(const ChatCompletionRequest& request) {
  return HasTools(request) &&
         (NamedChoice(request) != nullptr || ChoosesMode(request, ToolChoiceMode::kRequired));
}

Status CheckTools(const ChatCompletionRequest& request) {
  MLC_RETURN_IF_ERROR(CheckChoice(request));
  if (!request.tools) return {};
  std::set<std::string> names;
  for (size_t i = 0; i < request.tools->size(); ++i) {
    const protocol::FunctionDefinition& function = (*request.tools)[i].function;
    MLC_RETURN_IF_ERROR(CheckName(function.name, ToolPath(i, "name")));
    if (!names.insert(function.name).second) {
      return Wrong("two tools are named '" + function.name + "'", ToolPath(i, "name"));
    }
    if (!function.parameters) continue;
    MLC_RETURN_IF_ERROR(CheckParameters(*function.parameters, ToolPath(i, "parameters")));
  }
  return {};
}

AnswerPlan PlanAnswer(const ModelBundle& model, const ChatCompletionRequest& request,
                      const std::string& prompt) {
  AnswerPlan plan;
  plan.reasoning = ReasoningFormatOf(model);
  if (plan.reasoning != nullptr) {
    const std::string& begin = plan.reasoning->begin;
    size_t length = prompt.find_last_not_of(" \n\t\r") + 1;  // npos + 1 is 0
    plan.begins_in_thoughts =
        length >= begin.size() && prompt.compare(length - begin.size(), begin.size(), begin) == 0;
  }
  for (SpecialMarker& marker : FindSpecialMarkers(model)) {
    plan.hidden.push_back(std::move(marker.text));
  }
  if (!WantsTools(request)) return plan;
  bool has_format = request.response_format && !request.response_format->text();
  plan.is_guided = MustCall(request) || !request.parallel_tool_calls || has_format;
  const auto* named = NamedChoice(request);
  for (const protocol::ChatCompletionTool& tool : *request.tools) {
    const protocol::FunctionDefinition& function = tool.function;
    if (named != nullptr && named->function.name != function.name) continue;
    bool is_strict = function.strict.value_or(false);
    plan.is_guided = plan.is_guided || is_strict;
    plan.offered.push_back({function.name, function.parameters.value_or(Json()), is_strict});
  }
  const ToolFormat& format = ToolFormatOf(model);
  plan.tools = plan.is_guided ? GuidedFormat(format) : &format;
  return plan;
}

Result<Thinking> PlanThinking(const ModelBundle& model, const AnswerPlan& plan, int max_tokens) {
  const ReasoningFormat& format = *plan.reasoning;
  Thinking thinking;
  thinking.begin = format.begin;
  thinking.end = format.end;
  thinking.is_open = plan.begins_in_thoughts;
  thinking.anywhere = format.anywhere;
  thinking.max_tokens = max_tokens;
  MLC_ASSIGN_OR_RETURN(thinking.end_tokens, model.tokenizer->Encode(format.end));
  return thinking;
}

std::vector<SpecialMarker> FindSpecialMarkers(const ModelBundle& model) {
  std::vector<SpecialMarker> all;
  auto look_in = [&](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) FindMarkersIn(model, text, &all);
  };
  const ToolFormat& tools = ToolFormatOf(model);
  look_in({tools.section_begin, tools.call_begin, tools.call_end, tools.separator,
           tools.section_end, tools.name_end, tools.quote});
  look_in(tools.openers);
  look_in(tools.closers);
  look_in(tools.fillers);
  if (const ReasoningFormat* reasoning = ReasoningFormatOf(model)) {
    look_in({reasoning->begin, reasoning->end, reasoning->next, reasoning->answer_begin});
    look_in(reasoning->hidden);
  }
  auto by_id = [](const auto& a, const auto& b) { return a.id < b.id; };
  auto same = [](const auto& a, const auto& b) { return a.id == b.id; };
  std::sort(all.begin(), all.end(), by_id);
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

}  // namespace mlc
