#include "grammar/schema/schema.h"

namespace mlc {

Result<std::string> JsonSchemaToEbnf(const Json& document, Strictness strictness,
                                     std::vector<SchemaWarning>* warnings) {
  MLC_ASSIGN_OR_RETURN(Schema schema, ReadSchema(document, strictness));
  MLC_ASSIGN_OR_RETURN(bool has_values, RemoveEmpty(&schema));
  if (!has_values) {
    return InvalidArgument("no value fits the schema, or none that ends");
  }
  warnings->insert(warnings->end(), schema.warnings.begin(), schema.warnings.end());
  return SchemaEbnf(schema);
}

}  // namespace mlc
