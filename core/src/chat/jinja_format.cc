// `"%s" % x`, `"{}".format(x)` and the format mini-language, for strings and numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "chat/jinja_runtime.h"
#include "chat/jinja_text.h"

namespace mlc::jinja {

namespace {

constexpr int64_t kMaxWidth = 100'000;
constexpr int64_t kMaxPrecision = 400;

struct Spec {
  std::string fill = " ";
  char align = '\0';  // '<', '>', '^', '=' or none
  char sign = '-';    // '-', '+' or ' '
  bool alternate = false;
  char grouping = '\0';  // ',' or '_'
  int64_t width = 0;
  int64_t precision = -1;  // -1: none given
  char type = '\0';
};

std::string Printf(const char* format, int64_t precision, double value) {
  char buffer[1024];
  int size = std::snprintf(buffer, sizeof(buffer), format, static_cast<int>(precision), value);
  return std::string(buffer, std::min<size_t>(size, sizeof(buffer) - 1));
}

// As 'g', but with at least one digit after the point, for which the exponent form begins earlier.
std::string GeneralDigits(double size, int64_t precision) {
  std::string text = Printf("%.*e", precision - 1, size);
  int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= precision - 1) {
    size_t e = text.find('e'), end = e;
    if (text.find('.') != std::string::npos) {
      while (text[end - 1] == '0') --end;
      if (text[end - 1] == '.') --end;
    }
    return text.erase(end, e - end);
  }
  text = Printf("%.*g", precision, size);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

std::string FloatDigits(double value, const Spec& spec) {
  int64_t precision = spec.precision < 0 ? 6 : spec.precision;
  double size = std::fabs(value);
  bool upper = spec.type == 'E' || spec.type == 'F' || spec.type == 'G';
  std::string text;
  if (std::isnan(size) || std::isinf(size)) {
    text = std::isnan(size) ? "nan" : "inf";
    return (upper ? Upper(text) : text) + (spec.type == '%' ? "%" : "");
  }
  switch (spec.type) {
    case 'e':
    case 'E':
      text = Printf("%.*e", precision, size);
      break;
    case 'f':
    case 'F':
      text = Printf("%.*f", precision, size);
      break;
    case '%':
      return Printf("%.*f", precision, size * 100) + "%";
    case 'g':
    case 'G':
      text = Printf(spec.alternate ? "%#.*g" : "%.*g", precision, size);
      break;
    default:
      if (spec.precision < 0) return ReprFloat(size);
      text = GeneralDigits(size, std::max<int64_t>(precision, 1));
  }
  return upper ? Upper(text) : text;
}

std::string IntegerDigits(uint64_t value, char type) {
  int base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  const char* digits = type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), digits[value % base]);
    value /= base;
  } while (value > 0);
  return out;
}

std::string Group(const std::string& digits, const Spec& spec) {
  if (spec.grouping == '\0') return digits;
  size_t step =
      spec.type == 'x' || spec.type == 'X' || spec.type == 'o' || spec.type == 'b' ? 4 : 3;
  size_t whole = 0;
  while (whole < digits.size() && std::isalnum(static_cast<unsigned char>(digits[whole])) &&
         !(step == 3 && digits[whole] == 'e'))
    ++whole;
  std::string out = digits.substr(whole);
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && i % step == 0) out.insert(out.begin(), spec.grouping);
    out.insert(out.begin(), digits[whole - 1 - i]);
  }
  return out;
}

std::string Repeated(const std::string& unit, int64_t count) {
  std::string out;
  for (int64_t i = 0; i < count; ++i) out += unit;
  return out;
}

// `sign` (and a prefix as "0x") stays in front of zero padding.
std::string Align(const std::string& sign, const std::string& body, const Spec& spec,
                  char default_align) {
  int64_t size = static_cast<int64_t>(CountCodePoints(sign) + CountCodePoints(body));
  int64_t missing = std::max<int64_t>(spec.width - size, 0);
  char align = spec.align ? spec.align : default_align;
  if (align == '=') return sign + Repeated(spec.fill, missing) + body;
  int64_t left = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  return Repeated(spec.fill, left) + sign + body + Repeated(spec.fill, missing - left);
}

