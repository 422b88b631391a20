#include "chat/request/conv_template.h"

#include <cstdio>
#include <limits>
#include <optional>
#include <utility>

namespace mlc {

namespace {

// The text as a Jinja string literal. Control characters are escaped: the lexer of Jinja would
// normalize line ends.
std::string Literal(const std::string& text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'' || c == '\\') {
      out += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char buffer[8];
      std::snprintf(buffer, sizeof(buffer), "\\x%02x", static_cast<unsigned char>(c));
      out += buffer;
    } else {
      out.push_back(c);
    }
  }
  return out + "'";
}

// The text split at every placeholder, as a Jinja list. Joining the list with a message fills the
// placeholders.
std::string Pieces(const std::string& text, const std::string& placeholder) {
  std::string out = "[";
  size_t begin = 0;
  for (size_t end; (end = text.find(placeholder, begin)) != std::string::npos;
       begin = end + placeholder.size())
    out += Literal(text.substr(begin, end - begin)) + ", ";
  return out + Literal(text.substr(begin)) + "]";
}

// The list of an optional array member, each element read by `read`.
template <typename T, typename Read>
Result<std::vector<T>> ListOf(const Json& object, const char* key, Read read) {
  std::vector<T> list;
  const Json* member = object.Find(key);
  if (!member || member->is_null()) return list;
  if (!member->is_array()) return InvalidArgument("must be an array").WithParam(key);
  for (const Json& element : member->as_array()) {
    std::optional<T> value = read(element);
    if (!value) return InvalidArgument("has an element of a wrong type").WithParam(key);
    list.push_back(std::move(*value));
  }
  return list;
}

Result<std::vector<std::string>> Strings(const Json& object, const char* key) {
  return ListOf<std::string>(object, key, [](const Json& element) {
    return element.is_string() ? std::optional<std::string>(element.as_string()) : std::nullopt;
  });
}

Result<std::vector<int32_t>> TokenIds(const Json& object, const char* key) {
  return ListOf<int32_t>(object, key, [](const Json& element) {
    bool valid = element.is_int() && element.as_int() >= 0 &&
                 element.as_int() <= std::numeric_limits<int32_t>::max();
    return valid ? std::optional<int32_t>(static_cast<int32_t>(element.as_int())) : std::nullopt;
  });
}

using StringMap = std::vector<std::pair<std::string, std::string>>;

Result<StringMap> StringMapOf(const Json& object, const char* key) {
  StringMap map;
  const Json* member = object.Find(key);
  if (!member || member->is_null()) return map;
  if (!member->is_object()) return InvalidArgument("must be an object").WithParam(key);
  for (const auto& [name, value] : member->as_object()) {
    if (!value.is_string())
      return InvalidArgument("must be a string").WithParam(std::string(key) + "." + name);
    map.emplace_back(name, value.as_string());
  }
  return map;
}

std::string TemplateOf(const StringMap& role_templates, const std::string& role) {
  std::string text = "{" + role + "_message}";
  for (const auto& [name, value] : role_templates) {
    if (name == role) text = value;
  }
  return text;
}

// The rules of a conversation, the same for every model. Variables that are set before it have the
// differences.
constexpr char kBody[] = R"(
{%- set state = namespace(system=system_message, turns=messages, first=true) -%}
{%- if messages and messages[0].role == 'system' -%}
  {%- set state.turns = messages[1:] -%}
  {%- set content = messages[0].content | default('', true) -%}
  {%- set state.system = content if content is string
                         else content | map(attribute='text') | join('\n') -%}
{%- endif -%}
{%- set system = system_pieces | join(state.system) -%}
{{- system -}}
{%- for message in state.turns -%}
  {%- set role = message.role -%}
  {%- if role == 'system' -%}
    {{- raise_exception('A system message is only allowed as the first message.') -}}
  {%- endif -%}
  {%- if role not in roles -%}
    {{- raise_exception('Role "' ~ role ~ '" is not a supported role in ' ~ (roles | list)) -}}
  {%- endif -%}
  {%- set content = message.content | default(none) -%}
  {%- if content is none -%}
    {{- roles[role] ~ role_empty_sep -}}
  {%- else -%}
    {%- if role_after_system or system == '' or not state.first -%}
      {{- roles[role] ~ role_content_sep -}}
    {%- endif -%}
    {%- for part in ([{'type': 'text', 'text': content}] if content is string else content) -%}
      {%- if part.type == 'image' and part.marker is defined -%}
        {{- part.marker ~ '\n' -}}
      {%- elif part.type != 'text' -%}
        {{- raise_exception('This model takes only text content.') -}}
      {%- else -%}
        {{- role_pieces[role] | join(part.text) -}}
      {%- endif -%}
    {%- endfor -%}
    {{- seps[1] if role == 'assistant' else seps[0] -}}
  {%- endif -%}
  {%- set state.first = false -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- roles['assistant'] ~ role_empty_sep -}}
{%- endif -%}
)";

