// Filters that turn a value into text, and the look-up of all filters.
#include "jinja/filters.h"

#include <algorithm>

#include "base/utf8.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

using Bound = BoundArguments;

// The text that a filter works on: str(value), as jinja2's soft_str.
Result<std::string> Soft(Runtime& runtime, const Value& value) {
  MLC_ASSIGN_OR_RETURN(std::string text, ToText(value));
  MLC_RETURN_IF_ERROR(runtime.Charge(text.size() / 64));
  return text;
}

bool IsMarkup(const Value& value) { return value.is_string() && value.text().markup; }

template <std::string (*Change)(std::string_view)>
Result<Value> Changed(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  return runtime.Text(Change(text), IsMarkup(value));
}

// Changes the first letter of each word to upper case. A word begins after "-", "(", "{", "[", "<"
// or white space.
std::string TitleWords(std::string_view text) {
  std::string out;
  bool start = true;
  for (size_t pos = 0; pos < text.size();) {
    size_t begin = pos;
    char32_t c = DecodeUtf8(text, &pos);
    bool separator =
        IsSpace(c) || (c < 0x80 && std::string_view("-({[<").find(c) != std::string_view::npos);
    std::string_view one = text.substr(begin, pos - begin);
    out += separator ? std::string(one) : start ? Upper(one) : Lower(one);
    start = separator;
  }
  return out;
}

std::string Copy(std::string_view text) { return std::string(text); }

Result<Value> Trim(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  if (!arguments.given(0)) return runtime.Text(Copy(StripLeft(StripRight(text))), IsMarkup(value));
  MLC_ASSIGN_OR_RETURN(std::string set, arguments.String(0, ""));
  std::u32string chars = ToCodePoints(set);
  MLC_RETURN_IF_ERROR(runtime.Charge((text.size() / 64 + 1) * (chars.size() / 8 + 1)));
  return runtime.Text(Copy(StripLeft(StripRight(text, &chars), &chars)), IsMarkup(value));
}

Result<Value> Replace(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  MLC_ASSIGN_OR_RETURN(std::string from, ToText(arguments.at(0)));
  MLC_ASSIGN_OR_RETURN(std::string to, ToText(arguments.at(1)));
  int64_t count = -1;
  if (arguments.given(2)) {
    MLC_ASSIGN_OR_RETURN(count, arguments.Int(2, -1));
  }
  MLC_RETURN_IF_ERROR(runtime.ChargeSearch(text, from));
  std::optional<std::string> out = ReplaceText(text, from, to, count, kMaxTextBytes);
  if (!out) return InvalidArgument("a string is too long");
  return runtime.Text(std::move(*out));
}

Result<Value> Safe(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  return runtime.Text(std::move(text), true);
}

Result<Value> Escape(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  return runtime.Text(IsMarkup(value) ? text : EscapeHtml(text), true);
}

Result<Value> ForceEscape(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  return runtime.Text(EscapeHtml(text), true);
}

Result<Value> String(Runtime& runtime, const Value& value, const Bound&) {
  if (value.is_string()) return value;
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  return runtime.Text(std::move(text));
}

Result<Value> Center(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Value text, String(runtime, value, arguments));
  Arguments call;
  call.positional.push_back(arguments.has(0) ? arguments.at(0) : Value(80));
  return CallMethod(runtime, text, "center", std::move(call));
}

