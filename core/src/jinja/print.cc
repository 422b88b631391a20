// str(), repr() and json.dumps() of values.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "jinja/runtime.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

// A namespace may contain itself, so the depth is counted here too.
constexpr int kMaxPrintDepth = kMaxValueDepth + 20;

class Printer {
 public:
  explicit Printer(size_t max_bytes) : max_bytes_(max_bytes) {}

  Status Repr(const Value& value) {
    if (out.size() > max_bytes_) return InvalidArgument("the text of a value is too long");
    if (depth_ > kMaxPrintDepth) return InvalidArgument("a value is nested too deeply");
    switch (value.kind()) {
      case Value::Kind::kUndefined:
        return Put("Undefined");
      case Value::Kind::kString:
        return ReprString(value.text());
      case Value::Kind::kSequence:
        return ReprSequence(value.sequence());
      case Value::Kind::kDict:
        return ReprDict(value.dict());
      case Value::Kind::kObject:
        return ReprObject(*value.object());
      default:
        return Scalar(value);
    }
  }

  Status Scalar(const Value& value) {
    if (value.is_none()) return Put("None");
    if (value.is_bool()) return Put(value.as_bool() ? "True" : "False");
    return Put(value.is_int() ? std::to_string(value.as_int()) : ReprFloat(value.as_double()));
  }

  std::string out;

 private:
  Status Put(const std::string& text) {
    out += text;
    return {};
  }

  Status ReprString(const Text& text) {
    return Put(text.markup ? "Markup(" + ReprText(text.bytes) + ")" : ReprText(text.bytes));
  }

  Status ReprSequence(const Sequence& sequence) {
    using Kind = Sequence::Kind;
    switch (sequence.kind) {
      case Kind::kList:
        return Items("[", sequence.items, "]");
      case Kind::kTuple:
      case Kind::kGroup:
        return Items("(", sequence.items, sequence.items.size() == 1 ? ",)" : ")");
      case Kind::kKeys:
        return Items("dict_keys([", sequence.items, "])");
      case Kind::kValues:
        return Items("dict_values([", sequence.items, "])");
      case Kind::kItems:
        return Items("dict_items([", sequence.items, "])");
      case Kind::kIterator:
        return Put("<generator object>");
      case Kind::kRange:
        break;
    }
    std::string step = sequence.step == 1 ? "" : ", " + std::to_string(sequence.step);
    return Put("range(" + std::to_string(sequence.start) + ", " + std::to_string(sequence.stop) +
               step + ")");
  }

  Status Items(const char* open, const jinja::Items& items, const char* close) {
    ++depth_;
    out += open;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      MLC_RETURN_IF_ERROR(Repr(items[i]));
    }
    out += close;
    --depth_;
    return {};
  }

  Status ReprDict(const Dict& dict) {
    ++depth_;
    out += "{";
    bool first = true;
    for (const auto& [key, value] : dict.entries()) {
      if (!first) out += ", ";
      first = false;
      MLC_RETURN_IF_ERROR(Repr(key));
      out += ": ";
      MLC_RETURN_IF_ERROR(Repr(value));
    }
    out += "}";
    --depth_;
    return {};
  }

  Status ReprObject(const Object& object) {
    if (object.type == Object::Type::kLoop) {
      const Loop& loop = static_cast<const Loop&>(object);
      return Put("<LoopContext " + std::to_string(loop.index + 1) + "/" +
                 std::to_string(loop.items.size()) + ">");
    }
    if (object.type != Object::Type::kNamespace)
      return Put(std::string("<") + TypeName(Value(const_cast<Object*>(&object))) + ">");
    out += "<Namespace ";
    MLC_RETURN_IF_ERROR(ReprDict(static_cast<const Namespace&>(object).attributes));
    out += ">";
    return {};
  }

  size_t max_bytes_;
  int depth_ = 0;
};

class JsonPrinter {
 public:
  explicit JsonPrinter(const JsonStyle& style) : style_(style) {}

  Status Write(const Value& value) {
    if (out.size() > kMaxTextBytes) return InvalidArgument("the JSON text of a value is too long");
    switch (value.kind()) {
      case Value::Kind::kNone:
        return Put("null");
      case Value::Kind::kBool:
        return Put(value.as_bool() ? "true" : "false");
      case Value::Kind::kInt:
        return Put(std::to_string(value.as_int()));
      case Value::Kind::kFloat:
        return Put(FloatText(value.as_double()));
      case Value::Kind::kString:
        return Put(Quote(value.as_string()));
      case Value::Kind::kDict:
        return Object(value.dict());
      default:
        break;
    }
    if (value.is_list() || value.is_tuple()) return Array(value.sequence().items);
    return InvalidArgument(std::string("Object of type ") + TypeName(value) +
                           " is not JSON serializable");
  }

