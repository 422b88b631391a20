// Sources that users write in xgrammar's own words, made safe to hand on.
#ifndef MLC_GRAMMAR_STRUCTURAL_TAG_H_
#define MLC_GRAMMAR_STRUCTURAL_TAG_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "grammar/grammar.h"

namespace mlc {

// The tag with each JSON schema and regular expression in it turned into a grammar of ours, so that
// what cannot be enforced is refused here, too. `holds_grammar`: whether it may hold another's.
// The paths of warnings are those in the tag.
Result<std::string> ReadStructuralTag(const std::string& tag_json, Strictness strictness,
                                      bool* holds_grammar, std::vector<SchemaWarning>* warnings);

// Refuses what the compiler would take too long for, or too much of the stack.
Status CheckEbnf(const std::string& grammar);

}  // namespace mlc

#endif  // MLC_GRAMMAR_STRUCTURAL_TAG_H_