std::string SignText(bool negative, const Spec& spec) {
  if (negative) return "-";
  return spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string FormatFloat(double value, const Spec& spec) {
  return Align(SignText(std::signbit(value) && !std::isnan(value), spec),
               Group(FloatDigits(value, spec), spec), spec, '>');
}

std::string FormatInteger(int64_t value, const Spec& spec) {
  uint64_t size = value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  std::string prefix;
  if (spec.alternate && spec.type != 'd' && spec.type != '\0' && spec.type != 'n')
    prefix = std::string("0") + spec.type;
  return Align(SignText(value < 0, spec) + prefix, Group(IntegerDigits(size, spec.type), spec),
               spec, '>');
}

std::string FormatText(const std::string& text, const Spec& spec) {
  std::string shown = text;
  if (spec.precision >= 0) {
    size_t end = 0;
    for (int64_t i = 0; i < spec.precision && end < text.size(); ++i) DecodeUtf8(text, &end);
    shown.resize(end);
  }
  return Align("", shown, spec, '<');
}

// Reads digits at *pos; nothing when there are none, kMaxWidth + 1 when there are too many.
std::optional<int64_t> ReadNumber(const std::string& text, size_t* pos) {
  size_t begin = *pos;
  int64_t number = 0;
  for (; *pos < text.size() && IsDigit(text[*pos]); ++*pos)
    number = std::min<int64_t>(number * 10 + (text[*pos] - '0'), kMaxWidth + 1);
  return *pos > begin ? std::optional<int64_t>(number) : std::nullopt;
}

bool Is(char c, std::string_view set) { return c != '\0' && set.find(c) != std::string_view::npos; }

// [[fill]align][sign][#][0][width][grouping][.precision][type]
Result<Spec> ParseSpec(const std::string& text) {
  Spec spec;
  size_t pos = 0;
  auto at = [&](size_t i) { return i < text.size() ? text[i] : '\0'; };
  size_t after_fill = 0;
  bool has_fill = false;
  if (!text.empty()) DecodeUtf8(text, &after_fill);
  if (after_fill > 0 && Is(at(after_fill), "<>^=")) {
    spec.fill = text.substr(0, after_fill);
    has_fill = true;
    spec.align = text[after_fill];
    pos = after_fill + 1;
  } else if (Is(at(0), "<>^=")) {
    spec.align = text[pos++];
  }
  if (Is(at(pos), "+- ")) spec.sign = text[pos++];
  if (at(pos) == '#') spec.alternate = text[pos++] == '#';
  if (at(pos) == '0') {
    if (spec.align == '\0') spec.align = '=';
    if (!has_fill) spec.fill = "0";
    ++pos;
  }
  spec.width = ReadNumber(text, &pos).value_or(0);
  if (Is(at(pos), ",_")) spec.grouping = text[pos++];
  if (at(pos) == '.') {
    ++pos;
    std::optional<int64_t> precision = ReadNumber(text, &pos);
    if (!precision) return InvalidArgument("format specifier misses the precision");
    spec.precision = *precision;
  }
  if (pos < text.size()) spec.type = text[pos++];
  if (pos < text.size()) return InvalidArgument("invalid format specifier");
  if (spec.width > kMaxWidth || spec.precision > kMaxWidth)
    return InvalidArgument("too large a width or precision in a format specifier");
  return spec;
}

}  // namespace

namespace {

Result<std::string> FormatCodePoint(int64_t value, const Spec& spec) {
  if (value < 0 || value > 0x10FFFF) return InvalidArgument("%c arg not in range(0x110000)");
  std::string text;
  AppendUtf8(static_cast<char32_t>(value), &text);
  return Align("", text, spec, '<');
}

}  // namespace

