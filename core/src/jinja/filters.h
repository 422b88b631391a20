// Finds filters and tests by name.
#pragma once

#include <string_view>

#include "jinja/runtime.h"

namespace mlc::jinja {

struct FilterSpec {
  const char* name;
  // In the form of BoundArguments::Bind; null if the filter binds its arguments itself.
  const char* signature;
  Result<Value> (*bound)(Runtime&, const Value&, const BoundArguments&);
  Result<Value> (*raw)(Runtime&, const Value&, Arguments);
};

struct TestSpec {
  const char* name;
  int arguments;  // number of arguments
  Result<bool> (*test)(Runtime&, const Value&, const Items&);
};

// nullptr if there is no filter of that name.
const FilterSpec* FindFilter(std::string_view name);
const TestSpec* FindTest(std::string_view name);

Result<Value> ApplyFilter(Runtime& runtime, const FilterSpec& filter, const Value& value,
                          Arguments arguments);
Result<bool> ApplyTest(Runtime& runtime, const TestSpec& test, const Value& value,
                       Arguments arguments);

// A table of filters; FindFilter searches all of them.
struct FilterTable {
  const FilterSpec* begin;
  size_t size;
};
FilterTable TextFilters();
FilterTable NumberFilters();
FilterTable SequenceFilters();
FilterTable SelectionFilters();

}  // namespace mlc::jinja
