// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// Compatibility names: MLC-LLM's for types that have OpenAI's names here, or this engine's own.

/// Compatibility name: a function that the model may call.
public typealias ChatFunction = FunctionDefinition

/// Compatibility name: a tool that the model may call.
public typealias ChatTool = ChatCompletionTool

/// Compatibility name: a function call that the model made.
public typealias ChatFunctionCall = FunctionCall

/// Compatibility name: a tool call that the model made.
public typealias ChatToolCall = ChatCompletionMessageToolCall

/// Compatibility name: a piece of the answers to a request.
public typealias ChatCompletionStreamResponse = StreamElement<ChatCompletionChunk>
