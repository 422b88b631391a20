// Checks sources that users write in xgrammar's own notation, and makes them safe for xgrammar.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/grammar.h"

namespace mlc {

// Returns the tag with each JSON schema and regular expression replaced by a grammar that we wrote,
// so that keywords that cannot be enforced are refused here too. The paths of warnings are paths in
// the tag. All schemas of a tag together may take the work that one may take.
Result<std::string> ReadStructuralTag(const std::string& tag_json, Strictness strictness,
                                      std::vector<SchemaWarning>* warnings);

// Refuses a grammar for which the compiler would need too much time or stack.
Status CheckEbnf(const std::string& grammar);

}  // namespace mlc
