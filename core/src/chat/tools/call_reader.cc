#include "chat/tools/call_reader.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "chat/tools/call_readers.h"
#include "chat/tools/json_scanner.h"

namespace mlc {
namespace {

// A call in the form {"name": NAME, "arguments": {...}}. Other members are skipped. The call itself
// may be in "function", as in OpenAI's objects, and the arguments may be JSON inside a string.
// `names_are_keys`: the form is {NAME: {...}}.
class JsonCallReader : public CallReader {
 public:
  JsonCallReader(bool needs_arguments, bool names_are_keys, const OfferedTools* offered)
      : CallReader(offered), needs_arguments_(needs_arguments), names_are_keys_(names_are_keys) {}

  State Put(char c) override {
    if (at_ == At::kKey) return Key(c);
    if (at_ == At::kValue) return Value(c);
    return IsJsonSpace(c) ? State::kMore : Structure(c);
  }

 private:
  enum class At { kOpen, kFirstKey, kNextKey, kKey, kColon, kBeforeValue, kValue, kAfterValue };

  State Go(At at) {
    at_ = at;
    return State::kMore;
  }

  State Structure(char c) {
    switch (at_) {
      case At::kOpen:
        return c == '{' ? Go(At::kFirstKey) : State::kFailed;
      case At::kFirstKey:
      case At::kNextKey:
        if (c == '}' && at_ == At::kFirstKey) return Close();
        raw_.clear();
        scanner_ = JsonScanner();
        at_ = At::kKey;
        return c == '"' ? Key(c) : State::kFailed;
      case At::kColon:
        return c == ':' ? Go(At::kBeforeValue) : State::kFailed;
      case At::kBeforeValue:
        return BeginValue(c);
      default:
        if (c == ',') return Go(At::kNextKey);
        return c == '}' ? Close() : State::kFailed;
    }
  }

  State Key(char c) {
    raw_.push_back(c);
    JsonScanner::State state = scanner_.Put(c);
    if (state == JsonScanner::State::kMore) return State::kMore;
    Result<Json> key = Json::Parse(raw_);
    if (state != JsonScanner::State::kEnd || !key.ok()) return State::kFailed;
    key_ = key->as_string();
    if (names_are_keys_) return SetName(key_) ? Go(At::kColon) : State::kFailed;
    return IsExpected() ? Go(At::kColon) : State::kFailed;
  }

  bool IsName() const { return key_ == "name" || key_ == "tool_name"; }
  bool IsArguments() const {
    return names_are_keys_ || key_ == "arguments" || key_ == "parameters";
  }
  // Without a marker, a member that no call has shows that the object is not a call.
  bool IsExpected() const {
    return !needs_arguments_ || IsArguments() || IsName() || key_ == "type" || key_ == "id" ||
           key_ == "function";
  }

  State BeginValue(char c) {
    if (key_ == "function" && c == '{' && !names_are_keys_) {
      ++depth_;
      return Go(At::kFirstKey);
    }
    if (IsArguments() && has_arguments_) return State::kFailed;
    raw_.clear();
    scanner_ = JsonScanner();
    streams_ = IsArguments() && c == '{';
    if (streams_) BeginArguments();
    at_ = At::kValue;
    return Value(c);
  }

  void BeginArguments() {
    has_arguments_ = true;
    if (tool_ != nullptr) has_begun_ = true;
  }

  State Value(char c) {
    JsonScanner::State state = scanner_.Put(c);
    if (state == JsonScanner::State::kBad) return State::kFailed;
    if (state != JsonScanner::State::kEndBefore) (streams_ ? arguments_ : raw_).push_back(c);
    if (state == JsonScanner::State::kMore) return State::kMore;
    at_ = At::kAfterValue;
    if (!streams_ && !TakeValue()) return State::kFailed;
    return state == JsonScanner::State::kEndBefore ? Put(c) : State::kMore;
  }

  bool TakeValue() {
    if (IsArguments()) return TakeQuotedArguments();
    if (!IsName() && key_ != "function") return true;
    Result<Json> value = Json::Parse(raw_);
    if (!value.ok() || !value->is_string() || !SetName(value->as_string())) return false;
    has_begun_ = has_arguments_;  // the arguments came before the name
    return true;
  }

  bool TakeQuotedArguments() {
    Result<Json> value = Json::Parse(raw_);
    if (!value.ok()) return false;
    if (value->is_null()) value = Json("{}");
    if (!value->is_string()) return false;
    Result<Json> object = Json::Parse(value->as_string());
    if (!object.ok() || !object->is_object()) return false;
    arguments_ = value->as_string();
    BeginArguments();
    return true;
  }

