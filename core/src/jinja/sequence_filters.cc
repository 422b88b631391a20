// Filters that take and return sequences.
#include <algorithm>

#include "jinja/attribute.h"
#include "jinja/filters.h"
#include "jinja/text.h"

namespace mlc::jinja {

namespace {

using Bound = BoundArguments;

Result<Value> Count(Runtime&, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(int64_t length, Length(value));
  return Value(length);
}

Result<Value> First(Runtime& runtime, const Value& value, const Bound&) {
  if (value.is_sequence() && !value.sequence().sized()) {
    const Sequence& iterator = value.sequence();
    if (iterator.next < iterator.items.size()) return iterator.items[iterator.next++];
    if (!iterator.failure.ok()) return iterator.failure;
    return Value::Undefined("No first item, sequence was empty.");
  }
  if (value.is_sequence() && !value.sequence().items.empty()) return value.sequence().items[0];
  if (value.is_string() && !value.as_string().empty()) return GetItem(runtime, value, Value(0));
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  if (items.empty()) return Value::Undefined("No first item, sequence was empty.");
  return items[0];
}

Result<Value> Last(Runtime& runtime, const Value& value, const Bound&) {
  if (value.is_sequence() && !value.sequence().sized())
    return InvalidArgument("'generator' object is not reversible");
  if (value.is_sequence() && !value.sequence().items.empty()) return value.sequence().items.back();
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  if (items.empty()) return Value::Undefined("No last item, sequence was empty.");
  return items.back();
}

Result<Value> ToList(Runtime& runtime, const Value& value, const Bound&) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  return runtime.List(std::move(items));
}

Result<Value> DictItems(Runtime& runtime, const Value& value, const Bound&) {
  if (value.is_undefined()) return runtime.Iterator({});
  if (!value.is_dict())
    return runtime.Iterator({}, InvalidArgument("Can only get item pairs from a mapping."));
  MLC_ASSIGN_OR_RETURN(Value view, CallMethod(runtime, value, "items", {}));
  return runtime.Iterator(view.sequence().items);
}

Result<Value> Join(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  Value empty = Value::String("");
  MLC_ASSIGN_OR_RETURN(std::string separator, ToText(arguments.has(0) ? arguments.at(0) : empty));
  if (arguments.given(1)) {
    AttributePath path(arguments.at(1));
    for (Value& item : items) {
      MLC_ASSIGN_OR_RETURN(item, path.Of(runtime, item));
    }
  }
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    MLC_ASSIGN_OR_RETURN(std::string text, ToText(items[i]));
    if (i > 0) out += separator;
    out += text;
    if (out.size() > kMaxTextBytes) return InvalidArgument("a string is too long");
  }
  return runtime.Text(std::move(out));
}

Result<Value> Reverse(Runtime& runtime, const Value& value, const Bound&) {
  if (value.is_string()) return GetSlice(runtime, value, Value::None(), Value::None(), Value(-1));
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  std::reverse(items.begin(), items.end());
  if (value.is_undefined() || (value.is_sequence() && !value.sequence().sized()))
    return runtime.List(std::move(items));
  return runtime.Iterator(std::move(items));
}

Result<Value> Batch(Runtime& runtime, const Value& value, const Bound& arguments) {
  Result<Items> items = Iterate(runtime, value);
  if (!items.ok()) return runtime.Iterator({}, items.status());
  // jinja2 compares the batch's length with the count. So a count of 0 or less gives one batch.
  int64_t size = 0;
  if (arguments.at(0).is_number()) size = static_cast<int64_t>(arguments.at(0).as_double());
  if (size > 1'000'000) return InvalidArgument("a batch is too large");
  Items batches, batch;
  for (Value& item : *items) {
    if (!batch.empty() && static_cast<int64_t>(batch.size()) == size) {
      MLC_ASSIGN_OR_RETURN(Value full, runtime.List(std::move(batch)));
      batches.push_back(std::move(full));
      batch.clear();
    }
    batch.push_back(std::move(item));
  }
  if (!batch.empty()) {
    while (arguments.given(1) && static_cast<int64_t>(batch.size()) < size)
      batch.push_back(arguments.at(1));
    MLC_ASSIGN_OR_RETURN(Value last, runtime.List(std::move(batch)));
    batches.push_back(std::move(last));
  }
  return runtime.Iterator(std::move(batches));
}

