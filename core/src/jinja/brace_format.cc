// `"{} {name:>8}".format(...)`.
#include <algorithm>
#include <optional>

#include "base/utf8.h"
#include "jinja/format_spec.h"
#include "jinja/runtime.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

// str.format: literal text and {field!conversion:spec}.
class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Arguments& arguments)
      : runtime_(runtime), arguments_(arguments) {}

  Result<std::string> Run(const std::string& format, int depth) {
    std::string out;
    for (size_t pos = 0; pos < format.size();) {
      char c = format[pos++];
      if (c != '{' && c != '}') {
        out.push_back(c);
      } else if (pos < format.size() && format[pos] == c) {
        out.push_back(c);
        ++pos;
      } else if (c == '}') {
        return InvalidArgument("single '}' encountered in format string");
      } else {
        MLC_ASSIGN_OR_RETURN(std::string field, Body(format, &pos));
        MLC_ASSIGN_OR_RETURN(std::string text, Field(field, depth));
        out += text;
      }
      if (out.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
    }
    return out;
  }

 private:
  // The text between the braces. At the call, *pos is behind the opening brace.
  static Result<std::string> Body(const std::string& format, size_t* pos) {
    size_t begin = *pos;
    for (int open = 1; *pos < format.size(); ++*pos) {
      if (format[*pos] == '{') ++open;
      if (format[*pos] == '}' && --open == 0) {
        ++*pos;
        return format.substr(begin, *pos - begin - 1);
      }
    }
    return InvalidArgument("expected '}' before end of format string");
  }

  Result<std::string> Field(const std::string& field, int depth) {
    if (depth <= 0) return InvalidArgument("max string recursion exceeded");
    MLC_RETURN_IF_ERROR(runtime_.Charge(1));
    size_t name_end = std::min(field.find_first_of("!:"), field.size());
    char conversion = '\0';
    size_t spec_begin = name_end;
    if (name_end < field.size() && field[name_end] == '!') {
      if (name_end + 1 >= field.size())
        return InvalidArgument("missing conversion in format string");
      conversion = field[name_end + 1];
      spec_begin = name_end + 2;
      if (spec_begin < field.size() && field[spec_begin] != ':')
        return InvalidArgument("expected ':' after conversion specifier");
    }
    std::string spec = spec_begin < field.size() ? field.substr(spec_begin + 1) : "";
    MLC_ASSIGN_OR_RETURN(Value value, Lookup(field.substr(0, name_end)));
    MLC_ASSIGN_OR_RETURN(value, Convert(value, conversion));
    MLC_ASSIGN_OR_RETURN(spec, Run(spec, depth - 1));
    return FormatSpec(value, spec);
  }

  Result<Value> Convert(const Value& value, char conversion) {
    if (conversion == '\0') return value;
    if (!IsOneOf(conversion, "sra")) return InvalidArgument("unknown conversion specifier");
    MLC_ASSIGN_OR_RETURN(std::string text, conversion == 's' ? ToText(value) : ToRepr(value));
    return runtime_.Text(std::move(text));
  }

  // Accepts a name, a number, or nothing (the next argument); then any number of .attribute and
  // [key].
  Result<Value> Lookup(const std::string& name) {
    size_t pos = std::min(name.find_first_of(".["), name.size());
    MLC_ASSIGN_OR_RETURN(Value value, First(name.substr(0, pos)));
    while (pos < name.size()) {
      bool attribute = name[pos] == '.';
      if (!attribute && name[pos] != '[') return InvalidArgument("only '.' or '[' may follow ']'");
      size_t end = attribute ? name.find_first_of(".[", pos + 1) : name.find(']', pos + 1);
      if (!attribute && end == std::string::npos)
        return InvalidArgument("missing ']' in format string");
      end = std::min(end, name.size());
      std::string part = name.substr(pos + 1, end - pos - 1);
      if (part.empty()) return InvalidArgument("empty attribute in format string");
      if (attribute) {
        MLC_ASSIGN_OR_RETURN(value, GetAttribute(runtime_, value, part));
      } else {
        std::optional<int64_t> index = IsDigit(part[0]) ? ParseInt(part, 10) : std::nullopt;
        Value key = index ? Value(*index) : Value::String(part);
        MLC_ASSIGN_OR_RETURN(value, GetItem(runtime_, value, key));
      }
      pos = attribute ? end : end + 1;
    }
    return value;
  }

  Result<Value> First(const std::string& name) {
    size_t index = 0;
    bool automatic = name.empty();
    if (automatic || std::all_of(name.begin(), name.end(), [](char c) { return IsDigit(c); })) {
      if (numbering_ && *numbering_ != automatic)
        return InvalidArgument("cannot mix automatic and manual field numbering");
      numbering_ = automatic;
      index = automatic ? next_++ : static_cast<size_t>(ParseInt(name, 10).value_or(INT32_MAX));
      if (index < arguments_.positional.size()) return arguments_.positional[index];
      return InvalidArgument("replacement index out of range for positional arguments");
    }
    for (const auto& [key, value] : arguments_.named) {
      if (key == name) return value;
    }
    return InvalidArgument("the format names '" + name.substr(0, 100) + "', which is absent");
  }

  Runtime& runtime_;
  const Arguments& arguments_;
  size_t next_ = 0;
  std::optional<bool> numbering_;
};

}  // namespace

Result<std::string> BraceFormat(Runtime& runtime, const std::string& format,
                                const Arguments& arguments) {
  MLC_RETURN_IF_ERROR(runtime.Charge(format.size() / 16));
  return BraceFormatter(runtime, arguments).Run(format, 2);
}

}  // namespace mlc::jinja
