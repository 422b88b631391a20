// The methods of strings, as handlers for one call. CallStringMethod (jinja/runtime.h) finds them.
#pragma once

#include <string>
#include <string_view>

#include "jinja/runtime.h"

namespace mlc::jinja {

struct StringCall {
  Runtime& runtime;
  const Value& self;  // a string
  const std::string& name;
  const BoundArguments& arguments;

  const std::string& text() const { return self.as_string(); }
  Result<Value> Make(std::string_view result) const {
    return runtime.Text(std::string(result), self.text().markup);
  }
};

// One handler serves several similar methods and reads the name.
Result<Value> ChangeCase(const StringCall& call);  // upper, lower, casefold, capitalize, ...
Result<Value> IsEvery(const StringCall& call);     // isalpha, isdigit, isspace, ...
Result<Value> IsCase(const StringCall& call);      // islower, isupper, istitle
Result<Value> IsIdentifier(const StringCall& call);
Result<Value> Pad(const StringCall& call);  // center, ljust, rjust
Result<Value> ZeroFill(const StringCall& call);
Result<Value> ExpandTabs(const StringCall& call);

}  // namespace mlc::jinja
