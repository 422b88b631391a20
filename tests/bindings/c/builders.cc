#include "builders.h"

#include "chat/protocol/protocol.gen.h"

namespace mlc {
namespace {

using namespace protocol;  // NOLINT: this file is about nothing else

ChatCompletionMessage Message(ChatCompletionRole role, const std::string& content) {
  ChatCompletionMessage message;
  message.role = role;
  message.content = ChatCompletionMessageContent{content};
  return message;
}

ChatCompletionRequest Hi() {
  ChatCompletionRequest request;
  request.messages = {Message(ChatCompletionRole::kUser, "Hi")};
  return request;
}

Json OneUserMessage() { return Hi().ToJson(); }

Json Sampling() {
  ChatCompletionRequest request = Hi();
  request.temperature = 0.5;
  request.top_p = 0.9;
  request.max_tokens = 5;
  request.seed = 7;
  request.n = 2;
  request.stop = Stop{std::vector<std::string>{"a", "b"}};
  request.frequency_penalty = -1;
  request.logit_bias = {{17, 2.5}};
  request.logprobs = true;
  request.top_logprobs = 3;
  return request.ToJson();
}

Json Streaming() {
  ChatCompletionRequest request = Hi();
  request.stream = true;
  request.stream_options.emplace().include_usage = true;
  return request.ToJson();
}

Json TextAndImage() {
  ImageURL image;
  image.url = "data:image/png;base64,AA==";
  image.detail = ImageDetail::kHigh;
  ChatCompletionContentPartText text;
  text.text = "What is this?";
  ChatCompletionContentPartImage part;
  part.image_url = ImageSource{image};
  ChatCompletionRequest request = Hi();
  request.messages[0].content =
      ChatCompletionMessageContent{std::vector<ChatCompletionContentPart>{{text}, {part}}};
  return request.ToJson();
}

Json PictureOfBytes() {
  ImageURL image;
  image.url = "data:;base64,AA==";
  image.detail = ImageDetail::kOriginal;
  ChatCompletionContentPartText text;
  text.text = "What is this?";
  ChatCompletionContentPartImage part;
  part.image_url = ImageSource{image};
  ChatCompletionRequest request = Hi();
  request.messages[0].content =
      ChatCompletionMessageContent{std::vector<ChatCompletionContentPart>{{part}, {text}}};
  return request.ToJson();
}

Json ToolConversation() {
  ChatCompletionMessage user = Message(ChatCompletionRole::kUser, "How warm is it in 東京?");
  user.name = "Zoë";
  ChatCompletionMessageToolCall call;
  call.id = "call_0";
  call.function = {"warmth", R"({"city": "東京"})"};
  ChatCompletionMessage assistant;
  assistant.role = ChatCompletionRole::kAssistant;
  assistant.tool_calls = {call};
  ChatCompletionMessage tool = Message(ChatCompletionRole::kTool, "21.5");
  tool.tool_call_id = "call_0";
  ChatCompletionRequest request;
  request.messages = {user, assistant, tool};
  return request.ToJson();
}

Json Tools() {
  ChatCompletionTool tool;
  tool.function.name = "f";
  tool.function.description = "d";
  tool.function.parameters = Json().Set("type", "object");
  tool.function.strict = true;
  ChatCompletionNamedToolChoice choice;
  choice.function.name = "f";
  ChatCompletionRequest request = Hi();
  request.tools = {tool};
  request.tool_choice = ToolChoice{choice};
  request.parallel_tool_calls = false;
  return request.ToJson();
}

Json ToolChoiceWord() {
  ChatCompletionRequest request = Hi();
  request.tool_choice = ToolChoice{ToolChoiceMode::kRequired};
  return request.ToJson();
}

Json JsonSchemaFormat() {
  ResponseFormatJSONSchema format;
  format.json_schema.name = "s";
  format.json_schema.schema = Json().Set("type", "object");
  format.json_schema.strict = true;
  ChatCompletionRequest request = Hi();
  request.response_format = ResponseFormat{format};
  return request.ToJson();
}

Json JsonObjectFormat() {
  ChatCompletionRequest request = Hi();
  request.response_format = ResponseFormat{ResponseFormatJSONObject()};
  return request.ToJson();
}

Json StopText() {
  ChatCompletionRequest request = Hi();
  request.stop = Stop{std::string("end")};
  return request.ToJson();
}

Json Debug() {
  ChatCompletionRequest request = Hi();
  request.debug_config.emplace().ignore_eos = true;
  return request.ToJson();
}

Json Detokenize() {
  DetokenizeRequest request;
  request.tokens = {1, 2};
  request.skip_special_tokens = false;
  return request.ToJson();
}

}  // namespace

const std::map<std::string, Json (*)()>& Builders() {
  static const std::map<std::string, Json (*)()> builders = {
      {"build_one_user_message", OneUserMessage},
      {"build_sampling", Sampling},
      {"build_stream_options", Streaming},
      {"build_text_and_image", TextAndImage},
      {"build_picture_of_bytes", PictureOfBytes},
      {"build_tool_conversation", ToolConversation},
      {"build_tools", Tools},
      {"build_tool_choice_word", ToolChoiceWord},
      {"build_json_schema", JsonSchemaFormat},
      {"build_json_object", JsonObjectFormat},
      {"build_stop_text", StopText},
      {"build_debug", Debug},
      {"build_detokenize", Detokenize},
  };
  return builders;
}

}  // namespace mlc