  std::string out;

 private:
  Status Put(const std::string& text) {
    out += text;
    return {};
  }

  static std::string FloatText(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
    return ReprFloat(value);
  }

  std::string Quote(const std::string& text) const {
    std::string quoted = "\"";
    for (size_t pos = 0; pos < text.size();) QuoteChar(DecodeUtf8(text, &pos), &quoted);
    return quoted += "\"";
  }

  void QuoteChar(char32_t c, std::string* quoted) const {
    static constexpr std::string_view kFrom = "\"\\\n\r\t\b\f", kTo = "\"\\nrtbf";
    if (size_t i = kFrom.find(static_cast<char>(c)); c < 0x80 && i != std::string_view::npos) {
      *quoted += {'\\', kTo[i]};
    } else if (c > 0xFFFF && style_.ensure_ascii) {
      QuoteUnit(0xD800 + ((c - 0x10000) >> 10), quoted);
      QuoteUnit(0xDC00 + ((c - 0x10000) & 0x3FF), quoted);
    } else if (c < 0x20 || (c > 0x7E && style_.ensure_ascii)) {
      QuoteUnit(c, quoted);
    } else {
      AppendUtf8(c, quoted);
    }
  }

  static void QuoteUnit(char32_t unit, std::string* quoted) {
    char buffer[16];
    std::snprintf(buffer, sizeof(buffer), "\\u%04x", static_cast<unsigned>(unit));
    *quoted += buffer;
  }

  void NewLine() {
    if (!style_.indent) return;
    out += "\n";
    for (int i = 0; i < depth_; ++i) out += *style_.indent;
  }

  Status Array(const Items& items) {
    if (items.empty()) return Put("[]");
    out += "[";
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      NewLine();
      MLC_RETURN_IF_ERROR(Write(items[i]));
    }
    --depth_;
    NewLine();
    return Put("]");
  }

  Status Object(const Dict& dict) {
    if (dict.size() == 0) return Put("{}");
    std::vector<Dict::Entry> entries = dict.entries();
    if (style_.sort_keys) MLC_RETURN_IF_ERROR(SortByKey(&entries));
    out += "{";
    ++depth_;
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out += style_.item_separator;
      NewLine();
      MLC_ASSIGN_OR_RETURN(std::string key, Key(entries[i].first));
      out += Quote(key) + style_.key_separator;
      MLC_RETURN_IF_ERROR(Write(entries[i].second));
    }
    --depth_;
    NewLine();
    return Put("}");
  }

  static Status SortByKey(std::vector<Dict::Entry>* entries) {
    bool strings = true, numbers = true;
    for (const Dict::Entry& entry : *entries) {
      strings = strings && entry.first.is_string();
      numbers = numbers && entry.first.is_number();
    }
    if (!strings && !numbers && entries->size() > 1)
      return InvalidArgument("keys of different types cannot be sorted");
    std::stable_sort(entries->begin(), entries->end(),
                     [&](const Dict::Entry& a, const Dict::Entry& b) {
                       return strings ? a.first.as_string() < b.first.as_string()
                                      : numbers && a.first.as_double() < b.first.as_double();
                     });
    return {};
  }

  static Result<std::string> Key(const Value& key) {
    if (key.is_string()) return key.as_string();
    if (key.is_none()) return std::string("null");
    if (key.is_bool()) return std::string(key.as_bool() ? "true" : "false");
    if (key.is_int()) return std::to_string(key.as_int());
    if (key.is_float()) return FloatText(key.as_double());
    return InvalidArgument(std::string("keys must be str, int, float, bool or None, not ") +
                           TypeName(key));
  }

  const JsonStyle& style_;
  int depth_ = 0;
};

}  // namespace

Result<std::string> ToRepr(const Value& value, size_t max_bytes) {
  Printer printer(max_bytes);
  MLC_RETURN_IF_ERROR(printer.Repr(value));
  return std::move(printer.out);
}

Result<std::string> ToText(const Value& value, size_t max_bytes) {
  if (value.is_string()) return value.as_string();
  if (value.is_undefined()) return std::string();
  return ToRepr(value, max_bytes);
}

Result<std::string> ToJsonText(const Value& value, const JsonStyle& style) {
  JsonPrinter printer(style);
  MLC_RETURN_IF_ERROR(printer.Write(value));
  return std::move(printer.out);
}

}  // namespace mlc::jinja