constexpr char kFunctionPlaceholder[] = "{function_string}";

// Wraps the body if a template has places for functions: the last place gets the functions, the
// others become empty. The functions have the form of json.dumps of MLC-LLM's tool objects.
constexpr char kFunctionsBegin[] = R"({%- set text -%})";
constexpr char kFunctionsEnd[] = R"({%- endset -%}
{%- set functions = namespace(list=[], text=function_string) -%}
{%- for tool in tools or [] -%}
  {%- set function = tool.function -%}
  {%- set functions.list = functions.list + [{'description': function.description | default(none),
      'name': function.name, 'parameters': function.parameters}] -%}
  {%- set functions.text = functions.list | tojson(ensure_ascii=true) -%}
{%- endfor -%}
{{- text.rsplit('{function_string}', 1) | join(functions.text)
    | replace('{function_string}', '') -}}
)";

std::string Set(const char* name, const std::string& value) {
  return std::string("{%- set ") + name + " = " + value + " -%}\n";
}

// The variables with the properties of this conversation template.
Result<std::string> Variables(const Json& conv, const StringMap& roles,
                              const StringMap& role_templates) {
  MLC_ASSIGN_OR_RETURN(std::string system_template,
                       GetStringOr(conv, "system_template", "{system_message}"));
  MLC_ASSIGN_OR_RETURN(std::string system_message, GetStringOr(conv, "system_message", ""));
  MLC_ASSIGN_OR_RETURN(std::string content_sep, GetStringOr(conv, "role_content_sep", ""));
  MLC_ASSIGN_OR_RETURN(std::string empty_sep, GetStringOr(conv, "role_empty_sep", ""));
  MLC_ASSIGN_OR_RETURN(std::string function_string, GetStringOr(conv, "function_string", ""));
  MLC_ASSIGN_OR_RETURN(bool add_role, GetBoolOr(conv, "add_role_after_system_message", true));
  MLC_ASSIGN_OR_RETURN(std::vector<std::string> seps, Strings(conv, "seps"));
  if (seps.empty() || seps.size() > 2)
    return InvalidArgument("must hold one or two separators").WithParam("seps");
  std::string role_list, piece_list;
  for (const auto& [role, name] : roles) {
    std::string text = TemplateOf(role_templates, role);
    role_list += Literal(role) + ": " + Literal(name) + ", ";
    piece_list += Literal(role) + ": " + Pieces(text, "{" + role + "_message}") + ", ";
  }
  return Set("roles", "{" + role_list + "}") + Set("role_pieces", "{" + piece_list + "}") +
         Set("system_pieces", Pieces(system_template, "{system_message}")) +
         Set("system_message", Literal(system_message)) +
         Set("seps", "[" + Literal(seps.front()) + ", " + Literal(seps.back()) + "]") +
         Set("role_content_sep", Literal(content_sep)) + Set("role_empty_sep", Literal(empty_sep)) +
         Set("function_string", Literal(function_string)) +
         Set("role_after_system", add_role ? "true" : "false");
}

bool HasFunctionPlace(const Json& conv, const StringMap& role_templates) {
  const Json* system = conv.Find("system_template");
  const Json* message = conv.Find("system_message");
  bool found = false;
  for (const Json* text : {system, message})
    found = found || (text && text->is_string() &&
                      text->as_string().find(kFunctionPlaceholder) != std::string::npos);
  for (const auto& [role, text] : role_templates)
    found = found || text.find(kFunctionPlaceholder) != std::string::npos;
  return found;
}

}  // namespace

Result<ConvTemplate> ParseConvTemplate(const Json& conv) {
  if (!conv.is_object()) return InvalidArgument("must be an object").WithParam("conv_template");
  ConvTemplate result;
  MLC_ASSIGN_OR_RETURN(result.system_prefix_token_ids, TokenIds(conv, "system_prefix_token_ids"));
  MLC_ASSIGN_OR_RETURN(result.stop_strings, Strings(conv, "stop_str"));
  MLC_ASSIGN_OR_RETURN(result.stop_token_ids, TokenIds(conv, "stop_token_ids"));
  MLC_ASSIGN_OR_RETURN(StringMap roles, StringMapOf(conv, "roles"));
  MLC_ASSIGN_OR_RETURN(StringMap role_templates, StringMapOf(conv, "role_templates"));
  bool has_assistant = false;
  for (const auto& [role, name] : roles) has_assistant = has_assistant || role == "assistant";
  if (!has_assistant) return InvalidArgument("must name the assistant's role").WithParam("roles");
  MLC_ASSIGN_OR_RETURN(std::string variables, Variables(conv, roles, role_templates));
  bool functions = HasFunctionPlace(conv, role_templates);
  result.jinja_source =
      variables + (functions ? kFunctionsBegin : "") + kBody + (functions ? kFunctionsEnd : "");
  return result;
}

}  // namespace mlc