  State Close() {
    if (depth_-- > 0) return Go(At::kAfterValue);
    if (tool_ == nullptr || (needs_arguments_ && !has_arguments_)) return State::kFailed;
    if (!has_arguments_) arguments_ = "{}";
    has_begun_ = true;
    return State::kDone;
  }

  const bool needs_arguments_, names_are_keys_;
  At at_ = At::kOpen;
  int64_t depth_ = 0;  // depth of "function" objects
  bool has_arguments_ = false, streams_ = false;
  JsonScanner scanner_;
  std::string key_, raw_;
};

bool IsNamePart(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.';
}

// Puts spaces in place of a filler; what ends a longer word, as in "my_function<sep>", is none.
std::string WithoutFiller(std::string text, const std::string& filler) {
  for (size_t at = text.find(filler); at != std::string::npos; at = text.find(filler, at + 1)) {
    bool is_inside = at > 0 && IsNamePart(text[at - 1]) && IsNamePart(filler[0]);
    if (!is_inside) text.replace(at, filler.size(), 1, ' ');
  }
  return text;
}

// A call in the form NAME and fillers, then the arguments as an object. Where calls need no opener,
// only spaces may stand next to the name.
class NamedCallReader : public CallReader {
 public:
  NamedCallReader(const ToolFormat& format, const OfferedTools* offered)
      : CallReader(offered), fillers_(format.fillers), name_alone_(format.bare) {}

  State Put(char c) override {
    if (!has_begun_ && c != '{') {
      if (name_alone_ && !IsJsonSpace(c) && HasWholeWord()) return State::kFailed;  // a second word
      head_.push_back(c);
      constexpr size_t kLongestHead = 256;
      return head_.size() <= kLongestHead ? State::kMore : State::kFailed;
    }
    if (!has_begun_ && !SetName(NameInHead())) return State::kFailed;
    has_begun_ = true;
    arguments_.push_back(c);
    JsonScanner::State state = scanner_.Put(c);
    if (state == JsonScanner::State::kMore) return State::kMore;
    return state == JsonScanner::State::kEnd ? State::kDone : State::kFailed;
  }

 private:
  // Whether a space follows the first word.
  bool HasWholeWord() const {
    size_t begin = head_.find_first_not_of(" \n\t\r");
    return begin != std::string::npos && head_.find_first_of(" \n\t\r", begin) != std::string::npos;
  }

  // The first word that is not a filler, without "functions." before it and ":3" behind it.
  std::string NameInHead() const {
    std::string text = head_;
    for (const std::string& filler : fillers_) text = WithoutFiller(std::move(text), filler);
    size_t begin = text.find_first_not_of(" \n\t\r");
    if (begin == std::string::npos) return "";
    size_t end = std::min(text.find_first_of(" \n\t\r", begin), text.size());
    text = text.substr(begin, end - begin);
    constexpr char kNamespace[] = "functions.";
    if (text.rfind(kNamespace, 0) == 0) text.erase(0, sizeof(kNamespace) - 1);
    return text.substr(0, text.find(':'));
  }

  const std::vector<std::string>& fillers_;
  const bool name_alone_;
  std::string head_;
  JsonScanner scanner_;
};

}  // namespace

const OfferedTool* FindTool(const OfferedTools& tools, const std::string& name) {
  for (const OfferedTool& tool : tools) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

bool CallReader::SetName(const std::string& name) {
  if (tool_ != nullptr) return false;  // the name was given before
  tool_ = FindTool(*offered_, name);
  if (tool_ != nullptr) name_ = name;
  return tool_ != nullptr;
}

std::unique_ptr<CallReader> MakeCallReader(const ToolFormat& format, bool is_marked,
                                           const OfferedTools* offered) {
  switch (format.style) {
    case CallStyle::kNamed:
      return std::make_unique<NamedCallReader>(format, offered);
    case CallStyle::kXml:
      return MakeXmlCallReader(format.xml, offered);
    case CallStyle::kPython:
      return MakePythonCallReader(offered);
    case CallStyle::kQuoted:
      return MakeQuotedCallReader(format.quote, offered);
    default:
      return std::make_unique<JsonCallReader>(!is_marked, format.name_key.empty(), offered);
  }
}

}  // namespace mlc
