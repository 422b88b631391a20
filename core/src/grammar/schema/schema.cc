#include "grammar/schema/schema.h"

#include "grammar/schema/unique_places.h"
#include "grammar/text/automaton_memo.h"
#include "grammar/text/work_budget.h"

namespace mlc {

Result<std::string> JsonSchemaToEbnf(const Json& document, Strictness strictness,
                                     std::vector<SchemaWarning>* warnings,
                                     std::shared_ptr<const UniquePlaces>* unique) {
  WorkBudget size(INT64_MAX, kMaxSchemaParts);
  AutomatonMemo memo;
  MLC_ASSIGN_OR_RETURN(Schema schema, ReadSchema(document, strictness, unique != nullptr));
  MLC_ASSIGN_OR_RETURN(bool has_values, RemoveEmpty(&schema));
  if (!has_values) {
    return InvalidArgument("no value fits the schema, or none that ends");
  }
  warnings->insert(warnings->end(), schema.warnings.begin(), schema.warnings.end());
  std::string ebnf = SchemaEbnf(schema);
  if (unique != nullptr) *unique = UniquePlaces::Of(schema);
  if (WorkBudget::SpendParts(0)) return ebnf;
  return InvalidArgument("the schema is too large when it is written as a grammar");
}

}  // namespace mlc