Result<Value> Slice(Runtime& runtime, const Value& value, const Bound& arguments) {
  Result<Items> items = Iterate(runtime, value);
  if (!items.ok()) return runtime.Iterator({}, items.status());
  MLC_ASSIGN_OR_RETURN(int64_t slices, arguments.Int(0, 1));
  if (slices == 0) return runtime.Iterator({}, InvalidArgument("division by zero"));
  if (slices > 100'000) return InvalidArgument("too many slices");
  int64_t length = static_cast<int64_t>(items->size()), offset = 0;
  int64_t per_slice = slices > 0 ? length / slices : 0, extra = slices > 0 ? length % slices : 0;
  Items parts;
  for (int64_t i = 0; i < slices; ++i) {
    int64_t start = offset + i * per_slice;
    if (i < extra) ++offset;
    int64_t end = offset + (i + 1) * per_slice;
    Items part(items->begin() + start, items->begin() + end);
    if (arguments.given(1) && i >= extra) part.push_back(arguments.at(1));
    MLC_ASSIGN_OR_RETURN(Value made, runtime.List(std::move(part)));
    parts.push_back(std::move(made));
  }
  return runtime.Iterator(std::move(parts));
}

Result<Value> Sum(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  Value total = arguments.has(1) ? arguments.at(1) : Value(0);
  if (total.is_string()) return InvalidArgument("sum() can't sum strings");
  AttributePath path(arguments.has(0) ? arguments.at(0) : Value::None());
  for (const Value& item : items) {
    MLC_ASSIGN_OR_RETURN(Value part, path.Of(runtime, item));
    MLC_ASSIGN_OR_RETURN(total, BinaryOperation(runtime, "+", total, part));
  }
  return total;
}

// Sorting. The comparison of std::stable_sort must not fail, but ours can. So this is a merge sort
// that checks for errors.

struct Keyed {
  Value key, item;
};

Status MergeSort(Runtime& runtime, bool reverse, std::vector<Keyed>* list) {
  if (list->size() < 2) return {};
  auto middle = list->begin() + static_cast<int64_t>(list->size() / 2);
  std::vector<Keyed> left(list->begin(), middle), right(middle, list->end());
  MLC_RETURN_IF_ERROR(MergeSort(runtime, reverse, &left));
  MLC_RETURN_IF_ERROR(MergeSort(runtime, reverse, &right));
  list->clear();
  size_t i = 0, j = 0;
  while (i < left.size() && j < right.size()) {
    const Value& a = reverse ? left[i].key : right[j].key;
    const Value& b = reverse ? right[j].key : left[i].key;
    MLC_ASSIGN_OR_RETURN(bool take_right, LessThan(runtime, a, b));
    list->push_back(std::move(take_right ? right[j++] : left[i++]));
  }
  std::move(left.begin() + static_cast<int64_t>(i), left.end(), std::back_inserter(*list));
  std::move(right.begin() + static_cast<int64_t>(j), right.end(), std::back_inserter(*list));
  return {};
}

Value IgnoreCase(const Value& value) {
  return value.is_string() ? Value::String(Lower(value.as_string())) : value;
}

Result<std::vector<Keyed>> WithKeys(Runtime& runtime, const Items& items, const Value& attribute,
                                    bool case_sensitive, bool several = false) {
  std::vector<AttributePath> paths = several ? AttributePath::Several(attribute)
                                             : std::vector<AttributePath>{AttributePath(attribute)};
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    Items keys;
    for (const AttributePath& path : paths) {
      MLC_ASSIGN_OR_RETURN(Value key, path.Of(runtime, item));
      keys.push_back(case_sensitive ? key : IgnoreCase(key));
    }
    Value key = keys[0];
    if (several) {
      MLC_ASSIGN_OR_RETURN(key, runtime.List(std::move(keys)));
    }
    keyed.push_back({std::move(key), item});
  }
  return keyed;
}

Value OrNone(const Bound& arguments, size_t i) {
  return arguments.has(i) ? arguments.at(i) : Value::None();
}

Result<Value> Sort(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  MLC_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                       WithKeys(runtime, items, OrNone(arguments, 2), arguments.truth(1), true));
  MLC_RETURN_IF_ERROR(MergeSort(runtime, arguments.truth(0), &keyed));
  Items sorted;
  for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
  return runtime.List(std::move(sorted));
}

Result<Value> DictSort(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(std::string by, arguments.String(1, "key"));
  if (by != "key" && by != "value")
    return InvalidArgument("You can only sort by either \"key\" or \"value\"");
  if (!value.is_dict()) return InvalidArgument("dictsort needs a mapping");
  MLC_ASSIGN_OR_RETURN(Value view, CallMethod(runtime, value, "items", {}));
  Value position(by == "key" ? 0 : 1);
  MLC_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                       WithKeys(runtime, view.sequence().items, position, arguments.truth(0)));
  MLC_RETURN_IF_ERROR(MergeSort(runtime, arguments.truth(2), &keyed));
  Items sorted;
  for (Keyed& entry : keyed) sorted.push_back(std::move(entry.item));
  return runtime.List(std::move(sorted));
}

