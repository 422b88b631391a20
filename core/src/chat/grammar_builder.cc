#include "chat/grammar_builder.h"

#include <utility>

namespace mlc {
namespace {

using protocol::ResponseFormat;

// What a compiler refuses is wrong in the field that it was compiled from.
Result<std::optional<Grammar>> From(const char* field, Result<Grammar> grammar) {
  if (!grammar.ok()) return std::move(grammar).status().In(field).WithParam(field);
  return std::optional<Grammar>(std::move(grammar).value());
}

// An object, or the text of one.
std::string SchemaText(const protocol::JsonSchemaSource& schema) {
  return schema.text() ? *schema.text() : schema.object()->Dump();
}

Result<std::optional<Grammar>> FromJsonObject(const protocol::ResponseFormatJSONObject& format,
                                              GrammarCompiler* compiler) {
  if (!format.schema) return From("response_format", compiler->CompileJsonObject());
  return From("response_format.schema", compiler->CompileJsonSchema(SchemaText(*format.schema)));
}

Result<std::optional<Grammar>> FromJsonSchema(const protocol::JSONSchema& format,
                                              GrammarCompiler* compiler) {
  constexpr char kField[] = "response_format.json_schema.schema";
  if (!format.schema) return From(kField, compiler->CompileJsonObject());
  return From(kField, compiler->CompileJsonSchema(format.schema->Dump()));
}

// The older form, tags behind triggers, in the words of the newer one.
Result<Json> TagFormat(const protocol::ResponseFormatStructuralTag& format) {
  bool has_tags = format.tags && format.triggers;
  bool has_some = format.tags || format.triggers;
  if (format.format ? has_some : !has_tags) {
    return InvalidArgument("a structural_tag needs either 'format' or both 'tags' and 'triggers'")
        .WithParam("response_format");
  }
  if (format.format) return *format.format;
  Json tags = Json::MakeArray(), triggers = Json::MakeArray();
  for (const protocol::StructuralTag& tag : *format.tags) {
    Json content = Json().Set("type", "json_schema").Set("json_schema", tag.schema);
    tags.Append(Json()
                    .Set("type", "tag")
                    .Set("begin", tag.begin)
                    .Set("content", std::move(content))
                    .Set("end", tag.end));
  }
  for (const std::string& trigger : *format.triggers) triggers.Append(trigger);
  return Json()
      .Set("type", "triggered_tags")
      .Set("triggers", std::move(triggers))
      .Set("tags", std::move(tags));
}

Result<std::optional<Grammar>> FromStructuralTag(
    const protocol::ResponseFormatStructuralTag& format, GrammarCompiler* compiler) {
  MLC_ASSIGN_OR_RETURN(Json tag_format, TagFormat(format));
  Json tag = Json().Set("type", "structural_tag").Set("format", std::move(tag_format));
  return From("response_format", compiler->CompileStructuralTag(tag.Dump()));
}

Result<std::optional<Grammar>> FromResponseFormat(const ResponseFormat& format,
                                                  GrammarCompiler* compiler) {
  if (format.json_object()) return FromJsonObject(*format.json_object(), compiler);
  if (format.json_schema()) return FromJsonSchema(format.json_schema()->json_schema, compiler);
  if (format.regex()) {
    return From("response_format.regex", compiler->CompileRegex(format.regex()->regex));
  }
  if (format.grammar()) {
    return From("response_format.grammar", compiler->CompileEbnf(format.grammar()->grammar));
  }
  return FromStructuralTag(*format.structural_tag(), compiler);
}

}  // namespace

Result<std::optional<Grammar>> BuildGrammar(const ModelBundle& model,
                                            const protocol::ChatCompletionRequest& request) {
  if (!request.response_format || request.response_format->text()) return std::optional<Grammar>();
  GrammarCompiler& compiler =
      model.grammar_compiler->Get(*model.tokenizer, model.config.vocab_size, model.stop_token_ids);
  return FromResponseFormat(*request.response_format, &compiler);
}

}  // namespace mlc
