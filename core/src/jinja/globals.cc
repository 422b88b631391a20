// The functions that every template can call.
#include <algorithm>
#include <cstdio>

#include "jinja/runtime.h"

namespace mlc::jinja {

namespace {

constexpr uint64_t kMaxRange = 100'000;  // jinja2's sandbox has the same bound

Result<Value> RaiseException(Runtime&, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                       BoundArguments::Bind("message", std::move(arguments), "raise_exception"));
  MLC_ASSIGN_OR_RETURN(std::string message, ToText(bound.at(0), 10'000));
  return InvalidArgument(message.substr(0, 10'000)).WithReason(Reason::kTemplateError);
}

Result<Value> StrftimeNow(Runtime& runtime, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                       BoundArguments::Bind("format", std::move(arguments), "strftime_now"));
  MLC_ASSIGN_OR_RETURN(std::string format, bound.String(0, ""));
  if (format.size() > 10'000) return InvalidArgument("the time format is too long");
  return runtime.Text(FormatTime(format, runtime.clock()()));
}

// Computed with unsigned numbers, because the difference of any two int64 values fits into them.
uint64_t RangeLength(int64_t start, int64_t stop, int64_t step) {
  bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  uint64_t low = static_cast<uint64_t>(up ? start : stop), high = up ? stop : start;
  uint64_t stride = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  return (high - low - 1) / stride + 1;
}

Result<Value> Range(Runtime& runtime, Arguments arguments) {
  const char* signature = arguments.positional.size() == 1 ? "stop" : "start stop step?";
  if (!arguments.named.empty()) return InvalidArgument("range() takes no keyword arguments");
  MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                       BoundArguments::Bind(signature, std::move(arguments), "range"));
  bool single = signature[1] == 't' && signature[2] == 'o';
  auto range = std::make_shared<Sequence>();
  range->kind = Sequence::Kind::kRange;
  MLC_ASSIGN_OR_RETURN(int64_t first, bound.Int(0, 0));
  MLC_ASSIGN_OR_RETURN(int64_t second, single ? Result<int64_t>(int64_t{0}) : bound.Int(1, 0));
  MLC_ASSIGN_OR_RETURN(range->step, single ? Result<int64_t>(int64_t{1}) : bound.Int(2, 1));
  range->start = single ? 0 : first;
  range->stop = single ? first : second;
  if (range->step == 0) return InvalidArgument("range() arg 3 must not be zero");
  uint64_t count = RangeLength(range->start, range->stop, range->step);
  if (count > kMaxRange) return InvalidArgument("range too big: more than 100000 items");
  MLC_RETURN_IF_ERROR(runtime.Charge(count / 4));
  MLC_RETURN_IF_ERROR(runtime.ChargeBytes(count * sizeof(Value)));
  for (uint64_t i = 0; i < count; ++i)
    range->items.emplace_back(range->start + static_cast<int64_t>(i) * range->step);
  range->weight = range->items.size() + 1;
  return Value(std::shared_ptr<const Sequence>(std::move(range)));
}

// The entries of dict(...) and namespace(...): a mapping or a list of pairs, then keyword
// arguments.
Result<Dict> Entries(Runtime& runtime, Arguments arguments, const char* what) {
  Dict dict;
  if (arguments.positional.size() > 1)
    return InvalidArgument(std::string(what) + "() takes at most one positional argument");
  if (!arguments.positional.empty() && arguments.positional[0].is_dict()) {
    dict = arguments.positional[0].dict();
  } else if (!arguments.positional.empty()) {
    MLC_ASSIGN_OR_RETURN(Items pairs, Iterate(runtime, arguments.positional[0]));
    for (const Value& pair : pairs) {
      MLC_ASSIGN_OR_RETURN(Items parts, Iterate(runtime, pair));
      if (parts.size() != 2) return InvalidArgument("dict() needs pairs");
      if (!parts[0].hashable())
        return InvalidArgument(std::string("unhashable type: '") + TypeName(parts[0]) + "'");
      MLC_RETURN_IF_ERROR(runtime.Charge(parts[0].is_tuple() ? dict.size() : 1));
      dict.Set(parts[0], parts[1]);
    }
  }
  for (auto& [name, value] : arguments.named) dict.Set(Value::String(name), std::move(value));
  return dict;
}

Result<Value> MakeDictionary(Runtime& runtime, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(Dict dict, Entries(runtime, std::move(arguments), "dict"));
  return runtime.Make(std::move(dict));
}

Result<Value> MakeNamespace(Runtime& runtime, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(Dict dict, Entries(runtime, std::move(arguments), "namespace"));
  MLC_RETURN_IF_ERROR(runtime.ChargeBytes(dict.size() * 4 * sizeof(Value)));
  MLC_ASSIGN_OR_RETURN(Value made, runtime.NewObject<Namespace>());
  static_cast<Namespace*>(made.object())->attributes = std::move(dict);
  return made;
}

Result<Value> MakeCycler(Runtime& runtime, Arguments arguments) {
  if (!arguments.named.empty()) return InvalidArgument("cycler() takes no keyword arguments");
  if (arguments.positional.empty()) return InvalidArgument("at least one item has to be provided");
  return runtime.NewObject<Cycler>(std::move(arguments.positional));
}

Result<Value> MakeJoiner(Runtime& runtime, Arguments arguments) {
  MLC_ASSIGN_OR_RETURN(BoundArguments bound,
                       BoundArguments::Bind("sep?", std::move(arguments), "joiner"));
  return runtime.NewObject<Joiner>(bound.has(0) ? bound.at(0) : Value::String(", "));
}

const Function kFunctions[] = {
    {"cycler", MakeCycler},
    {"dict", MakeDictionary},
    {"joiner", MakeJoiner},
    {"namespace", MakeNamespace},
    {"raise_exception", RaiseException},
    {"range", Range},
    {"strftime_now", StrftimeNow},
};

const char* const kMonths[] = {"January",   "February", "March",    "April",
                               "May",       "June",     "July",     "August",
                               "September", "October",  "November", "December"};
const char* const kDays[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                             "Thursday", "Friday", "Saturday"};

std::string Number(int value, int width, char fill) {
  std::string text = std::to_string(value);
  if (fill != '\0' && static_cast<int>(text.size()) < width)
    text.insert(0, width - text.size(), fill);
  return text;
}

// ISO 8601: week 1 contains the year's first Thursday.
int IsoWeek(const std::tm& time, int* year) {
  int weekday = (time.tm_wday + 6) % 7;
  int week = (time.tm_yday - weekday + 10) / 7;
  *year = time.tm_year + 1900;
  auto weeks_in = [](int y) {
    auto p = [](int n) { return (n + n / 4 - n / 100 + n / 400) % 7; };
    return p(y) == 4 || p(y - 1) == 3 ? 53 : 52;
  };
  if (week < 1) return weeks_in(--*year);
  if (week > weeks_in(*year)) {
    ++*year;
    return 1;
  }
  return week;
}

// One directive of strftime in the C locale. `pad` replaces the fill character ('-' in "%-d"
// removes it).
std::string Directive(char directive, char pad, const std::tm& time) {
  auto number = [&](int value, int width, char fill) {
    return Number(value, width, pad == '-' ? '\0' : pad == '_' ? ' ' : pad == '0' ? '0' : fill);
  };
  int month = std::clamp(time.tm_mon, 0, 11), day = std::clamp(time.tm_wday, 0, 6), year = 0;
  int hour12 = time.tm_hour % 12 == 0 ? 12 : time.tm_hour % 12;
  switch (directive) {
    case 'a':
      return std::string(kDays[day], 3);
    case 'A':
      return kDays[day];
    case 'b':
    case 'h':
      return std::string(kMonths[month], 3);
    case 'B':
      return kMonths[month];
    case 'c':
      return FormatTime("%a %b %e %H:%M:%S %Y", time);
    case 'C':
      return number((time.tm_year + 1900) / 100, 2, '0');
    case 'd':
      return number(time.tm_mday, 2, '0');
    case 'D':
    case 'x':
      return FormatTime("%m/%d/%y", time);
    case 'e':
      return number(time.tm_mday, 2, ' ');
    case 'f':
      return "000000";
    case 'F':
      return FormatTime("%Y-%m-%d", time);
    case 'g':
      IsoWeek(time, &year);
      return number(year % 100, 2, '0');
    case 'G':
      IsoWeek(time, &year);
      return number(year, 1, '0');
    case 'H':
      return number(time.tm_hour, 2, '0');
    case 'I':
      return number(hour12, 2, '0');
    case 'j':
      return number(time.tm_yday + 1, 3, '0');
    case 'k':
      return number(time.tm_hour, 2, ' ');
    case 'l':
      return number(hour12, 2, ' ');
    case 'm':
      return number(time.tm_mon + 1, 2, '0');
    case 'M':
      return number(time.tm_min, 2, '0');
    case 'n':
      return "\n";
    case 'p':
      return time.tm_hour < 12 ? "AM" : "PM";
    case 'P':
      return time.tm_hour < 12 ? "am" : "pm";
    case 'r':
      return FormatTime("%I:%M:%S %p", time);
    case 'R':
      return FormatTime("%H:%M", time);
    case 'S':
      return number(time.tm_sec, 2, '0');
    case 't':
      return "\t";
    case 'T':
    case 'X':
      return FormatTime("%H:%M:%S", time);
    case 'u':
      return number(day == 0 ? 7 : day, 1, '0');
    case 'U':
      return number((time.tm_yday + 7 - day) / 7, 2, '0');
    case 'V':
      return number(IsoWeek(time, &year), 2, '0');
    case 'w':
      return number(day, 1, '0');
    case 'W':
      return number((time.tm_yday + 7 - (day + 6) % 7) / 7, 2, '0');
    case 'y':
      return number(time.tm_year % 100, 2, '0');
    case 'Y':
      return number(time.tm_year + 1900, 1, '0');
    case 'z':
    case 'Z':
      return "";  // a datetime without a time zone
    case '%':
      return "%";
    default:
      return pad == '\0' ? std::string{'%', directive} : std::string{'%', pad, directive};
  }
}

}  // namespace

const Function* FindGlobal(std::string_view name) {
  for (const Function& function : kFunctions) {
    if (name == function.name) return &function;
  }
  return nullptr;
}

std::string FormatTime(const std::string& format, const std::tm& time) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%' || i + 1 >= format.size()) {
      out.push_back(format[i]);
      continue;
    }
    char pad = '\0';
    bool flag = format[i + 1] == '-' || format[i + 1] == '_' || format[i + 1] == '0';
    if (flag && i + 2 < format.size()) pad = format[++i];
    out += Directive(format[++i], pad, time);
  }
  return out;
}

}  // namespace mlc::jinja