template <bool kMax>
Result<Value> Extreme(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  if (items.empty()) return Value::Undefined("No aggregated item, sequence was empty.");
  MLC_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                       WithKeys(runtime, items, OrNone(arguments, 1), arguments.truth(0)));
  size_t best = 0;
  for (size_t i = 1; i < keyed.size(); ++i) {
    const Value& low = kMax ? keyed[best].key : keyed[i].key;
    const Value& high = kMax ? keyed[i].key : keyed[best].key;
    MLC_ASSIGN_OR_RETURN(bool better, LessThan(runtime, low, high));
    if (better) best = i;
  }
  return keyed[best].item;
}

Result<Value> Unique(Runtime& runtime, const Value& value, const Bound& arguments) {
  Result<Items> items = Iterate(runtime, value);
  if (!items.ok()) return runtime.Iterator({}, items.status());
  MLC_ASSIGN_OR_RETURN(std::vector<Keyed> keyed,
                       WithKeys(runtime, *items, OrNone(arguments, 1), arguments.truth(0)));
  Items unique;
  Dict seen;
  for (Keyed& entry : keyed) {
    if (!entry.key.hashable())
      return runtime.Iterator(std::move(unique), InvalidArgument(std::string("unhashable type: '") +
                                                                 TypeName(entry.key) + "'"));
    MLC_RETURN_IF_ERROR(
        runtime.Charge(entry.key.is_tuple() ? seen.size() + entry.key.weight() : 1));
    if (seen.Find(entry.key)) continue;
    seen.Set(entry.key, Value(true));
    unique.push_back(std::move(entry.item));
  }
  return runtime.Iterator(std::move(unique));
}

Result<Value> MakeGroup(Runtime& runtime, const Value& attribute, const Value& fallback,
                        bool case_sensitive, const Value& key, Items members) {
  Value grouper = key;
  if (!case_sensitive) {
    MLC_ASSIGN_OR_RETURN(grouper, AttributePath(attribute, fallback).Of(runtime, members[0]));
  }
  MLC_ASSIGN_OR_RETURN(Value list, runtime.List(std::move(members)));
  return runtime.Make(Sequence::Kind::kGroup, {grouper, list});
}

Result<Value> GroupBy(Runtime& runtime, const Value& value, const Bound& arguments) {
  MLC_ASSIGN_OR_RETURN(Items items, Iterate(runtime, value));
  const Value& attribute = arguments.at(0);
  Value fallback = arguments.given(1) ? arguments.at(1) : Value();
  bool case_sensitive = arguments.truth(2);
  AttributePath path(attribute, fallback);
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    MLC_ASSIGN_OR_RETURN(Value key, path.Of(runtime, item));
    keyed.push_back({case_sensitive ? key : IgnoreCase(key), item});
  }
  MLC_RETURN_IF_ERROR(MergeSort(runtime, false, &keyed));
  Items groups;
  for (size_t begin = 0, end = 0; begin < keyed.size(); begin = end) {
    Items members;
    for (; end < keyed.size(); ++end) {
      MLC_RETURN_IF_ERROR(runtime.Charge(keyed[end].key.weight()));
      if (!Equals(keyed[end].key, keyed[begin].key)) break;
      members.push_back(keyed[end].item);
    }
    MLC_ASSIGN_OR_RETURN(Value group, MakeGroup(runtime, attribute, fallback, case_sensitive,
                                                keyed[begin].key, std::move(members)));
    groups.push_back(std::move(group));
  }
  return runtime.List(std::move(groups));
}

constexpr FilterSpec kSequenceFilters[] = {
    {"batch", "linecount fill_with?", Batch, nullptr},
    {"count", "", Count, nullptr},
    {"dictsort", "case_sensitive? by? reverse?", DictSort, nullptr},
    {"first", "", First, nullptr},
    {"groupby", "attribute default? case_sensitive?", GroupBy, nullptr},
    {"items", "", DictItems, nullptr},
    {"join", "d? attribute?", Join, nullptr},
    {"last", "", Last, nullptr},
    {"length", "", Count, nullptr},
    {"list", "", ToList, nullptr},
    {"max", "case_sensitive? attribute?", Extreme<true>, nullptr},
    {"min", "case_sensitive? attribute?", Extreme<false>, nullptr},
    {"reverse", "", Reverse, nullptr},
    {"slice", "slices fill_with?", Slice, nullptr},
    {"sort", "reverse? case_sensitive? attribute?", Sort, nullptr},
    {"sum", "attribute? start?", Sum, nullptr},
    {"unique", "case_sensitive? attribute?", Unique, nullptr},
};

}  // namespace

FilterTable SequenceFilters() { return {kSequenceFilters, std::size(kSequenceFilters)}; }

}  // namespace mlc::jinja