Result<std::string> IndentUnit(const Bound& arguments) {
  if (!arguments.has(0)) return std::string(4, ' ');
  if (arguments.at(0).is_string()) return arguments.at(0).as_string();
  MLC_ASSIGN_OR_RETURN(int64_t width, arguments.Int(0, 4));
  if (width > 10'000) return InvalidArgument("the indentation is too wide");
  return std::string(std::max<int64_t>(width, 0), ' ');
}

Result<Value> Indent(Runtime& runtime, const Value& value, const Bound& arguments) {
  if (!value.is_string())
    return InvalidArgument(std::string("indent needs a string, not ") + TypeName(value));
  MLC_ASSIGN_OR_RETURN(std::string unit, IndentUnit(arguments));
  std::string text = value.as_string() + "\n", out = arguments.truth(1) ? unit : "";
  bool blank = arguments.truth(2);
  std::vector<std::string_view> lines = SplitLines(text, false);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out += "\n";
    if (i > 0 && (blank || !lines[i].empty())) out += unit;
    out += lines[i];
    if (out.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  }
  return runtime.Text(std::move(out), value.text().markup);
}

Result<Value> Truncate(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(int64_t length, arguments.Int(0, 255));
  MLC_ASSIGN_OR_RETURN(std::string end, arguments.String(2, "..."));
  MLC_ASSIGN_OR_RETURN(int64_t leeway, arguments.given(3) ? arguments.Int(3, 5) : int64_t{5});
  int64_t end_length = static_cast<int64_t>(CountCodePoints(end));
  if (length < end_length || leeway < 0) return InvalidArgument("truncate to too short a length");
  MLC_ASSIGN_OR_RETURN(int64_t size, Length(value));
  if (size <= length || size - length <= leeway) return value;
  if (!value.is_string()) return InvalidArgument("truncate needs a string");
  MLC_ASSIGN_OR_RETURN(Value head, GetSlice(runtime, value, Value::None(),
                                            Value(length - end_length), Value::None()));
  std::string kept = head.as_string();
  size_t space = kept.rfind(' ');
  if (!arguments.truth(1) && space != std::string::npos) kept.resize(space);
  return runtime.Text(kept + end);
}

Result<Value> WordCount(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
  int64_t count = 0;
  bool in_word = false;
  for (size_t pos = 0; pos < text.size();) {
    bool word = IsWordChar(DecodeUtf8(text, &pos));
    if (word && !in_word) ++count;
    in_word = word;
  }
  return Value(count);
}

std::string UrlQuote(std::string_view text, bool for_query) {
  static constexpr std::string_view kSafe = "_.-~/";
  std::string out;
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    bool keep = byte < 0x80 && (std::isalnum(byte) || kSafe.find(c) != std::string_view::npos);
    if (keep && !(for_query && c == '/')) {
      out.push_back(c);
    } else if (for_query && c == ' ') {
      out.push_back('+');
    } else {
      static constexpr char kHex[] = "0123456789ABCDEF";
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

Result<Value> UrlEncode(Runtime& runtime, const Value& value, const Bound&) {
  bool iterable = value.is_undefined() || value.is_dict() || value.is_sequence();
  if (!iterable) {
    MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, value));
    return runtime.Text(UrlQuote(text, false));
  }
  std::string out;
  auto add = [&](const Value& key, const Value& item) -> Status {
    MLC_ASSIGN_OR_RETURN(std::string name, Soft(runtime, key));
    MLC_ASSIGN_OR_RETURN(std::string text, Soft(runtime, item));
    out += (out.empty() ? "" : "&") + UrlQuote(name, true) + "=" + UrlQuote(text, true);
    return out.size() > kMaxTextBytes ? InvalidArgument("a string is too long") : Status();
  };
  if (value.is_dict()) {
    for (const auto& [key, item] : value.dict().entries()) MLC_RETURN_IF_ERROR(add(key, item));
    return runtime.Text(std::move(out));
  }
  MLC_ASSIGN_OR_RETURN(Items pairs, Iterate(runtime, value));
  for (const Value& pair : pairs) {
    MLC_ASSIGN_OR_RETURN(Items parts, Iterate(runtime, pair));
    if (parts.size() != 2) return InvalidArgument("urlencode needs pairs");
    MLC_RETURN_IF_ERROR(add(parts[0], parts[1]));
  }
  return runtime.Text(std::move(out));
}

Result<Value> Format(Runtime& runtime, const Value& value, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(std::string format, Soft(runtime, value));
  if (!arguments.positional.empty() && !arguments.named.empty())
    return InvalidArgument("format takes positional or keyword arguments, not both");
  Value values;
  if (arguments.named.empty()) {
    MLC_ASSIGN_OR_RETURN(values, runtime.Tuple(std::move(arguments.positional)));
  } else {
    Dict dict;
    for (auto& [name, item] : arguments.named) dict.Set(Value::String(name), std::move(item));
    MLC_ASSIGN_OR_RETURN(values, runtime.Make(std::move(dict)));
  }
  MLC_ASSIGN_OR_RETURN(std::string text, PercentFormat(runtime, format, values));
  return runtime.Text(std::move(text), IsMarkup(value));
}

Result<std::optional<std::string>> JsonIndent(const Bound& arguments) {
  if (!arguments.given(1)) return std::optional<std::string>();
  if (arguments.at(1).is_string() && arguments.at(1).as_string().size() <= 100)
    return std::optional<std::string>(arguments.at(1).as_string());
  MLC_ASSIGN_OR_RETURN(int64_t width, arguments.Int(1, 0));
  if (width > 100) return InvalidArgument("the indentation is too wide");
  return std::optional<std::string>(std::string(std::max<int64_t>(width, 0), ' '));
}

// json.dumps with the options of transformers: no HTML escapes; non-ASCII text is kept.
Result<Value> ToJson(Runtime& runtime, const Value& value, const Bound& arguments) {
  JsonStyle style;
  style.ensure_ascii = arguments.truth(0);
  MLC_ASSIGN_OR_RETURN(style.indent, JsonIndent(arguments));
  if (style.indent) style.item_separator = ",";
  if (arguments.given(2)) {
    MLC_ASSIGN_OR_RETURN(Items separators, Iterate(runtime, arguments.at(2)));
    bool pair = separators.size() == 2 && separators[0].is_string() && separators[1].is_string();
    if (!pair) return InvalidArgument("separators must be two strings");
    style.item_separator = separators[0].as_string();
    style.key_separator = separators[1].as_string();
  }
  style.sort_keys = arguments.truth(3);
  MLC_ASSIGN_OR_RETURN(std::string text, ToJsonText(value, style));
  return runtime.Text(std::move(text));
}

constexpr FilterSpec kTextFilters[] = {
    {"capitalize", "", Changed<Capitalize>, nullptr},
    {"center", "width?", Center, nullptr},
    {"e", "", Escape, nullptr},
    {"escape", "", Escape, nullptr},
    {"forceescape", "", ForceEscape, nullptr},
    {"format", nullptr, nullptr, Format},
    {"indent", "width? first? blank?", Indent, nullptr},
    {"lower", "", Changed<Lower>, nullptr},
    {"replace", "old new count?", Replace, nullptr},
    {"safe", "", Safe, nullptr},
    {"string", "", String, nullptr},
    {"title", "", Changed<TitleWords>, nullptr},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", ToJson, nullptr},
    {"trim", "chars?", Trim, nullptr},
    {"truncate", "length? killwords? end? leeway?", Truncate, nullptr},
    {"upper", "", Changed<Upper>, nullptr},
    {"urlencode", "", UrlEncode, nullptr},
    {"wordcount", "", WordCount, nullptr},
};

}  // namespace

FilterTable TextFilters() { return {kTextFilters, std::size(kTextFilters)}; }

const FilterSpec* FindFilter(std::string_view name) {
  for (FilterTable table :
       {TextFilters(), NumberFilters(), SequenceFilters(), SelectionFilters()}) {
    for (size_t i = 0; i < table.size; ++i) {
      if (name == table.begin[i].name) return &table.begin[i];
    }
  }
  return nullptr;
}

Result<Value> ApplyFilter(Runtime& runtime, const FilterSpec& filter, const Value& value,
                          Arguments arguments) {
  if (filter.raw) return filter.raw(runtime, value, std::move(arguments));
  MLC_ASSIGN_OR_RETURN(Bound bound, Bound::Bind(filter.signature, std::move(arguments),
                                                std::string("the filter ") + filter.name));
  return filter.bound(runtime, value, bound);
}

}  // namespace mlc::jinja
