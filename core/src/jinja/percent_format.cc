// `"%s %5d" % values`.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"
#include "jinja/format_spec.h"
#include "jinja/runtime.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

// Formats one `%` conversion at a time.
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
    // Python does not complain about an unused argument if it could be a mapping: a value with
    // subscripts.
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
    if (std::llabs(*number) > kMaxFormatWidth)
      return InvalidArgument("too large a width in a format");
    return {};
  }

  Status Conversion() {
    std::optional<Value> named;
    if (pos_ < format_.size() && format_[pos_] == '(') {
      ++pos_;
      MLC_ASSIGN_OR_RETURN(named, NamedValue());
    }
    FormatStyle style;
    style.align = '>';
    bool zero = false;
    for (; pos_ < format_.size() && IsOneOf(format_[pos_], "-+ #0"); ++pos_) {
      char flag = format_[pos_];
      if (flag == '-') style.align = '<';
      if (flag == '+' || (flag == ' ' && style.sign != '+')) style.sign = flag;
      style.alternate |= flag == '#';
      zero |= flag == '0';
    }
    MLC_RETURN_IF_ERROR(ReadWidth(&style.width));
    if (style.width < 0) {
      style.align = '<';
      style.width = -style.width;
    }
    if (pos_ < format_.size() && format_[pos_] == '.') {
      ++pos_;
      style.precision = 0;
      MLC_RETURN_IF_ERROR(ReadWidth(&style.precision));
      style.precision = std::max<int64_t>(style.precision, 0);
    }
    while (pos_ < format_.size() && IsOneOf(format_[pos_], "hlL")) ++pos_;
    if (pos_ >= format_.size()) return InvalidArgument("incomplete format");
    style.type = format_[pos_++];
    if (style.type == '%') {
      out_.push_back('%');
      return {};
    }
    Value value;
    if (named) {
      value = *named;
    } else {
      MLC_ASSIGN_OR_RETURN(value, NextValue());
    }
    return Write(value, style, zero && style.align != '<');
  }

  Status Write(const Value& value, FormatStyle style, bool zero) {
    if (IsOneOf(style.type, "sra")) {
      MLC_ASSIGN_OR_RETURN(std::string text, style.type == 's' ? ToText(value) : ToRepr(value));
      out_ += FormatText(text, style);
      return {};
    }
    if (style.type == 'c') return WriteChar(value, style);
    if (zero) {
      style.align = '=';
      style.fill = "0";
    }
    if (!value.is_number())
      return InvalidArgument(std::string("%") + style.type + " format: a number is required, not " +
                             TypeName(value));
    if (IsOneOf(style.type, "eEfFgG")) {
      if (style.precision > kMaxFormatPrecision) return InvalidArgument("too large a precision");
      out_ += FormatFloat(value.as_double(), style);
      return {};
    }
    if (!IsOneOf(style.type, "diuxXo"))
      return InvalidArgument(std::string("unsupported format character '") + style.type + "'");
    return WriteInteger(value, style);
  }

  Status WriteInteger(const Value& value, FormatStyle style) {
    if (IsOneOf(style.type, "iu")) style.type = 'd';
    if (value.is_float() && (style.type != 'd' || !(std::fabs(value.as_double()) < 9e18)))
      return InvalidArgument("an integer is required");
    int64_t number = value.is_float() ? static_cast<int64_t>(value.as_double()) : value.as_int();
    if (style.precision < 0) {
      out_ += FormatInteger(number, style);
      return {};
    }
    FormatStyle digits = style;  // the precision is the minimum number of digits
    digits.width = 0;
    digits.sign = '-';
    digits.alternate = false;
    std::string body = FormatInteger(number < 0 ? -number : number, digits);
    int64_t zeros = style.precision - static_cast<int64_t>(body.size());
    if (zeros > 0) body.insert(0, std::string(zeros, '0'));
    out_ += AlignText(SignText(number < 0, style), body, style, '>');
    return {};
  }

  Status WriteChar(const Value& value, const FormatStyle& style) {
    std::string text;
    if (value.is_string() && value.text().length == 1) {
      text = value.as_string();
    } else if (value.is_int() && value.as_int() >= 0 && value.as_int() <= 0x10FFFF) {
      AppendUtf8(static_cast<char32_t>(value.as_int()), &text);
    } else {
      return InvalidArgument("%c requires int or char");
    }
    out_ += AlignText("", text, style, '>');
    return {};
  }

  const std::string& format_;
  const Value& values_;
  bool single_ = false, mapping_ = false;
  size_t pos_ = 0, next_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> PercentFormat(Runtime& runtime, const std::string& format,
                                  const Value& values) {
  MLC_RETURN_IF_ERROR(runtime.Charge(format.size() / 16));
  return PercentFormatter(format, values).Run();
}

}  // namespace mlc::jinja
