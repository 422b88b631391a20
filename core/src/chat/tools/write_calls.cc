#include "base/json.h"
#include "chat/tools/formats.h"

namespace mlc {
namespace {

// Writes JSON as a Python literal. The depth of a Json is limited.
std::string PythonLiteral(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_bool()) return value.as_bool() ? "True" : "False";
  std::string out;
  if (value.is_array()) {
    for (const Json& item : value.as_array())
      out += (out.empty() ? "" : ", ") + PythonLiteral(item);
    return "[" + out + "]";
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.as_object()) {
      out += (out.empty() ? "" : ", ") + Json(key).Dump() + ": " + PythonLiteral(item);
    }
    return "{" + out + "}";
  }
  return value.Dump();
}

std::string PythonArguments(const Json& arguments) {
  std::string out;
  for (const auto& [key, value] : arguments.as_object()) {
    out += (out.empty() ? "" : ", ") + key + "=" + PythonLiteral(value);
  }
  return out;
}

std::string XmlArguments(const Json& arguments, const XmlTags& tags) {
  std::string out;
  for (const auto& [key, value] : arguments.as_object()) {
    std::string text = value.is_string() ? value.as_string() : value.Dump();
    out += (out.empty() ? "" : "\n") + tags.key + key;
    if (!tags.is_text.empty()) out += tags.is_text + (value.is_string() ? "true" : "false");
    out += tags.key_end;
    out += tags.value + text + tags.value_end;
  }
  return out;
}

// {KEY:VALUE,...}: only texts have marks. The depth of a Json is limited.
std::string Quoted(const Json& value, const std::string& quote) {
  if (value.is_string()) return quote + value.as_string() + quote;
  std::string out;
  if (value.is_array()) {
    for (const Json& item : value.as_array()) out += (out.empty() ? "" : ",") + Quoted(item, quote);
    return "[" + out + "]";
  }
  if (value.is_object()) {
    for (const auto& [key, item] : value.as_object()) {
      out += (out.empty() ? "" : ",") + key + ":" + Quoted(item, quote);
    }
    return "{" + out + "}";
  }
  return value.Dump();
}

std::string WriteArguments(const ToolFormat& format, const std::string& arguments) {
  CallStyle style = format.style;
  if (style == CallStyle::kJson || style == CallStyle::kNamed) return arguments;
  Result<Json> json = Json::Parse(arguments);
  if (!json.ok() || !json->is_object()) return arguments;
  if (style == CallStyle::kQuoted) return Quoted(*json, format.quote);
  return style == CallStyle::kXml ? XmlArguments(*json, format.xml) : PythonArguments(*json);
}

}  // namespace

CallFrame FrameOf(const ToolFormat& format, const std::string& name) {
  switch (format.style) {
    case CallStyle::kNamed:
      return {name + format.name_end, ""};
    case CallStyle::kXml:
      return {format.xml.name + name + format.xml.name_end + "\n", "\n" + format.xml.end};
    case CallStyle::kPython:
      return {name + "(", ")"};
    case CallStyle::kQuoted:
      return {"call:" + name, ""};
    default:
      if (format.name_key.empty()) return {"{" + Json(name).Dump() + ": ", "}"};
      return {"{\"" + format.name_key + "\": " + Json(name).Dump() + ", \"" + format.arguments_key +
                  "\": ",
              "}"};
  }
}

std::string WriteCalls(const ToolFormat& format, const std::vector<WrittenCall>& calls) {
  std::string out = format.section_begin;
  for (size_t i = 0; i < calls.size(); ++i) {
    CallFrame frame = FrameOf(format, calls[i].name);
    if (i > 0) out += format.separator;
    out += format.call_begin + frame.before + WriteArguments(format, calls[i].arguments) +
           frame.after + format.call_end;
  }
  return out + format.section_end;
}

}  // namespace mlc
