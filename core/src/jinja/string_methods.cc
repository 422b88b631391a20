// String methods with Python's results: searches, splits, joins, and the table of all methods.
#include "jinja/string_methods.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

using Handler = Result<Value> (*)(const StringCall&);

// The string to search for. Charges for the search.
Result<std::string> Needle(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string needle, call.arguments.String(0, ""));
  MLC_RETURN_IF_ERROR(call.runtime.ChargeSearch(call.text(), needle));
  return needle;
}

// Strips, prefixes and suffixes.

Result<Value> Strip(const StringCall& call) {
  std::optional<std::u32string> chars;
  if (call.arguments.given(0)) {
    MLC_ASSIGN_OR_RETURN(std::string set, call.arguments.String(0, ""));
    chars = ToCodePoints(set);
    MLC_RETURN_IF_ERROR(
        call.runtime.Charge((call.text().size() / 64 + 1) * (chars->size() / 8 + 1)));
  }
  const std::u32string* set = chars ? &*chars : nullptr;
  std::string_view result = call.text();
  if (call.name != "rstrip") result = StripLeft(result, set);
  if (call.name != "lstrip") result = StripRight(result, set);
  return call.Make(result);
}

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool EndsWith(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

struct Window {
  std::string_view text;
  int64_t start;  // in code points
  bool valid;     // start is inside the string; otherwise nothing is found
};

// The part text[start:stop] in which find, count, startswith, ... search.
Result<Window> GetWindow(const StringCall& call, size_t first) {
  const BoundArguments& arguments = call.arguments;
  const std::string& text = call.text();
  if (!arguments.given(first) && !arguments.given(first + 1)) return Window{text, 0, true};
  MLC_RETURN_IF_ERROR(call.runtime.Charge(text.size() / 8));
  int64_t length = static_cast<int64_t>(call.self.text().length);
  auto clip = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + length : i, 0, length); };
  MLC_ASSIGN_OR_RETURN(int64_t start,
                       arguments.given(first) ? arguments.Int(first, 0) : int64_t{0});
  MLC_ASSIGN_OR_RETURN(int64_t stop,
                       arguments.given(first + 1) ? arguments.Int(first + 1, 0) : length);
  bool valid = start <= length && clip(start) <= clip(stop);
  start = clip(start);
  stop = std::max(clip(stop), start);
  size_t begin = 0, end = 0;
  for (int64_t i = 0; i < stop; ++i) {
    DecodeUtf8(text, &end);
    if (i + 1 == start) begin = end;
  }
  return Window{std::string_view(text).substr(begin, end - begin), start, valid};
}

Result<Value> Affix(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(Window window, GetWindow(call, 1));
  const Value& argument = call.arguments.at(0);
  if (!argument.is_string() && !argument.is_tuple())
    return InvalidArgument(call.name + " needs a string or a tuple of strings");
  Items affixes = argument.is_tuple() ? argument.sequence().items : Items{argument};
  auto matches = call.name == "startswith" ? StartsWith : EndsWith;
  for (const Value& affix : affixes) {
    if (!affix.is_string()) return InvalidArgument(call.name + " needs strings");
    if (window.valid && matches(window.text, affix.as_string())) return Value(true);
  }
  return Value(false);
}

Result<Value> RemoveAffix(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string affix, call.arguments.String(0, ""));
  std::string_view text = call.text();
  if (call.name == "removeprefix")
    return call.Make(StartsWith(text, affix) ? text.substr(affix.size()) : text);
  bool ends = !affix.empty() && EndsWith(text, affix);
  return call.Make(ends ? text.substr(0, text.size() - affix.size()) : text);
}

// Searches.

Result<Value> Find(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string needle, Needle(call));
  MLC_ASSIGN_OR_RETURN(Window window, GetWindow(call, 1));
  bool backwards = call.name[0] == 'r';
  size_t at = !window.valid ? std::string_view::npos
              : backwards   ? window.text.rfind(needle)
                            : window.text.find(needle);
  if (at != std::string_view::npos)
    return Value(window.start + static_cast<int64_t>(CountCodePoints(window.text.substr(0, at))));
  if (call.name == "find" || call.name == "rfind") return Value(-1);
  return InvalidArgument("substring not found");
}

