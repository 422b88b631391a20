#include "chat/request/grammar_builder.h"

#include <utility>

#include "chat/tools/answer_grammar.h"

namespace mlc {
namespace {

using protocol::ChatCompletionRequest;
using protocol::ResponseFormat;

// An error of the compiler gets the field that was compiled as its param.
Result<std::optional<Grammar>> From(const char* field, Result<Grammar> grammar) {
  if (!grammar.ok()) return std::move(grammar).status().In(field).WithParam(field);
  return std::optional<Grammar>(grammar->For(field));
}

// A schema: an object, or its JSON text.
std::string SchemaText(const protocol::JsonSchemaSource& schema) {
  return schema.text() ? *schema.text() : schema.object()->Dump();
}

Result<std::optional<Grammar>> FromJsonObject(const protocol::ResponseFormatJSONObject& format,
                                              GrammarCompiler* compiler) {
  if (!format.schema) return From("response_format", compiler->CompileJsonObject());
  return From("response_format.schema",
              compiler->CompileJsonSchema(SchemaText(*format.schema), Strictness::kLenient));
}

Result<std::optional<Grammar>> FromJsonSchema(const protocol::JSONSchema& format,
                                              GrammarCompiler* compiler) {
  constexpr char kField[] = "response_format.json_schema.schema";
  if (!format.schema) return From(kField, compiler->CompileJsonObject());
  Strictness strictness =
      format.strict.value_or(false) ? Strictness::kStrict : Strictness::kLenient;
  return From(kField, compiler->CompileJsonSchema(format.schema->Dump(), strictness));
}

// Translates the older form (tags and triggers) to the newer one.
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
  const char* field = format.format ? "response_format.format" : "response_format";
  return From(field, compiler->CompileStructuralTag(tag.Dump(), Strictness::kLenient));
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

// A response format as a part of a structural tag.
Result<Json> ElementOf(const ResponseFormat& format) {
  auto json_schema = [](const std::string& text) -> Result<Json> {
    MLC_ASSIGN_OR_RETURN(Json schema, Json::Parse(text));
    return Json().Set("type", "json_schema").Set("json_schema", std::move(schema));
  };
  constexpr char kAnyObject[] = R"({"type": "object"})";
  if (format.json_object()) {
    const auto& schema = format.json_object()->schema;
    return json_schema(schema ? SchemaText(*schema) : kAnyObject);
  }
  if (format.json_schema()) {
    const auto& schema = format.json_schema()->json_schema.schema;
    return json_schema(schema ? schema->Dump() : kAnyObject);
  }
  if (format.regex()) return Json().Set("type", "regex").Set("pattern", format.regex()->regex);
  if (format.grammar()) {
    return Json().Set("type", "grammar").Set("grammar", format.grammar()->grammar);
  }
  return TagFormat(*format.structural_tag());
}

// Checks the tools' schemas. A keyword that a grammar cannot enforce is an error for a strict tool.
// If no part of another tool's schema can be enforced, its arguments must only be a JSON object.
Status CheckToolSchemas(const ChatCompletionRequest& request, GrammarCompiler* compiler,
                        OfferedTools* offered, std::vector<SchemaWarning>* warnings) {
  for (OfferedTool& tool : *offered) {
    size_t index = 0;
    while ((*request.tools)[index].function.name != tool.name) ++index;
    std::string field = "tools[" + std::to_string(index) + "].function.parameters";
    Strictness strictness = tool.is_strict ? Strictness::kStrict : Strictness::kLenient;
    Result<Grammar> grammar = compiler->CompileJsonSchema(ArgumentsSchema(tool).Dump(), strictness);
    if (!grammar.ok() && tool.is_strict) return std::move(grammar).status().WithParam(field);
    if (!grammar.ok()) {
      tool.parameters = Json().Set("type", "object");
      warnings->push_back({"", grammar.status().message(), field});
      continue;
    }
    for (const SchemaWarning& warning : grammar->For(field).warnings())
      warnings->push_back(warning);
  }
  return {};
}

// `warnings`: those of the content's schema.
Result<std::optional<Grammar>> FromPlan(const ModelBundle& model,
                                        const ChatCompletionRequest& request, AnswerPlan plan,
                                        std::optional<Json> content,
                                        std::vector<SchemaWarning> warnings,
                                        GrammarCompiler* compiler) {
  AnswerConstraints constraints;
  constraints.must_call = MustCall(request);
  constraints.parallel_calls =
      request.parallel_tool_calls && !(request.tool_choice && request.tool_choice->named());
  constraints.content = std::move(content);
  if (plan.tools != nullptr) {
    MLC_RETURN_IF_ERROR(CheckToolSchemas(request, compiler, &plan.offered, &warnings));
  }
  std::vector<SpecialMarker> markers = FindSpecialMarkers(model);
  Result<Grammar> grammar = compiler->CompileStructuralTag(
      AnswerTag(plan, constraints, markers).Dump(), Strictness::kLenient);
  if (grammar.ok()) grammar = grammar->WithWarnings(std::move(warnings));
  return From(plan.tools != nullptr ? "tools" : "response_format", std::move(grammar));
}

GrammarCompiler* CompilerOf(const ModelBundle& model) {
  std::vector<int32_t> markers;
  for (const SpecialMarker& marker : FindSpecialMarkers(model)) markers.push_back(marker.id);
  return &model.grammar_compiler->Get(*model.tokenizer, model.config.vocab_size,
                                      model.stop_token_ids, markers);
}

}  // namespace

Result<std::optional<Grammar>> BuildFormatGrammar(
    const ModelBundle& model, const std::optional<protocol::ResponseFormat>& format) {
  if (!format || format->text()) return std::optional<Grammar>();
  return FromResponseFormat(*format, CompilerOf(model));
}

Result<std::optional<Grammar>> BuildGrammar(const ModelBundle& model,
                                            const protocol::ChatCompletionRequest& request,
                                            const AnswerPlan* plan) {
  // Compile the format alone first: its errors have no paths of the structural tag.
  MLC_ASSIGN_OR_RETURN(std::optional<Grammar> alone,
                       BuildFormatGrammar(model, request.response_format));
  bool has_guided_calls = plan != nullptr && plan->tools != nullptr && plan->is_guided;
  bool thinks = plan != nullptr && plan->reasoning != nullptr;
  if (!has_guided_calls && (!alone || !thinks)) return alone;
  if (!alone) return FromPlan(model, request, *plan, std::nullopt, {}, CompilerOf(model));
  MLC_ASSIGN_OR_RETURN(Json content, ElementOf(*request.response_format));
  return FromPlan(model, request, *plan, std::move(content), alone->warnings(), CompilerOf(model));
}

}  // namespace mlc