Result<std::string> FormatSpec(const Value& value, const std::string& text) {
  if (text.empty()) return ToText(value);
  MLC_ASSIGN_OR_RETURN(Spec spec, ParseSpec(text));
  std::string wrong = std::string("unknown format code '") + spec.type + "' for object of type '" +
                      TypeName(value) + "'";
  if (value.is_string()) {
    bool numeric = spec.align == '=' || spec.sign != '-' || spec.alternate || spec.grouping;
    if (!Is(spec.type, "s") && spec.type != '\0') return InvalidArgument(wrong);
    if (numeric) return InvalidArgument("a numeric format specifier for a string");
    return FormatText(value.as_string(), spec);
  }
  if (!value.is_number())
    return InvalidArgument(std::string("unsupported format string for ") + TypeName(value));
  if (value.is_int() && spec.type == 'c') return FormatCodePoint(value.as_int(), spec);
  if (value.is_int() && (spec.type == '\0' || Is(spec.type, "dxXobn"))) {
    if (spec.precision >= 0) return InvalidArgument("precision not allowed in an integer format");
    return FormatInteger(value.as_int(), spec);
  }
  if (spec.type != '\0' && !Is(spec.type, "eEfFgGn%")) return InvalidArgument(wrong);
  if (spec.precision > kMaxPrecision) return InvalidArgument("too large a precision for a number");
  return FormatFloat(value.as_double(), spec);
}

namespace {

// One `%` conversion at a time.
class PercentFormatter {
 public:
  PercentFormatter(const std::string& format, const Value& values)
      : format_(format), values_(values) {
    single_ = !values.is_tuple();
    mapping_ = values.is_dict();
  }