Result<Value> Count(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string needle, Needle(call));
  MLC_ASSIGN_OR_RETURN(Window window, GetWindow(call, 1));
  if (!window.valid) return Value(0);
  if (needle.empty()) return Value(static_cast<int64_t>(CountCodePoints(window.text)) + 1);
  int64_t count = 0;
  for (size_t at = window.text.find(needle); at != std::string_view::npos;
       at = window.text.find(needle, at + needle.size()))
    ++count;
  return Value(count);
}

// Splits and joins.

Result<Value> MakeParts(const StringCall& call, const std::vector<std::string_view>& parts) {
  MLC_RETURN_IF_ERROR(call.runtime.ChargeBytes(parts.size() * (sizeof(Value) + sizeof(Text))));
  Items items;
  for (std::string_view part : parts) {
    MLC_ASSIGN_OR_RETURN(Value item, call.Make(part));
    items.push_back(std::move(item));
  }
  return call.runtime.List(std::move(items));
}

std::vector<std::string_view> SplitAtSpace(std::string_view text, int64_t limit) {
  std::vector<std::string_view> parts;
  for (text = StripLeft(text); !text.empty(); text = StripLeft(text)) {
    if (limit-- == 0) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    for (size_t next = 0; end < text.size() && !IsSpace(DecodeUtf8(text, &next));) end = next;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return parts;
}

std::vector<std::string_view> SplitAtSpaceFromRight(std::string_view text, int64_t limit) {
  std::vector<std::string_view> parts;
  for (text = StripRight(text); !text.empty(); text = StripRight(text)) {
    if (limit-- == 0) {
      parts.push_back(text);
      break;
    }
    size_t begin = text.size();
    while (begin > 0) {
      size_t at = begin - 1;
      while (at > 0 && (text[at] & 0xC0) == 0x80) --at;
      size_t pos = at;
      if (IsSpace(DecodeUtf8(text, &pos))) break;
      begin = at;
    }
    parts.push_back(text.substr(begin));
    text = text.substr(0, begin);
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> SplitAt(std::string_view text, std::string_view separator,
                                      int64_t limit) {
  std::vector<std::string_view> parts;
  for (size_t at = text.find(separator); at != std::string_view::npos && limit != 0;
       at = text.find(separator), --limit) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + separator.size());
  }
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> SplitAtFromRight(std::string_view text, std::string_view separator,
                                               int64_t limit) {
  std::vector<std::string_view> parts;
  for (size_t at = text.rfind(separator); at != std::string_view::npos && limit != 0;
       at = text.rfind(separator), --limit) {
    parts.push_back(text.substr(at + separator.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

Result<Value> Split(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(int64_t limit, call.arguments.Int(1, -1));
  bool right = call.name == "rsplit";
  if (!call.arguments.given(0)) {
    return MakeParts(
        call, right ? SplitAtSpaceFromRight(call.text(), limit) : SplitAtSpace(call.text(), limit));
  }
  MLC_ASSIGN_OR_RETURN(std::string separator, Needle(call));
  if (separator.empty()) return InvalidArgument("empty separator");
  return MakeParts(call, right ? SplitAtFromRight(call.text(), separator, limit)
                               : SplitAt(call.text(), separator, limit));
}

Result<Value> Lines(const StringCall& call) {
  return MakeParts(call, SplitLines(call.text(), call.arguments.truth(0)));
}

Result<Value> Partition(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string separator, Needle(call));
  if (separator.empty()) return InvalidArgument("empty separator");
  std::string_view text = call.text();
  bool right = call.name == "rpartition";
  size_t at = right ? text.rfind(separator) : text.find(separator);
  std::array<std::string_view, 3> parts = {text, "", ""};
  if (at != std::string_view::npos) {
    parts = {text.substr(0, at), separator, text.substr(at + separator.size())};
  } else if (right) {
    parts = {"", "", text};
  }
  Items items;
  for (std::string_view part : parts) {
    MLC_ASSIGN_OR_RETURN(Value item, call.Make(part));
    items.push_back(std::move(item));
  }
  return call.runtime.Tuple(std::move(items));
}

Result<Value> Join(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(call.runtime, call.arguments.at(0)));
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_string())
      return InvalidArgument(std::string("join needs strings, found ") + TypeName(items[i]));
    if (i > 0) out += call.text();
    out += items[i].as_string();
    if (out.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  }
  return call.Make(out);
}

Result<Value> Replace(const StringCall& call) {
  MLC_ASSIGN_OR_RETURN(std::string from, Needle(call));
  MLC_ASSIGN_OR_RETURN(std::string to, call.arguments.String(1, ""));
  MLC_ASSIGN_OR_RETURN(int64_t count, call.arguments.Int(2, -1));
  std::optional<std::string> out = ReplaceText(call.text(), from, to, count, kMaxTextBytes);
  if (!out) return InvalidArgument("a string is too long");
  return call.Make(*out);
}

struct Entry {
  std::string_view name;
  const char* signature;
  Handler handler;
};

// Python accepts most of these arguments only by position; CallStringMethod checks that.
constexpr Entry kEntries[] = {
    {"upper", "", ChangeCase},
    {"lower", "", ChangeCase},
    {"casefold", "", ChangeCase},
    {"capitalize", "", ChangeCase},
    {"title", "", ChangeCase},
    {"swapcase", "", ChangeCase},
    {"strip", "chars?", Strip},
    {"lstrip", "chars?", Strip},
    {"rstrip", "chars?", Strip},
    {"startswith", "prefix start? end?", Affix},
    {"endswith", "suffix start? end?", Affix},
    {"removeprefix", "prefix", RemoveAffix},
    {"removesuffix", "suffix", RemoveAffix},
    {"find", "sub start? end?", Find},
    {"rfind", "sub start? end?", Find},
    {"index", "sub start? end?", Find},
    {"rindex", "sub start? end?", Find},
    {"count", "sub start? end?", Count},
    {"split", "sep? maxsplit?", Split},
    {"rsplit", "sep? maxsplit?", Split},
    {"splitlines", "keepends?", Lines},
    {"partition", "sep", Partition},
    {"rpartition", "sep", Partition},
    {"join", "iterable", Join},
    {"replace", "old new count?", Replace},
    {"center", "width fill?", Pad},
    {"ljust", "width fill?", Pad},
    {"rjust", "width fill?", Pad},
    {"zfill", "width", ZeroFill},
    {"expandtabs", "tabsize?", ExpandTabs},
    {"isalpha", "", IsEvery},
    {"isalnum", "", IsEvery},
    {"isspace", "", IsEvery},
    {"isprintable", "", IsEvery},
    {"isascii", "", IsEvery},
    {"isdigit", "", IsEvery},
    {"isdecimal", "", IsEvery},
    {"isnumeric", "", IsEvery},
    {"islower", "", IsCase},
    {"isupper", "", IsCase},
    {"istitle", "", IsCase},
    {"isidentifier", "", IsIdentifier},
};

Result<Value> Format(Runtime& runtime, const Value& self, const std::string& name,
                     Arguments arguments) {
  if (name == "format_map") {
    if (arguments.positional.size() != 1 || !arguments.named.empty() ||
        !arguments.positional[0].is_dict())
      return InvalidArgument("format_map takes one mapping");
    Arguments named;
    for (const auto& [key, value] : arguments.positional[0].dict().entries()) {
      if (key.is_string()) named.named.emplace_back(key.as_string(), value);
    }
    arguments = std::move(named);
  }
  MLC_ASSIGN_OR_RETURN(std::string text, BraceFormat(runtime, self.as_string(), arguments));
  return runtime.Text(std::move(text), self.text().markup);
}

}  // namespace

Result<Value> CallStringMethod(Runtime& runtime, const Value& self, const std::string& name,
                               Arguments arguments) {
  MLC_RETURN_IF_ERROR(runtime.Charge(self.as_string().size() / 64));
  if (name == "format" || name == "format_map")
    return Format(runtime, self, name, std::move(arguments));
  for (const Entry& entry : kEntries) {
    if (entry.name != name) continue;
    bool keywords =
        name == "split" || name == "rsplit" || name == "splitlines" || name == "expandtabs";
    if (!keywords && !arguments.named.empty())
      return InvalidArgument(name + "() takes no keyword arguments");
    MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                         BoundArguments::Bind(entry.signature, std::move(arguments), name + "()"));
    return entry.handler({runtime, self, name, bound});
  }
  return InvalidArgument("str." + name + " is not offered in chat templates");
}

}  // namespace mlc::jinja