  Result<std::string> Run() {
    while (pos_ < format_.size()) {
      char c = format_[pos_++];
      if (c != '%') {
        out_.push_back(c);
        continue;
      }
      MLC_RETURN_IF_ERROR(Conversion());
      if (out_.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
    }
    // Python does not miss the use of an argument that could be a mapping: one with subscripts.
    bool subscripted = mapping_ || values_.is_undefined() ||
                       (values_.is_sequence() && values_.sequence().indexable());
    bool unused = single_ ? !subscripted && next_ == 0 : next_ < values_.sequence().items.size();
    if (unused) return InvalidArgument("not all arguments converted during string formatting");
    return std::move(out_);
  }

 private:
  Result<Value> NextValue() {
    if (single_) {
      if (next_++ > 0) return InvalidArgument("not enough arguments for format string");
      return values_;
    }
    const Items& items = values_.sequence().items;
    if (next_ >= items.size()) return InvalidArgument("not enough arguments for format string");
    return items[next_++];
  }

  Result<Value> NamedValue() {
    size_t end = format_.find(')', pos_);
    if (end == std::string::npos) return InvalidArgument("incomplete format key");
    if (!mapping_) return InvalidArgument("format requires a mapping");
    std::string key = format_.substr(pos_, end - pos_);
    pos_ = end + 1;
    const Value* found = values_.dict().Find(key);
    if (!found)
      return InvalidArgument("the format names '" + key.substr(0, 100) + "', which is absent");
    return *found;
  }

  Status ReadWidth(int64_t* number) {
    if (pos_ < format_.size() && format_[pos_] == '*') {
      ++pos_;
      MLC_ASSIGN_OR_RETURN(Value value, NextValue());
      if (!value.is_int()) return InvalidArgument("* wants int");
      *number = value.as_int();
    } else {
      *number = ReadNumber(format_, &pos_).value_or(*number);
    }
    if (std::llabs(*number) > kMaxWidth) return InvalidArgument("too large a width in a format");
    return {};
  }

  Status Conversion() {
    std::optional<Value> named;
    if (pos_ < format_.size() && format_[pos_] == '(') {
      ++pos_;
      MLC_ASSIGN_OR_RETURN(named, NamedValue());
    }
    Spec spec;
    spec.align = '>';
    bool zero = false;
    for (; pos_ < format_.size() && Is(format_[pos_], "-+ #0"); ++pos_) {
      char flag = format_[pos_];
      if (flag == '-') spec.align = '<';
      if (flag == '+' || (flag == ' ' && spec.sign != '+')) spec.sign = flag;
      spec.alternate |= flag == '#';
      zero |= flag == '0';
    }
    MLC_RETURN_IF_ERROR(ReadWidth(&spec.width));
    if (spec.width < 0) {
      spec.align = '<';
      spec.width = -spec.width;
    }
    if (pos_ < format_.size() && format_[pos_] == '.') {
      ++pos_;
      spec.precision = 0;
      MLC_RETURN_IF_ERROR(ReadWidth(&spec.precision));
      spec.precision = std::max<int64_t>(spec.precision, 0);
    }
    while (pos_ < format_.size() && Is(format_[pos_], "hlL")) ++pos_;
    if (pos_ >= format_.size()) return InvalidArgument("incomplete format");
    spec.type = format_[pos_++];
    if (spec.type == '%') {
      out_.push_back('%');
      return {};
    }
    Value value;
    if (named) {
      value = *named;
    } else {
      MLC_ASSIGN_OR_RETURN(value, NextValue());
    }
    return Write(value, spec, zero && spec.align != '<');
  }

  Status Write(const Value& value, Spec spec, bool zero) {
    if (Is(spec.type, "sra")) {
      MLC_ASSIGN_OR_RETURN(std::string text, spec.type == 's' ? ToText(value) : ToRepr(value));
      if (spec.align == '>') spec.align = '>';
      out_ += FormatText(text, spec);
      return {};
    }
    if (spec.type == 'c') return WriteChar(value, spec);
    if (zero) {
      spec.align = '=';
      spec.fill = "0";
    }
    if (!value.is_number())
      return InvalidArgument(std::string("%") + spec.type + " format: a number is required, not " +
                             TypeName(value));
    if (Is(spec.type, "eEfFgG")) {
      if (spec.precision > kMaxPrecision) return InvalidArgument("too large a precision");
      out_ += FormatFloat(value.as_double(), spec);
      return {};
    }
    if (!Is(spec.type, "diuxXo"))
      return InvalidArgument(std::string("unsupported format character '") + spec.type + "'");
    return WriteInteger(value, spec);
  }

  Status WriteInteger(const Value& value, Spec spec) {
    if (Is(spec.type, "iu")) spec.type = 'd';
    if (value.is_float() && (spec.type != 'd' || !(std::fabs(value.as_double()) < 9e18)))
      return InvalidArgument("an integer is required");
    int64_t number = value.is_float() ? static_cast<int64_t>(value.as_double()) : value.as_int();
    if (spec.precision < 0) {
      out_ += FormatInteger(number, spec);
      return {};
    }
    Spec digits = spec;  // the precision is the least number of digits
    digits.width = 0;
    digits.sign = '-';
    digits.alternate = false;
    std::string body = FormatInteger(number < 0 ? -number : number, digits);
    int64_t zeros = spec.precision - static_cast<int64_t>(body.size());
    if (zeros > 0) body.insert(0, std::string(zeros, '0'));
    out_ += Align(SignText(number < 0, spec), body, spec, '>');
    return {};
  }

  Status WriteChar(const Value& value, const Spec& spec) {
    std::string text;
    if (value.is_string() && value.text().length == 1) {
      text = value.as_string();
    } else if (value.is_int() && value.as_int() >= 0 && value.as_int() <= 0x10FFFF) {
      AppendUtf8(static_cast<char32_t>(value.as_int()), &text);
    } else {
      return InvalidArgument("%c requires int or char");
    }
    out_ += Align("", text, spec, '>');
    return {};
  }

  const std::string& format_;
  const Value& values_;
  bool single_ = false, mapping_ = false;
  size_t pos_ = 0, next_ = 0;
  std::string out_;
};

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
  // The text between the braces; *pos stands after the opening one.
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
    if (!Is(conversion, "sra")) return InvalidArgument("unknown conversion specifier");
    MLC_ASSIGN_OR_RETURN(std::string text, conversion == 's' ? ToText(value) : ToRepr(value));
    return runtime_.Text(std::move(text));
  }

  // name, 0, or nothing (the next one), then any number of .attribute and [key].
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

Result<std::string> PercentFormat(Runtime& runtime, const std::string& format,
                                  const Value& values) {
  MLC_RETURN_IF_ERROR(runtime.Charge(format.size() / 16));
  return PercentFormatter(format, values).Run();
}

Result<std::string> BraceFormat(Runtime& runtime, const std::string& format,
                                const Arguments& arguments) {
  MLC_RETURN_IF_ERROR(runtime.Charge(format.size() / 16));
  return BraceFormatter(runtime, arguments).Run(format, 2);
}

}  // namespace mlc::jinja
