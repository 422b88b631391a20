// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The protocol's types. What a newer engine adds is never an error: a word or a tagged object that
// this version does not know is kept as `unknown`, and a member is ignored.

import Foundation

/// Of all that crosses the wire; the core's library must have the same.
let schemaHash = "5c6e83c1dd599df1"

/// Who speaks.
public enum ChatCompletionRole: WireEnum {
    /// The instructions that the model follows.
    case system
    /// The same as `system`, as newer clients call it.
    case developer
    /// The person, or the program, that asks.
    case user
    /// The model.
    case assistant
    /// A tool that the model called.
    case tool
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .system,
        .developer,
        .user,
        .assistant,
        .tool,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "system": self = .system
        case "developer": self = .developer
        case "user": self = .user
        case "assistant": self = .assistant
        case "tool": self = .tool
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .system: "system"
        case .developer: "developer"
        case .user: "user"
        case .assistant: "assistant"
        case .tool: "tool"
        case .unknown(let word): word
        }
    }
}

/// A text within a message.
public struct ChatCompletionContentPartText: WireObject {
    /// The kind of part.
    public let type = "text"
    /// The text.
    public var text: String

    public init(
        text: String
    ) {
        self.text = text
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "text")
        self.text = try reader.required("text")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "text")
        writer.required("text", self.text)
        return writer.jsonValue
    }
}

/// How closely the model looks at an image.
public enum ImageDetail: WireEnum {
    /// As the model's own configuration says.
    case auto
    /// At low resolution, in few tokens.
    case low
    /// At high resolution, in more tokens.
    case high
    /// In the image's own size, as far as the model can; else as `high`.
    case original
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .auto,
        .low,
        .high,
        .original,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "auto": self = .auto
        case "low": self = .low
        case "high": self = .high
        case "original": self = .original
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .auto: "auto"
        case .low: "low"
        case .high: "high"
        case .original: "original"
        case .unknown(let word): word
        }
    }
}

/// Where an image is.
public struct ImageURL: WireObject {
    /// The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients take the
    /// bytes of its file too. Length: at least 1.
    public var url: String
    /// How closely the model looks.
    public var detail: ImageDetail?

    public init(
        url: String,
        detail: ImageDetail? = nil
    ) {
        self.url = url
        self.detail = detail
    }

    public init(
        url: Data,
        detail: ImageDetail? = nil
    ) {
        self.url = dataURL(of: url)
        self.detail = detail
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.url = try reader.required("url")
        self.detail = try reader.optional("detail")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("url", self.url)
        writer.optional("detail", self.detail)
        return writer.jsonValue
    }
}

/// An image, as an object or as its URL alone.
public enum ImageSource: WireObject {
    case url(String)
    case image(ImageURL)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .url(try .init(jsonValue: jsonValue))
        case .object: self = .image(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an object")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .url(let value): value.jsonValue
        case .image(let value): value.jsonValue
        }
    }
}

extension ImageSource: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .url(value)
    }
}

/// An image within a message.
public struct ChatCompletionContentPartImage: WireObject {
    /// The kind of part.
    public let type = "image_url"
    /// The image.
    public var image_url: ImageSource

    public init(
        image_url: ImageSource
    ) {
        self.image_url = image_url
    }

    public init(
        image_url: String
    ) {
        self.image_url = .url(image_url)
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "image_url")
        self.image_url = try reader.required("image_url")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "image_url")
        writer.required("image_url", self.image_url)
        return writer.jsonValue
    }
}

/// A part of a message.
public enum ChatCompletionContentPart: WireObject {
    case text(ChatCompletionContentPartText)
    case imageUrl(ChatCompletionContentPartImage)
    /// An object whose "type" this version does not know, as it is.
    case unknown(JSONValue)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch try WireReader(jsonValue).tag("type") {
        case "text": self = .text(try .init(jsonValue: jsonValue))
        case "image_url": self = .imageUrl(try .init(jsonValue: jsonValue))
        default: self = .unknown(jsonValue)
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .imageUrl(let value): value.jsonValue
        case .unknown(let value): value
        }
    }
}

/// What a message says: a text, or texts and images in order.
public enum ChatCompletionMessageContent: WireObject {
    case text(String)
    case parts([ChatCompletionContentPart])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .array: self = .parts(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .parts(let value): value.jsonValue
        }
    }
}

extension ChatCompletionMessageContent: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension ChatCompletionMessageContent: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: ChatCompletionContentPart...) {
        self = .parts(value)
    }
}

/// A function call that the model made.
public struct FunctionCall: WireObject {
    /// The name of the function to call.
    public var name: String
    /// The arguments as JSON text, as the model wrote it; it may be invalid or name arguments that
    /// the function does not have.
    public var arguments: String

    public init(
        name: String,
        arguments: String
    ) {
        self.name = name
        self.arguments = arguments
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.arguments = try reader.required("arguments")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.required("arguments", self.arguments)
        return writer.jsonValue
    }
}

/// A tool call that the model made.
public struct ChatCompletionMessageToolCall: WireObject {
    /// The call's id, which the tool's answer repeats as `tool_call_id`.
    public var id: String
    /// The kind of tool; only functions exist.
    public let type = "function"
    /// The function and its arguments.
    public var function: FunctionCall

    public init(
        id: String,
        function: FunctionCall
    ) {
        self.id = id
        self.function = function
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("type", "function")
        self.function = try reader.required("function")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("type", "function")
        writer.required("function", self.function)
        return writer.jsonValue
    }
}

/// A message of the conversation so far.
public struct ChatCompletionMessage: WireObject {
    /// Who speaks.
    public var role: ChatCompletionRole
    /// What is said. The assistant may leave it out when it calls tools. Required when `role` is
    /// `system` or `developer` or `user` or `tool`.
    public var content: ChatCompletionMessageContent?
    /// A name that tells speakers of the same role apart.
    public var name: String?
    /// The assistant's tool calls.
    public var tool_calls: [ChatCompletionMessageToolCall]?
    /// The call that a tool's message answers. Required when `role` is `tool`.
    public var tool_call_id: String?
    /// What the assistant thought before it spoke; a model's template may use it.
    public var reasoning_content: String?

    public init(
        role: ChatCompletionRole,
        content: ChatCompletionMessageContent? = nil,
        name: String? = nil,
        tool_calls: [ChatCompletionMessageToolCall]? = nil,
        tool_call_id: String? = nil,
        reasoning_content: String? = nil
    ) {
        self.role = role
        self.content = content
        self.name = name
        self.tool_calls = tool_calls
        self.tool_call_id = tool_call_id
        self.reasoning_content = reasoning_content
    }

    public init(
        role: ChatCompletionRole,
        content: String,
        name: String? = nil,
        tool_calls: [ChatCompletionMessageToolCall]? = nil,
        tool_call_id: String? = nil,
        reasoning_content: String? = nil
    ) {
        self.role = role
        self.content = .text(content)
        self.name = name
        self.tool_calls = tool_calls
        self.tool_call_id = tool_call_id
        self.reasoning_content = reasoning_content
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.role = try reader.required("role")
        self.content = try reader.optional("content")
        self.name = try reader.optional("name")
        self.tool_calls = try reader.optional("tool_calls")
        self.tool_call_id = try reader.optional("tool_call_id")
        self.reasoning_content = try reader.optional("reasoning_content")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("role", self.role)
        writer.optional("content", self.content)
        writer.optional("name", self.name)
        writer.optional("tool_calls", self.tool_calls)
        writer.optional("tool_call_id", self.tool_call_id)
        writer.optional("reasoning_content", self.reasoning_content)
        return writer.jsonValue
    }
}

/// What a stream carries beside the answer.
public struct StreamOptions: WireObject {
    /// Whether a last chunk, with no choices, carries the usage of the whole request.
    public var include_usage: Bool?

    public init(
        include_usage: Bool? = nil
    ) {
        self.include_usage = include_usage
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.include_usage = try reader.optional("include_usage")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("include_usage", self.include_usage)
        return writer.jsonValue
    }
}

/// Texts at which the answer ends, before them.
public enum Stop: WireObject {
    case text(String)
    case texts([String])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .array: self = .texts(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .texts(let value): value.jsonValue
        }
    }
}

extension Stop: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension Stop: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: String...) {
        self = .texts(value)
    }
}

/// A function that the model may call.
public struct FunctionDefinition: WireObject {
    /// The function's name, by which the model calls it. Length: at least 1.
    public var name: String
    /// What the function does; the model chooses by it when to call.
    public var description: String?
    /// A JSON Schema object for the arguments. Absent: the function takes none.
    public var parameters: JSONObject?
    /// Whether the arguments are held to the schema while they are generated.
    public var strict: Bool?

    public init(
        name: String,
        description: String? = nil,
        parameters: JSONObject? = nil,
        strict: Bool? = nil
    ) {
        self.name = name
        self.description = description
        self.parameters = parameters
        self.strict = strict
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.description = try reader.optional("description")
        self.parameters = try reader.optional("parameters")
        self.strict = try reader.optional("strict")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.optional("description", self.description)
        writer.optional("parameters", self.parameters)
        writer.optional("strict", self.strict)
        return writer.jsonValue
    }
}

/// A tool that the model may call.
public struct ChatCompletionTool: WireObject {
    /// The kind of tool; only functions exist.
    public let type = "function"
    /// The function.
    public var function: FunctionDefinition

    public init(
        function: FunctionDefinition
    ) {
        self.function = function
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "function")
        self.function = try reader.required("function")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "function")
        writer.required("function", self.function)
        return writer.jsonValue
    }
}

/// How free the model is in calling tools.
public enum ToolChoiceMode: WireEnum {
    /// Calls no tool.
    case none_
    /// Answers or calls tools, as it sees fit.
    case auto
    /// Calls at least one tool.
    case required
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .none_,
        .auto,
        .required,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "none": self = .none_
        case "auto": self = .auto
        case "required": self = .required
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .none_: "none"
        case .auto: "auto"
        case .required: "required"
        case .unknown(let word): word
        }
    }
}

/// A function by its name.
public struct NamedFunction: WireObject {
    /// The function's name. Length: at least 1.
    public var name: String

    public init(
        name: String
    ) {
        self.name = name
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        return writer.jsonValue
    }
}

/// The one tool that the model must call.
public struct ChatCompletionNamedToolChoice: WireObject {
    /// The kind of tool; only functions exist.
    public let type = "function"
    /// The function to call.
    public var function: NamedFunction

    public init(
        function: NamedFunction
    ) {
        self.function = function
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "function")
        self.function = try reader.required("function")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "function")
        writer.required("function", self.function)
        return writer.jsonValue
    }
}

/// Which tools the model may or must call.
public enum ToolChoice: WireObject {
    case mode(ToolChoiceMode)
    case named(ChatCompletionNamedToolChoice)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .mode(try .init(jsonValue: jsonValue))
        case .object: self = .named(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an object")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .mode(let value): value.jsonValue
        case .named(let value): value.jsonValue
        }
    }
}

extension ToolChoice: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .mode(ToolChoiceMode(rawValue: value))
    }
}

/// Any text.
public struct ResponseFormatText: WireObject {
    /// The kind of format.
    public let type = "text"

    public init() {}

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "text")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "text")
        return writer.jsonValue
    }
}

/// A JSON Schema, as JSON text or as the object itself.
public enum JsonSchemaSource: WireObject {
    case text(String)
    case object(JSONObject)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .object: self = .object(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an object")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .object(let value): value.jsonValue
        }
    }
}

extension JsonSchemaSource: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

/// A JSON object.
public struct ResponseFormatJSONObject: WireObject {
    /// The kind of format.
    public let type = "json_object"
    /// A JSON Schema that the object must match. Absent: any object.
    public var schema: JsonSchemaSource?

    public init(
        schema: JsonSchemaSource? = nil
    ) {
        self.schema = schema
    }

    public init(
        schema: String
    ) {
        self.schema = .text(schema)
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "json_object")
        self.schema = try reader.optional("schema")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "json_object")
        writer.optional("schema", self.schema)
        return writer.jsonValue
    }
}

/// A JSON Schema with a name.
public struct JSONSchema: WireObject {
    /// The schema's name. Length: at least 1 and at most 64.
    public var name: String
    /// What the answer is for; the model may read it.
    public var description: String?
    /// The JSON Schema.
    public var schema: JSONObject?
    /// Whether a schema is refused that the answer cannot be held to in full. Otherwise what cannot
    /// be enforced is left out, and `warnings` say so.
    public var strict: Bool?

    public init(
        name: String,
        description: String? = nil,
        schema: JSONObject? = nil,
        strict: Bool? = nil
    ) {
        self.name = name
        self.description = description
        self.schema = schema
        self.strict = strict
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.description = try reader.optional("description")
        self.schema = try reader.optional("schema")
        self.strict = try reader.optional("strict")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.optional("description", self.description)
        writer.optional("schema", self.schema)
        writer.optional("strict", self.strict)
        return writer.jsonValue
    }
}

/// JSON that matches a schema.
public struct ResponseFormatJSONSchema: WireObject {
    /// The kind of format.
    public let type = "json_schema"
    /// The schema.
    public var json_schema: JSONSchema

    public init(
        json_schema: JSONSchema
    ) {
        self.json_schema = json_schema
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "json_schema")
        self.json_schema = try reader.required("json_schema")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "json_schema")
        writer.required("json_schema", self.json_schema)
        return writer.jsonValue
    }
}

/// Text that a regular expression matches as a whole.
public struct ResponseFormatRegex: WireObject {
    /// The kind of format.
    public let type = "regex"
    /// The regular expression, in ECMAScript's syntax. Length: at least 1.
    public var regex: String

    public init(
        regex: String
    ) {
        self.regex = regex
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "regex")
        self.regex = try reader.required("regex")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "regex")
        writer.required("regex", self.regex)
        return writer.jsonValue
    }
}

/// Text that a grammar derives.
public struct ResponseFormatGrammar: WireObject {
    /// The kind of format.
    public let type = "grammar"
    /// The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`. Length: at
    /// least 1.
    public var grammar: String

    public init(
        grammar: String
    ) {
        self.grammar = grammar
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "grammar")
        self.grammar = try reader.required("grammar")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "grammar")
        writer.required("grammar", self.grammar)
        return writer.jsonValue
    }
}

/// A stretch of the answer, between two texts, that has a shape.
public struct StructuralTag: WireObject {
    /// The text that opens the stretch. Length: at least 1.
    public var begin: String
    /// The JSON Schema.
    public var schema: JSONObject
    /// The text that closes the stretch. Length: at least 1.
    public var end: String

    public init(
        begin: String,
        schema: JSONObject,
        end: String
    ) {
        self.begin = begin
        self.schema = schema
        self.end = end
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.begin = try reader.required("begin")
        self.schema = try reader.required("schema")
        self.end = try reader.required("end")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("begin", self.begin)
        writer.required("schema", self.schema)
        writer.required("end", self.end)
        return writer.jsonValue
    }
}

/// Free text in which tagged stretches have a shape.
///
/// Give either `tags` and `triggers`, or `format`.
public struct ResponseFormatStructuralTag: WireObject {
    /// The kind of format.
    public let type = "structural_tag"
    /// The stretches that may occur. Items: at least 1.
    public var tags: [StructuralTag]?
    /// Texts after which a stretch must follow; each tag's `begin` starts with one of them. Items:
    /// at least 1.
    public var triggers: [String]?
    /// A structural tag's format object, in full.
    public var format: JSONObject?

    public init(
        tags: [StructuralTag]? = nil,
        triggers: [String]? = nil,
        format: JSONObject? = nil
    ) {
        self.tags = tags
        self.triggers = triggers
        self.format = format
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "structural_tag")
        self.tags = try reader.optional("tags")
        self.triggers = try reader.optional("triggers")
        self.format = try reader.optional("format")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "structural_tag")
        writer.optional("tags", self.tags)
        writer.optional("triggers", self.triggers)
        writer.optional("format", self.format)
        return writer.jsonValue
    }
}

/// The shape that the answer must have.
public enum ResponseFormat: WireObject {
    case text(ResponseFormatText)
    case jsonObject(ResponseFormatJSONObject)
    case jsonSchema(ResponseFormatJSONSchema)
    case regex(ResponseFormatRegex)
    case grammar(ResponseFormatGrammar)
    case structuralTag(ResponseFormatStructuralTag)
    /// An object whose "type" this version does not know, as it is.
    case unknown(JSONValue)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch try WireReader(jsonValue).tag("type") {
        case "text": self = .text(try .init(jsonValue: jsonValue))
        case "json_object": self = .jsonObject(try .init(jsonValue: jsonValue))
        case "json_schema": self = .jsonSchema(try .init(jsonValue: jsonValue))
        case "regex": self = .regex(try .init(jsonValue: jsonValue))
        case "grammar": self = .grammar(try .init(jsonValue: jsonValue))
        case "structural_tag": self = .structuralTag(try .init(jsonValue: jsonValue))
        default: self = .unknown(jsonValue)
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .jsonObject(let value): value.jsonValue
        case .jsonSchema(let value): value.jsonValue
        case .regex(let value): value.jsonValue
        case .grammar(let value): value.jsonValue
        case .structuralTag(let value): value.jsonValue
        case .unknown(let value): value
        }
    }
}

/// How long a reasoning model thinks before it answers.
public enum ReasoningEffort: WireEnum {
    /// Not at all.
    case none_
    /// As little as it can.
    case minimal
    /// A little.
    case low
    /// As it was trained to.
    case medium
    /// Long.
    case high
    /// Longer.
    case xhigh
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .none_,
        .minimal,
        .low,
        .medium,
        .high,
        .xhigh,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "none": self = .none_
        case "minimal": self = .minimal
        case "low": self = .low
        case "medium": self = .medium
        case "high": self = .high
        case "xhigh": self = .xhigh
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .none_: "none"
        case .minimal: "minimal"
        case .low: "low"
        case .medium: "medium"
        case .high: "high"
        case .xhigh: "xhigh"
        case .unknown(let word): word
        }
    }
}

/// An adapter of a request.
public struct LoraUse: WireObject {
    /// The name under which it was loaded. Length: at least 1.
    public var name: String
    /// By how much its change counts. Range: at least -1000 and at most 1000. Default: 1.
    public var scale: Double

    public init(
        name: String,
        scale: Double = 1.0
    ) {
        self.name = name
        self.scale = scale
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.scale = try reader.defaulted("scale", 1.0)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.required("scale", self.scale)
        return writer.jsonValue
    }
}

/// The adapters of a request: the name of one, or several, whose changes add up.
public enum Lora: WireObject {
    case name(String)
    case uses([LoraUse])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .name(try .init(jsonValue: jsonValue))
        case .array: self = .uses(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .name(let value): value.jsonValue
        case .uses(let value): value.jsonValue
        }
    }
}

extension Lora: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .name(value)
    }
}

extension Lora: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: LoraUse...) {
        self = .uses(value)
    }
}

/// A request that is no conversation.
public enum SpecialRequest: WireEnum {
    /// Gives the engine's metrics in `usage.extra`.
    case queryEngineMetrics
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [.queryEngineMetrics]

    public init(rawValue: String) {
        switch rawValue {
        case "query_engine_metrics": self = .queryEngineMetrics
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .queryEngineMetrics: "query_engine_metrics"
        case .unknown(let word): word
        }
    }
}

/// How a grammar is followed.
public enum GrammarExecutionMode: WireEnum {
    /// Every token is sampled under the grammar's mask.
    case constraint
    /// Text that the grammar forces is appended without the model.
    case jumpForward
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .constraint,
        .jumpForward,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "constraint": self = .constraint
        case "jump_forward": self = .jumpForward
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .constraint: "constraint"
        case .jumpForward: "jump_forward"
        case .unknown(let word): word
        }
    }
}

/// Switches for tests and measurements.
public struct DebugConfig: WireObject {
    /// Whether the answer goes on over the end-of-text token. Default: false.
    public var ignore_eos: Bool
    /// Whether the whole pages of the prompt stay in the prefix cache until the engine is reset.
    /// Default: false.
    public var pinned_system_prompt: Bool
    /// Asks for something else than an answer.
    public var special_request: SpecialRequest?
    /// How a grammar is followed. Default: `jump_forward`.
    public var grammar_execution_mode: GrammarExecutionMode

    public init(
        ignore_eos: Bool = false,
        pinned_system_prompt: Bool = false,
        special_request: SpecialRequest? = nil,
        grammar_execution_mode: GrammarExecutionMode = .jumpForward
    ) {
        self.ignore_eos = ignore_eos
        self.pinned_system_prompt = pinned_system_prompt
        self.special_request = special_request
        self.grammar_execution_mode = grammar_execution_mode
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.ignore_eos = try reader.defaulted("ignore_eos", false)
        self.pinned_system_prompt = try reader.defaulted("pinned_system_prompt", false)
        self.special_request = try reader.optional("special_request")
        self.grammar_execution_mode = try reader.defaulted("grammar_execution_mode", .jumpForward)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("ignore_eos", self.ignore_eos)
        writer.required("pinned_system_prompt", self.pinned_system_prompt)
        writer.optional("special_request", self.special_request)
        writer.required("grammar_execution_mode", self.grammar_execution_mode)
        return writer.jsonValue
    }
}

/// A predicted text, whole or in parts.
public enum ChatCompletionPredictionText: WireObject {
    case text(String)
    case parts([ChatCompletionContentPartText])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .array: self = .parts(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .parts(let value): value.jsonValue
        }
    }
}

extension ChatCompletionPredictionText: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension ChatCompletionPredictionText: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: ChatCompletionContentPartText...) {
        self = .parts(value)
    }
}

/// A text that the answer probably resembles, such as a file before a small change.
public struct ChatCompletionPrediction: WireObject {
    /// The kind of prediction.
    public let type = "content"
    /// The text.
    public var content: ChatCompletionPredictionText

    public init(
        content: ChatCompletionPredictionText
    ) {
        self.content = content
    }

    public init(
        content: String
    ) {
        self.content = .text(content)
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("type", "content")
        self.content = try reader.required("content")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("type", "content")
        writer.required("content", self.content)
        return writer.jsonValue
    }
}

/// A conversation, and how the model is to continue it.
public struct ChatCompletionRequest: WireObject {
    /// The conversation so far, oldest first. Items: at least 1.
    public var messages: [ChatCompletionMessage]
    /// The model to answer. Absent: the engine's own.
    public var model: String?
    /// Whether the answer comes in chunks while it is generated. Default: false.
    public var stream: Bool
    /// Options of the stream.
    public var stream_options: StreamOptions?
    /// The longest answer. Absent: 4,096. The end of the context may come first. Range: at least 1.
    /// Unit: tokens.
    public var max_tokens: Int?
    /// The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`. Range: at
    /// least 1. Unit: tokens.
    public var max_completion_tokens: Int?
    /// How many answers are generated, each on its own. Range: at least 1 and at most 128. Default:
    /// 1.
    public var n: Int
    /// How far the choice of tokens strays from the likeliest; 0 always takes the likeliest.
    /// Absent: the model's own default, else 1. Range: at least 0 and at most 2.
    public var temperature: Double?
    /// Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest
    /// alone. Absent: the model's own default, else 1. Range: at least 0 and at most 1.
    public var top_p: Double?
    /// Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
    /// else 0. Range: at least -1. Unit: tokens.
    public var top_k: Int?
    /// Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
    /// default, else 0. Range: at least 0 and at most 1.
    public var min_p: Double?
    /// Lowers a token's logit by this much for each time it occurs in the answer. Absent: the
    /// model's own default, else 0. Range: at least -2 and at most 2.
    public var frequency_penalty: Double?
    /// Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
    /// default, else 0. Range: at least -2 and at most 2.
    public var presence_penalty: Double?
    /// Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent:
    /// the model's own default, else 1. Range: above 0 and at most 10.
    public var repetition_penalty: Double?
    /// Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or
    /// less keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most
    /// 1000.
    public var top_n_sigma: Double?
    /// How often (of 1) the likeliest tokens are excluded, all but the last one that
    /// `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range: at least
    /// 0 and at most 1.
    public var xtc_probability: Double?
    /// From which probability on `xtc_probability` counts a token among the likeliest; over 0.5
    /// there is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and at
    /// most 1.
    public var xtc_threshold: Double?
    /// Lowers the logit of a token that would go on with a repetition, in prompt and answer: by
    /// this much times `dry_base` to the power of what the repetition is longer than
    /// `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0 and at most
    /// 100.
    public var dry_multiplier: Double?
    /// How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else
    /// 1.75. Range: at least 1 and at most 100.
    public var dry_base: Double?
    /// `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else
    /// 2. Range: at least 1. Unit: tokens.
    public var dry_allowed_length: Int?
    /// Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
    /// Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
    public var dry_penalty_last_n: Int?
    /// A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as a
    /// special token does. Absent: a line's end, a colon, a quotation mark and an asterisk. Length:
    /// at least 1. Items: at most 64.
    public var dry_sequence_breakers: [String]?
    /// Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100.
    public var logit_bias: [Int: Double]?
    /// Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
    /// random one.
    public var seed: Int?
    /// Whether the chosen tokens' log probabilities are returned. Default: false.
    public var logprobs: Bool
    /// How many of the likeliest tokens are returned at each position; needs `logprobs`. Absent: 0.
    /// Range: at least 0 and at most 20. Unit: tokens.
    public var top_logprobs: Int?
    /// Texts at which the answer ends, before them.
    public var stop: Stop?
    /// The tools that the model may call. Items: at most 128.
    public var tools: [ChatCompletionTool]?
    /// Which tools are called. Absent: `auto` with tools, `none` without.
    public var tool_choice: ToolChoice?
    /// Whether one answer may hold several tool calls. Default: true.
    public var parallel_tool_calls: Bool
    /// The shape that the answer must have. Absent: any text.
    public var response_format: ResponseFormat?
    /// How long a reasoning model thinks before it answers.
    public var reasoning_effort: ReasoningEffort?
    /// The longest that a reasoning model thinks; at the limit its thoughts are ended and the
    /// answer goes on. Absent: no limit. An extension of this engine. Range: at least 0 and at most
    /// 2147483647. Unit: tokens.
    public var reasoning_budget: Int?
    /// Further variables for the model's chat template, such as `enable_thinking`.
    public var chat_template_kwargs: JSONObject?
    /// The name of a logit processor that the program has registered with the engine: a function
    /// that changes the logits before each token. Absent: none. An extension of this engine.
    public var logit_processor: String?
    /// The adapters that change the model for this request. Absent: none. An extension of this
    /// engine.
    public var lora: Lora?
    /// A label of the end user; it has no effect on the answer.
    public var user: String?
    /// Requests of higher priority are served first and may take the place of running ones of lower
    /// priority. Each level is worth ten seconds of waiting, so that nobody waits for ever. Absent:
    /// 0. An extension of this engine. Range: at least -100 and at most 100.
    public var priority: Int?
    /// The answer must be complete this long after the request came in; else it ends with the error
    /// `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
    /// most 2147483647. Unit: milliseconds.
    public var timeout_ms: Int?
    /// Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent: it does
    /// in a stream whose `include_usage` is set, as MLC-LLM's. An extension of this engine.
    public var usage_extra: Bool?
    /// Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's.
    public var timings_per_token: Bool?
    /// Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have
    /// no choices.
    public var return_progress: Bool?
    /// Switches for tests and measurements; a server takes them in debug mode only.
    public var debug_config: DebugConfig?
    /// Labels of the caller's own; they have no effect.
    public var metadata: [String: String]?
    /// Asks a service to keep the answer; this engine keeps none.
    public var store: Bool?
    /// A service's price class; it has no effect.
    public var service_tier: String?
    /// The kinds of output that are asked for; only `text` is offered.
    public var modalities: [String]?
    /// How spoken output sounds; spoken output is not offered.
    public var audio: JSONValue?
    /// A text that the answer will resemble. It makes the answer faster where the two agree, and
    /// never changes it.
    public var prediction: ChatCompletionPrediction?
    /// A search of the web; not offered.
    public var web_search_options: JSONValue?
    /// The older form of `tools`; use that.
    public var functions: JSONValue?
    /// The older form of `tool_choice`; use that.
    public var function_call: JSONValue?

    public init(
        messages: [ChatCompletionMessage],
        model: String? = nil,
        frequency_penalty: Double? = nil,
        presence_penalty: Double? = nil,
        logprobs: Bool = false,
        top_logprobs: Int? = nil,
        logit_bias: [Int: Double]? = nil,
        max_tokens: Int? = nil,
        n: Int = 1,
        seed: Int? = nil,
        stop: Stop? = nil,
        stream: Bool = false,
        stream_options: StreamOptions? = nil,
        temperature: Double? = nil,
        top_p: Double? = nil,
        tools: [ChatCompletionTool]? = nil,
        user: String? = nil,
        response_format: ResponseFormat? = nil,
        max_completion_tokens: Int? = nil,
        top_k: Int? = nil,
        min_p: Double? = nil,
        repetition_penalty: Double? = nil,
        top_n_sigma: Double? = nil,
        xtc_probability: Double? = nil,
        xtc_threshold: Double? = nil,
        dry_multiplier: Double? = nil,
        dry_base: Double? = nil,
        dry_allowed_length: Int? = nil,
        dry_penalty_last_n: Int? = nil,
        dry_sequence_breakers: [String]? = nil,
        tool_choice: ToolChoice? = nil,
        parallel_tool_calls: Bool = true,
        reasoning_effort: ReasoningEffort? = nil,
        reasoning_budget: Int? = nil,
        chat_template_kwargs: JSONObject? = nil,
        logit_processor: String? = nil,
        lora: Lora? = nil,
        priority: Int? = nil,
        timeout_ms: Int? = nil,
        usage_extra: Bool? = nil,
        timings_per_token: Bool? = nil,
        return_progress: Bool? = nil,
        debug_config: DebugConfig? = nil,
        metadata: [String: String]? = nil,
        store: Bool? = nil,
        service_tier: String? = nil,
        modalities: [String]? = nil,
        audio: JSONValue? = nil,
        prediction: ChatCompletionPrediction? = nil,
        web_search_options: JSONValue? = nil,
        functions: JSONValue? = nil,
        function_call: JSONValue? = nil
    ) {
        self.messages = messages
        self.model = model
        self.frequency_penalty = frequency_penalty
        self.presence_penalty = presence_penalty
        self.logprobs = logprobs
        self.top_logprobs = top_logprobs
        self.logit_bias = logit_bias
        self.max_tokens = max_tokens
        self.n = n
        self.seed = seed
        self.stop = stop
        self.stream = stream
        self.stream_options = stream_options
        self.temperature = temperature
        self.top_p = top_p
        self.tools = tools
        self.user = user
        self.response_format = response_format
        self.max_completion_tokens = max_completion_tokens
        self.top_k = top_k
        self.min_p = min_p
        self.repetition_penalty = repetition_penalty
        self.top_n_sigma = top_n_sigma
        self.xtc_probability = xtc_probability
        self.xtc_threshold = xtc_threshold
        self.dry_multiplier = dry_multiplier
        self.dry_base = dry_base
        self.dry_allowed_length = dry_allowed_length
        self.dry_penalty_last_n = dry_penalty_last_n
        self.dry_sequence_breakers = dry_sequence_breakers
        self.tool_choice = tool_choice
        self.parallel_tool_calls = parallel_tool_calls
        self.reasoning_effort = reasoning_effort
        self.reasoning_budget = reasoning_budget
        self.chat_template_kwargs = chat_template_kwargs
        self.logit_processor = logit_processor
        self.lora = lora
        self.priority = priority
        self.timeout_ms = timeout_ms
        self.usage_extra = usage_extra
        self.timings_per_token = timings_per_token
        self.return_progress = return_progress
        self.debug_config = debug_config
        self.metadata = metadata
        self.store = store
        self.service_tier = service_tier
        self.modalities = modalities
        self.audio = audio
        self.prediction = prediction
        self.web_search_options = web_search_options
        self.functions = functions
        self.function_call = function_call
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.messages = try reader.required("messages")
        self.model = try reader.optional("model")
        self.stream = try reader.defaulted("stream", false)
        self.stream_options = try reader.optional("stream_options")
        self.max_tokens = try reader.optional("max_tokens")
        self.max_completion_tokens = try reader.optional("max_completion_tokens")
        self.n = try reader.defaulted("n", 1)
        self.temperature = try reader.optional("temperature")
        self.top_p = try reader.optional("top_p")
        self.top_k = try reader.optional("top_k")
        self.min_p = try reader.optional("min_p")
        self.frequency_penalty = try reader.optional("frequency_penalty")
        self.presence_penalty = try reader.optional("presence_penalty")
        self.repetition_penalty = try reader.optional("repetition_penalty")
        self.top_n_sigma = try reader.optional("top_n_sigma")
        self.xtc_probability = try reader.optional("xtc_probability")
        self.xtc_threshold = try reader.optional("xtc_threshold")
        self.dry_multiplier = try reader.optional("dry_multiplier")
        self.dry_base = try reader.optional("dry_base")
        self.dry_allowed_length = try reader.optional("dry_allowed_length")
        self.dry_penalty_last_n = try reader.optional("dry_penalty_last_n")
        self.dry_sequence_breakers = try reader.optional("dry_sequence_breakers")
        self.logit_bias = try reader.optional("logit_bias")
        self.seed = try reader.optional("seed")
        self.logprobs = try reader.defaulted("logprobs", false)
        self.top_logprobs = try reader.optional("top_logprobs")
        self.stop = try reader.optional("stop")
        self.tools = try reader.optional("tools")
        self.tool_choice = try reader.optional("tool_choice")
        self.parallel_tool_calls = try reader.defaulted("parallel_tool_calls", true)
        self.response_format = try reader.optional("response_format")
        self.reasoning_effort = try reader.optional("reasoning_effort")
        self.reasoning_budget = try reader.optional("reasoning_budget")
        self.chat_template_kwargs = try reader.optional("chat_template_kwargs")
        self.logit_processor = try reader.optional("logit_processor")
        self.lora = try reader.optional("lora")
        self.user = try reader.optional("user")
        self.priority = try reader.optional("priority")
        self.timeout_ms = try reader.optional("timeout_ms")
        self.usage_extra = try reader.optional("usage_extra")
        self.timings_per_token = try reader.optional("timings_per_token")
        self.return_progress = try reader.optional("return_progress")
        self.debug_config = try reader.optional("debug_config")
        self.metadata = try reader.optional("metadata")
        self.store = try reader.optional("store")
        self.service_tier = try reader.optional("service_tier")
        self.modalities = try reader.optional("modalities")
        self.audio = try reader.optional("audio")
        self.prediction = try reader.optional("prediction")
        self.web_search_options = try reader.optional("web_search_options")
        self.functions = try reader.optional("functions")
        self.function_call = try reader.optional("function_call")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("messages", self.messages)
        writer.optional("model", self.model)
        writer.required("stream", self.stream)
        writer.optional("stream_options", self.stream_options)
        writer.optional("max_tokens", self.max_tokens)
        writer.optional("max_completion_tokens", self.max_completion_tokens)
        writer.required("n", self.n)
        writer.optional("temperature", self.temperature)
        writer.optional("top_p", self.top_p)
        writer.optional("top_k", self.top_k)
        writer.optional("min_p", self.min_p)
        writer.optional("frequency_penalty", self.frequency_penalty)
        writer.optional("presence_penalty", self.presence_penalty)
        writer.optional("repetition_penalty", self.repetition_penalty)
        writer.optional("top_n_sigma", self.top_n_sigma)
        writer.optional("xtc_probability", self.xtc_probability)
        writer.optional("xtc_threshold", self.xtc_threshold)
        writer.optional("dry_multiplier", self.dry_multiplier)
        writer.optional("dry_base", self.dry_base)
        writer.optional("dry_allowed_length", self.dry_allowed_length)
        writer.optional("dry_penalty_last_n", self.dry_penalty_last_n)
        writer.optional("dry_sequence_breakers", self.dry_sequence_breakers)
        writer.optional("logit_bias", self.logit_bias)
        writer.optional("seed", self.seed)
        writer.required("logprobs", self.logprobs)
        writer.optional("top_logprobs", self.top_logprobs)
        writer.optional("stop", self.stop)
        writer.optional("tools", self.tools)
        writer.optional("tool_choice", self.tool_choice)
        writer.required("parallel_tool_calls", self.parallel_tool_calls)
        writer.optional("response_format", self.response_format)
        writer.optional("reasoning_effort", self.reasoning_effort)
        writer.optional("reasoning_budget", self.reasoning_budget)
        writer.optional("chat_template_kwargs", self.chat_template_kwargs)
        writer.optional("logit_processor", self.logit_processor)
        writer.optional("lora", self.lora)
        writer.optional("user", self.user)
        writer.optional("priority", self.priority)
        writer.optional("timeout_ms", self.timeout_ms)
        writer.optional("usage_extra", self.usage_extra)
        writer.optional("timings_per_token", self.timings_per_token)
        writer.optional("return_progress", self.return_progress)
        writer.optional("debug_config", self.debug_config)
        writer.optional("metadata", self.metadata)
        writer.optional("store", self.store)
        writer.optional("service_tier", self.service_tier)
        writer.optional("modalities", self.modalities)
        writer.optional("audio", self.audio)
        writer.optional("prediction", self.prediction)
        writer.optional("web_search_options", self.web_search_options)
        writer.optional("functions", self.functions)
        writer.optional("function_call", self.function_call)
        return writer.jsonValue
    }
}

/// One prompt of several, or one token of a prompt.
public enum PromptItem: WireObject {
    case text(String)
    case token(Int)
    case tokens([Int])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .number: self = .token(try .init(jsonValue: jsonValue))
        case .array: self = .tokens(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or a number or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .token(let value): value.jsonValue
        case .tokens(let value): value.jsonValue
        }
    }
}

extension PromptItem: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension PromptItem: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: Int...) {
        self = .tokens(value)
    }
}

/// What is to be continued or embedded: a text, several texts, token ids, or lists of those.
public enum PromptInput: WireObject {
    case text(String)
    case items([PromptItem])

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .array: self = .items(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an array")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .items(let value): value.jsonValue
        }
    }
}

extension PromptInput: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

extension PromptInput: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: PromptItem...) {
        self = .items(value)
    }
}

/// A text, and how the model is to continue it.
public struct CompletionRequest: WireObject {
    /// What is to be continued.
    public var prompt: PromptInput
    /// The model to answer. Absent: the engine's own.
    public var model: String?
    /// The text that follows what is inserted. Absent: the text is only continued.
    public var suffix: String?
    /// Whether the answer begins with the prompt. Default: false.
    public var echo: Bool
    /// How many answers are generated to return the best `n`. Absent: `n`. Range: at least 1 and at
    /// most 128.
    public var best_of: Int?
    /// Whether the answer comes in chunks while it is generated. Default: false.
    public var stream: Bool
    /// Options of the stream.
    public var stream_options: StreamOptions?
    /// The longest answer. Range: at least 0. Default: 16. Unit: tokens.
    public var max_tokens: Int
    /// How many answers are generated, each on its own. Range: at least 1 and at most 128. Default:
    /// 1.
    public var n: Int
    /// How far the choice of tokens strays from the likeliest; 0 always takes the likeliest.
    /// Absent: the model's own default, else 1. Range: at least 0 and at most 2.
    public var temperature: Double?
    /// Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest
    /// alone. Absent: the model's own default, else 1. Range: at least 0 and at most 1.
    public var top_p: Double?
    /// Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
    /// else 0. Range: at least -1. Unit: tokens.
    public var top_k: Int?
    /// Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
    /// default, else 0. Range: at least 0 and at most 1.
    public var min_p: Double?
    /// Lowers a token's logit by this much for each time it occurs in the answer. Absent: the
    /// model's own default, else 0. Range: at least -2 and at most 2.
    public var frequency_penalty: Double?
    /// Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
    /// default, else 0. Range: at least -2 and at most 2.
    public var presence_penalty: Double?
    /// Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent:
    /// the model's own default, else 1. Range: above 0 and at most 10.
    public var repetition_penalty: Double?
    /// Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or
    /// less keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most
    /// 1000.
    public var top_n_sigma: Double?
    /// How often (of 1) the likeliest tokens are excluded, all but the last one that
    /// `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range: at least
    /// 0 and at most 1.
    public var xtc_probability: Double?
    /// From which probability on `xtc_probability` counts a token among the likeliest; over 0.5
    /// there is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and at
    /// most 1.
    public var xtc_threshold: Double?
    /// Lowers the logit of a token that would go on with a repetition, in prompt and answer: by
    /// this much times `dry_base` to the power of what the repetition is longer than
    /// `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least 0 and at most
    /// 100.
    public var dry_multiplier: Double?
    /// How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else
    /// 1.75. Range: at least 1 and at most 100.
    public var dry_base: Double?
    /// `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else
    /// 2. Range: at least 1. Unit: tokens.
    public var dry_allowed_length: Int?
    /// Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
    /// Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
    public var dry_penalty_last_n: Int?
    /// A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as a
    /// special token does. Absent: a line's end, a colon, a quotation mark and an asterisk. Length:
    /// at least 1. Items: at most 64.
    public var dry_sequence_breakers: [String]?
    /// Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100.
    public var logit_bias: [Int: Double]?
    /// Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
    /// random one.
    public var seed: Int?
    /// How many of the likeliest tokens are returned at each position, beside the chosen one.
    /// Absent: none. Range: at least 0 and at most 5. Unit: tokens.
    public var logprobs: Int?
    /// Texts at which the answer ends, before them.
    public var stop: Stop?
    /// The shape that the answer must have. Absent: any text.
    public var response_format: ResponseFormat?
    /// The name of a logit processor that the program has registered with the engine: a function
    /// that changes the logits before each token. Absent: none. An extension of this engine.
    public var logit_processor: String?
    /// The adapters that change the model for this request. Absent: none. An extension of this
    /// engine.
    public var lora: Lora?
    /// A label of the end user; it has no effect on the answer.
    public var user: String?
    /// Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    /// engine. Range: at least -100 and at most 100.
    public var priority: Int?
    /// The answer must be complete this long after the request came in; else it ends with the error
    /// `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
    /// most 2147483647. Unit: milliseconds.
    public var timeout_ms: Int?
    /// Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's.
    public var timings_per_token: Bool?
    /// Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have
    /// no choices.
    public var return_progress: Bool?
    /// Switches for tests and measurements; a server takes them in debug mode only.
    public var debug_config: DebugConfig?

    public init(
        prompt: PromptInput,
        model: String? = nil,
        frequency_penalty: Double? = nil,
        presence_penalty: Double? = nil,
        logprobs: Int? = nil,
        logit_bias: [Int: Double]? = nil,
        max_tokens: Int = 16,
        n: Int = 1,
        seed: Int? = nil,
        stop: Stop? = nil,
        stream: Bool = false,
        stream_options: StreamOptions? = nil,
        temperature: Double? = nil,
        top_p: Double? = nil,
        user: String? = nil,
        response_format: ResponseFormat? = nil,
        suffix: String? = nil,
        echo: Bool = false,
        best_of: Int? = nil,
        top_k: Int? = nil,
        min_p: Double? = nil,
        repetition_penalty: Double? = nil,
        top_n_sigma: Double? = nil,
        xtc_probability: Double? = nil,
        xtc_threshold: Double? = nil,
        dry_multiplier: Double? = nil,
        dry_base: Double? = nil,
        dry_allowed_length: Int? = nil,
        dry_penalty_last_n: Int? = nil,
        dry_sequence_breakers: [String]? = nil,
        logit_processor: String? = nil,
        lora: Lora? = nil,
        priority: Int? = nil,
        timeout_ms: Int? = nil,
        timings_per_token: Bool? = nil,
        return_progress: Bool? = nil,
        debug_config: DebugConfig? = nil
    ) {
        self.prompt = prompt
        self.model = model
        self.frequency_penalty = frequency_penalty
        self.presence_penalty = presence_penalty
        self.logprobs = logprobs
        self.logit_bias = logit_bias
        self.max_tokens = max_tokens
        self.n = n
        self.seed = seed
        self.stop = stop
        self.stream = stream
        self.stream_options = stream_options
        self.temperature = temperature
        self.top_p = top_p
        self.user = user
        self.response_format = response_format
        self.suffix = suffix
        self.echo = echo
        self.best_of = best_of
        self.top_k = top_k
        self.min_p = min_p
        self.repetition_penalty = repetition_penalty
        self.top_n_sigma = top_n_sigma
        self.xtc_probability = xtc_probability
        self.xtc_threshold = xtc_threshold
        self.dry_multiplier = dry_multiplier
        self.dry_base = dry_base
        self.dry_allowed_length = dry_allowed_length
        self.dry_penalty_last_n = dry_penalty_last_n
        self.dry_sequence_breakers = dry_sequence_breakers
        self.logit_processor = logit_processor
        self.lora = lora
        self.priority = priority
        self.timeout_ms = timeout_ms
        self.timings_per_token = timings_per_token
        self.return_progress = return_progress
        self.debug_config = debug_config
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt = try reader.required("prompt")
        self.model = try reader.optional("model")
        self.suffix = try reader.optional("suffix")
        self.echo = try reader.defaulted("echo", false)
        self.best_of = try reader.optional("best_of")
        self.stream = try reader.defaulted("stream", false)
        self.stream_options = try reader.optional("stream_options")
        self.max_tokens = try reader.defaulted("max_tokens", 16)
        self.n = try reader.defaulted("n", 1)
        self.temperature = try reader.optional("temperature")
        self.top_p = try reader.optional("top_p")
        self.top_k = try reader.optional("top_k")
        self.min_p = try reader.optional("min_p")
        self.frequency_penalty = try reader.optional("frequency_penalty")
        self.presence_penalty = try reader.optional("presence_penalty")
        self.repetition_penalty = try reader.optional("repetition_penalty")
        self.top_n_sigma = try reader.optional("top_n_sigma")
        self.xtc_probability = try reader.optional("xtc_probability")
        self.xtc_threshold = try reader.optional("xtc_threshold")
        self.dry_multiplier = try reader.optional("dry_multiplier")
        self.dry_base = try reader.optional("dry_base")
        self.dry_allowed_length = try reader.optional("dry_allowed_length")
        self.dry_penalty_last_n = try reader.optional("dry_penalty_last_n")
        self.dry_sequence_breakers = try reader.optional("dry_sequence_breakers")
        self.logit_bias = try reader.optional("logit_bias")
        self.seed = try reader.optional("seed")
        self.logprobs = try reader.optional("logprobs")
        self.stop = try reader.optional("stop")
        self.response_format = try reader.optional("response_format")
        self.logit_processor = try reader.optional("logit_processor")
        self.lora = try reader.optional("lora")
        self.user = try reader.optional("user")
        self.priority = try reader.optional("priority")
        self.timeout_ms = try reader.optional("timeout_ms")
        self.timings_per_token = try reader.optional("timings_per_token")
        self.return_progress = try reader.optional("return_progress")
        self.debug_config = try reader.optional("debug_config")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("prompt", self.prompt)
        writer.optional("model", self.model)
        writer.optional("suffix", self.suffix)
        writer.required("echo", self.echo)
        writer.optional("best_of", self.best_of)
        writer.required("stream", self.stream)
        writer.optional("stream_options", self.stream_options)
        writer.required("max_tokens", self.max_tokens)
        writer.required("n", self.n)
        writer.optional("temperature", self.temperature)
        writer.optional("top_p", self.top_p)
        writer.optional("top_k", self.top_k)
        writer.optional("min_p", self.min_p)
        writer.optional("frequency_penalty", self.frequency_penalty)
        writer.optional("presence_penalty", self.presence_penalty)
        writer.optional("repetition_penalty", self.repetition_penalty)
        writer.optional("top_n_sigma", self.top_n_sigma)
        writer.optional("xtc_probability", self.xtc_probability)
        writer.optional("xtc_threshold", self.xtc_threshold)
        writer.optional("dry_multiplier", self.dry_multiplier)
        writer.optional("dry_base", self.dry_base)
        writer.optional("dry_allowed_length", self.dry_allowed_length)
        writer.optional("dry_penalty_last_n", self.dry_penalty_last_n)
        writer.optional("dry_sequence_breakers", self.dry_sequence_breakers)
        writer.optional("logit_bias", self.logit_bias)
        writer.optional("seed", self.seed)
        writer.optional("logprobs", self.logprobs)
        writer.optional("stop", self.stop)
        writer.optional("response_format", self.response_format)
        writer.optional("logit_processor", self.logit_processor)
        writer.optional("lora", self.lora)
        writer.optional("user", self.user)
        writer.optional("priority", self.priority)
        writer.optional("timeout_ms", self.timeout_ms)
        writer.optional("timings_per_token", self.timings_per_token)
        writer.optional("return_progress", self.return_progress)
        writer.optional("debug_config", self.debug_config)
        return writer.jsonValue
    }
}

/// How a vector is written.
public enum EmbeddingEncoding: WireEnum {
    /// As a list of numbers.
    case float
    /// As the base64 of its numbers, little-endian float32.
    case base64
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .float,
        .base64,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "float": self = .float
        case "base64": self = .base64
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .float: "float"
        case .base64: "base64"
        case .unknown(let word): word
        }
    }
}

/// Texts of which vectors are wanted.
public struct EmbeddingRequest: WireObject {
    /// A text, several texts, or their token ids.
    public var input: PromptInput
    /// The model to use. Absent: the engine's own.
    public var model: String?
    /// How the vectors are written. Default: `float`.
    public var encoding_format: EmbeddingEncoding
    /// How many numbers of each vector are kept. Absent: all that the model gives. Range: at least
    /// 1.
    public var dimensions: Int?
    /// A label of the end user; it has no effect.
    public var user: String?
    /// Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    /// engine. Range: at least -100 and at most 100.
    public var priority: Int?
    /// The answer must be complete this long after the request came in; else it ends with the error
    /// `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
    /// most 2147483647. Unit: milliseconds.
    public var timeout_ms: Int?

    public init(
        input: PromptInput,
        model: String? = nil,
        user: String? = nil,
        encoding_format: EmbeddingEncoding = .float,
        dimensions: Int? = nil,
        priority: Int? = nil,
        timeout_ms: Int? = nil
    ) {
        self.input = input
        self.model = model
        self.user = user
        self.encoding_format = encoding_format
        self.dimensions = dimensions
        self.priority = priority
        self.timeout_ms = timeout_ms
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.input = try reader.required("input")
        self.model = try reader.optional("model")
        self.encoding_format = try reader.defaulted("encoding_format", .float)
        self.dimensions = try reader.optional("dimensions")
        self.user = try reader.optional("user")
        self.priority = try reader.optional("priority")
        self.timeout_ms = try reader.optional("timeout_ms")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("input", self.input)
        writer.optional("model", self.model)
        writer.required("encoding_format", self.encoding_format)
        writer.optional("dimensions", self.dimensions)
        writer.optional("user", self.user)
        writer.optional("priority", self.priority)
        writer.optional("timeout_ms", self.timeout_ms)
        return writer.jsonValue
    }
}

/// A document as an object.
public struct RerankDocument: WireObject {
    /// The document's text.
    public var text: String

    public init(
        text: String
    ) {
        self.text = text
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.text = try reader.required("text")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("text", self.text)
        return writer.jsonValue
    }
}

/// A document to be judged: its text, or an object with the text.
public enum RerankInput: WireObject {
    case text(String)
    case document(RerankDocument)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .string: self = .text(try .init(jsonValue: jsonValue))
        case .object: self = .document(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of a string or an object")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .text(let value): value.jsonValue
        case .document(let value): value.jsonValue
        }
    }
}

extension RerankInput: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .text(value)
    }
}

/// A query, and the documents of which the best ones are wanted.
public struct RerankRequest: WireObject {
    /// What the documents are judged by. Length: at least 1.
    public var query: String
    /// The documents: texts, or objects with a text. Items: at least 1 and at most 10000.
    public var documents: [RerankInput]
    /// The model to use. Absent: the engine's own.
    public var model: String?
    /// How many results are returned, the best first. Absent: one for each document. Range: at
    /// least 1.
    public var top_n: Int?
    /// Whether each result holds its document. Default: false.
    public var return_documents: Bool
    /// How many tokens of each document are read at most. Absent: as many as fit beside the query.
    /// Range: at least 1. Unit: tokens.
    public var max_tokens_per_doc: Int?
    /// Whether the end of a document is left out that does not fit beside the query. False: such a
    /// request is refused. An extension of this engine. Default: true.
    public var truncate: Bool
    /// Whether scores are the model's own numbers, of any size, instead of numbers from 0 to 1. An
    /// extension of this engine. Default: false.
    public var raw_scores: Bool
    /// Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
    /// engine. Range: at least -100 and at most 100.
    public var priority: Int?
    /// The answer must be complete this long after the request came in; else it ends with the error
    /// `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
    /// most 2147483647. Unit: milliseconds.
    public var timeout_ms: Int?

    public init(
        query: String,
        documents: [RerankInput],
        model: String? = nil,
        top_n: Int? = nil,
        return_documents: Bool = false,
        max_tokens_per_doc: Int? = nil,
        truncate: Bool = true,
        raw_scores: Bool = false,
        priority: Int? = nil,
        timeout_ms: Int? = nil
    ) {
        self.query = query
        self.documents = documents
        self.model = model
        self.top_n = top_n
        self.return_documents = return_documents
        self.max_tokens_per_doc = max_tokens_per_doc
        self.truncate = truncate
        self.raw_scores = raw_scores
        self.priority = priority
        self.timeout_ms = timeout_ms
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.query = try reader.required("query")
        self.documents = try reader.required("documents")
        self.model = try reader.optional("model")
        self.top_n = try reader.optional("top_n")
        self.return_documents = try reader.defaulted("return_documents", false)
        self.max_tokens_per_doc = try reader.optional("max_tokens_per_doc")
        self.truncate = try reader.defaulted("truncate", true)
        self.raw_scores = try reader.defaulted("raw_scores", false)
        self.priority = try reader.optional("priority")
        self.timeout_ms = try reader.optional("timeout_ms")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("query", self.query)
        writer.required("documents", self.documents)
        writer.optional("model", self.model)
        writer.optional("top_n", self.top_n)
        writer.required("return_documents", self.return_documents)
        writer.optional("max_tokens_per_doc", self.max_tokens_per_doc)
        writer.required("truncate", self.truncate)
        writer.required("raw_scores", self.raw_scores)
        writer.optional("priority", self.priority)
        writer.optional("timeout_ms", self.timeout_ms)
        return writer.jsonValue
    }
}

/// A text of which the tokens are wanted.
public struct TokenizeRequest: WireObject {
    /// The text.
    public var text: String
    /// Whether the tokens are added that the model expects around a whole text. Default: false.
    public var add_special_tokens: Bool

    public init(
        text: String,
        add_special_tokens: Bool = false
    ) {
        self.text = text
        self.add_special_tokens = add_special_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.text = try reader.required("text")
        self.add_special_tokens = try reader.defaulted("add_special_tokens", false)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("text", self.text)
        writer.required("add_special_tokens", self.add_special_tokens)
        return writer.jsonValue
    }
}

/// Tokens of which the text is wanted.
public struct DetokenizeRequest: WireObject {
    /// The token ids. Range: at least 0.
    public var tokens: [Int]
    /// Whether special tokens leave no text. Default: true.
    public var skip_special_tokens: Bool

    public init(
        tokens: [Int],
        skip_special_tokens: Bool = true
    ) {
        self.tokens = tokens
        self.skip_special_tokens = skip_special_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.required("tokens")
        self.skip_special_tokens = try reader.defaulted("skip_special_tokens", true)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("tokens", self.tokens)
        writer.required("skip_special_tokens", self.skip_special_tokens)
        return writer.jsonValue
    }
}

/// A conversation whose state is to be saved: `messages` or `prompt_tokens`.
public struct KVSaveRequest: WireObject {
    /// The file to write, on the engine's machine; an older one is replaced. Length: at least 1.
    public var path: String
    /// The conversation, as a request would send it. Absent: `prompt_tokens` is given. Items: at
    /// least 1.
    public var messages: [ChatCompletionMessage]?
    /// Further variables for the model's chat template, as the request would send them.
    public var chat_template_kwargs: JSONObject?
    /// The prompt's token ids. Absent: `messages` is given. Range: at least 0. Items: at least 1.
    /// Unit: tokens.
    public var prompt_tokens: [Int]?

    public init(
        path: String,
        messages: [ChatCompletionMessage]? = nil,
        chat_template_kwargs: JSONObject? = nil,
        prompt_tokens: [Int]? = nil
    ) {
        self.path = path
        self.messages = messages
        self.chat_template_kwargs = chat_template_kwargs
        self.prompt_tokens = prompt_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.path = try reader.required("path")
        self.messages = try reader.optional("messages")
        self.chat_template_kwargs = try reader.optional("chat_template_kwargs")
        self.prompt_tokens = try reader.optional("prompt_tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("path", self.path)
        writer.optional("messages", self.messages)
        writer.optional("chat_template_kwargs", self.chat_template_kwargs)
        writer.optional("prompt_tokens", self.prompt_tokens)
        return writer.jsonValue
    }
}

/// A saved state that requests are to find.
public struct KVLoadRequest: WireObject {
    /// The file to read, on the engine's machine. Length: at least 1.
    public var path: String

    public init(
        path: String
    ) {
        self.path = path
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.path = try reader.required("path")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("path", self.path)
        return writer.jsonValue
    }
}

/// A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing is
/// computed.
public struct KVHeldRequest: WireObject {
    /// A chat, as it would be sent. Absent: `completion` is given.
    public var chat: ChatCompletionRequest?
    /// A text to continue, as it would be sent. Absent: `chat` is given.
    public var completion: CompletionRequest?

    public init(
        chat: ChatCompletionRequest? = nil,
        completion: CompletionRequest? = nil
    ) {
        self.chat = chat
        self.completion = completion
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.chat = try reader.optional("chat")
        self.completion = try reader.optional("completion")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("chat", self.chat)
        writer.optional("completion", self.completion)
        return writer.jsonValue
    }
}

/// How much memory is given back; each level includes those before it.
public enum TrimLevel: WireEnum {
    /// What only the prefix cache holds.
    case caches
    /// Also the memory of KV pages that no running answer uses.
    case pages
    /// Also the pages of running answers, which are computed again later and stay the same, and
    /// weights that can be read from their files again.
    case all
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .caches,
        .pages,
        .all,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "caches": self = .caches
        case "pages": self = .pages
        case "all": self = .all
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .caches: "caches"
        case .pages: "pages"
        case .all: "all"
        case .unknown(let word): word
        }
    }
}

/// How much memory the engine gives back.
public struct TrimRequest: WireObject {
    /// How much. Default: `caches`.
    public var level: TrimLevel

    public init(
        level: TrimLevel = .caches
    ) {
        self.level = level
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.level = try reader.defaulted("level", .caches)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("level", self.level)
        return writer.jsonValue
    }
}

/// What is made ready before the first request.
public struct PrewarmRequest: WireObject {
    /// Whether a step of one token is computed; its result is thrown away. Default: true.
    public var step: Bool

    public init(
        step: Bool = true
    ) {
        self.step = step
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.step = try reader.defaulted("step", true)
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("step", self.step)
        return writer.jsonValue
    }
}

/// How hot a device is, by iOS's names. Answers stay the same in every state.
public enum ThermalState: WireEnum {
    /// Cool: no limits. Android's none and light.
    case nominal
    /// Smaller chunks of prompts. Android's moderate.
    case fair
    /// Half of the threads and of the answers at a time. Android's severe.
    case serious
    /// One thread, one answer at a time. Android's critical and higher.
    case critical
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .nominal,
        .fair,
        .serious,
        .critical,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "nominal": self = .nominal
        case "fair": self = .fair
        case "serious": self = .serious
        case "critical": self = .critical
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .nominal: "nominal"
        case .fair: "fair"
        case .serious: "serious"
        case .critical: "critical"
        case .unknown(let word): word
        }
    }
}

/// How hot the device is.
public struct ThermalHint: WireObject {
    /// The state.
    public var state: ThermalState

    public init(
        state: ThermalState
    ) {
        self.state = state
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.state = try reader.required("state")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("state", self.state)
        return writer.jsonValue
    }
}

/// An adapter that requests may choose from now on.
public struct AdapterLoadRequest: WireObject {
    /// The name that requests use. One that is loaded already is replaced; its requests go on with
    /// it. Length: at least 1 and at most 256.
    public var name: String
    /// The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of other
    /// formats. Length: at least 1.
    public var path: String

    public init(
        name: String,
        path: String
    ) {
        self.name = name
        self.path = path
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.path = try reader.required("path")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.required("path", self.path)
        return writer.jsonValue
    }
}

/// An adapter that no new request may choose; its requests go on with it.
public struct AdapterUnloadRequest: WireObject {
    /// Its name. Length: at least 1.
    public var name: String

    public init(
        name: String
    ) {
        self.name = name
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        return writer.jsonValue
    }
}

/// Which adapters are asked for.
public struct AdapterListRequest: WireObject {
    /// The adapter of this name alone. Absent: all. Length: at least 1.
    public var name: String?

    public init(
        name: String? = nil
    ) {
        self.name = name
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.optional("name")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("name", self.name)
        return writer.jsonValue
    }
}

/// The folders that a program gives to the engine, for the whole process.
public struct Directories: WireObject {
    /// For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or `mlc_llm`
    /// in the user's cache folder. Length: at least 1.
    public var cache: String?
    /// For files that are removed again. Absent: `cache` if it is given, else the system's folder
    /// for temporary files. Length: at least 1.
    public var temporary: String?
    /// Where model libraries and device backends also are. Absent: nowhere else. Length: at least
    /// 1.
    public var libraries: [String]?

    public init(
        cache: String? = nil,
        temporary: String? = nil,
        libraries: [String]? = nil
    ) {
        self.cache = cache
        self.temporary = temporary
        self.libraries = libraries
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.cache = try reader.optional("cache")
        self.temporary = try reader.optional("temporary")
        self.libraries = try reader.optional("libraries")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("cache", self.cache)
        writer.optional("temporary", self.temporary)
        writer.optional("libraries", self.libraries)
        return writer.jsonValue
    }
}

/// Which model an engine loads.
public struct ModelLoadRequest: WireObject {
    /// The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer.
    public var model: String
    /// The compiled library: a file, or the name of one among the app's libraries or linked into
    /// the program. Absent: the one in the folder `lib` of the model's folder.
    public var model_lib: String?
    /// Where the model runs, such as `cpu:0`; `auto` takes the first device there is. Default:
    /// `auto`.
    public var device: String
    /// The model's name in answers. Absent: the folder's.
    public var name: String?

    public init(
        model: String,
        model_lib: String? = nil,
        device: String = "auto",
        name: String? = nil
    ) {
        self.model = model
        self.model_lib = model_lib
        self.device = device
        self.name = name
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.model = try reader.required("model")
        self.model_lib = try reader.optional("model_lib")
        self.device = try reader.defaulted("device", "auto")
        self.name = try reader.optional("name")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("model", self.model)
        writer.optional("model_lib", self.model_lib)
        writer.required("device", self.device)
        writer.optional("name", self.name)
        return writer.jsonValue
    }
}

/// What the engine is for, which sets its other defaults.
public enum EngineMode: WireEnum {
    /// At most 16 sequences (4 with recurrent states), 8192 tokens of KV cache.
    case local
    /// One conversation: 1 sequence, as long as the context window.
    case interactive
    /// Many requests: as many sequences as the model and the memory allow.
    case server
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .local,
        .interactive,
        .server,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "local": self = .local
        case "interactive": self = .interactive
        case "server": self = .server
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .local: "local"
        case .interactive: "interactive"
        case .server: "server"
        case .unknown(let word): word
        }
    }
}

/// The precision of cached keys and values.
public enum KVCacheDType: WireEnum {
    /// Floats of 32 bits.
    case f32
    /// Floats of 16 bits.
    case f16
    /// Floats of 16 bits with the range of 32 bits.
    case bf16
    /// Integers of 8 bits, and a scale for each key and each value of a head.
    case q8
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .f32,
        .f16,
        .bf16,
        .q8,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "f32": self = .f32
        case "f16": self = .f16
        case "bf16": self = .bf16
        case "q8": self = .q8
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .f32: "f32"
        case .f16: "f16"
        case .bf16: "bf16"
        case .q8: "q8"
        case .unknown(let word): word
        }
    }
}

/// How prompts are taken in beside running answers.
public enum PrefillMode: WireEnum {
    /// A chunk of a prompt and the running answers share a step.
    case hybrid
    /// A step takes in chunks of prompts, or continues answers.
    case chunked
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .hybrid,
        .chunked,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "hybrid": self = .hybrid
        case "chunked": self = .chunked
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .hybrid: "hybrid"
        case .chunked: "chunked"
        case .unknown(let word): word
        }
    }
}

/// Which hidden states of a text make its vector.
public enum EmbeddingPooling: WireEnum {
    /// The mean of those of all its tokens.
    case mean
    /// That of its last token.
    case last
    /// That of its first token, which many encoders call [CLS].
    case cls
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .mean,
        .last,
        .cls,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "mean": self = .mean
        case "last": self = .last
        case "cls": self = .cls
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .mean: "mean"
        case .last: "last"
        case .cls: "cls"
        case .unknown(let word): word
        }
    }
}

/// Whether what was computed is kept for requests that begin alike.
public enum PrefixCacheMode: WireEnum {
    /// Kept in a radix tree of token ids.
    case radix
    /// Not kept.
    case disable
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .radix,
        .disable,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "radix": self = .radix
        case "disable": self = .disable
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .radix: "radix"
        case .disable: "disable"
        case .unknown(let word): word
        }
    }
}

/// How tokens are drafted ahead of the model.
public enum SpeculativeMode: WireEnum {
    /// Not at all.
    case disable
    /// By a smaller model, the one in `additional_models`.
    case smallDraft
    /// By what followed the last tokens when they came before.
    case promptLookup
    /// By the layer for further tokens in the model's own checkpoint, or by Gemma 4's assistant.
    case mtp
    /// By an EAGLE head on the model's hidden states.
    case eagle
    /// By Medusa heads on the model's hidden states.
    case medusa
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .disable,
        .smallDraft,
        .promptLookup,
        .mtp,
        .eagle,
        .medusa,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "disable": self = .disable
        case "small_draft": self = .smallDraft
        case "prompt_lookup": self = .promptLookup
        case "mtp": self = .mtp
        case "eagle": self = .eagle
        case "medusa": self = .medusa
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .disable: "disable"
        case .smallDraft: "small_draft"
        case .promptLookup: "prompt_lookup"
        case .mtp: "mtp"
        case .eagle: "eagle"
        case .medusa: "medusa"
        case .unknown(let word): word
        }
    }
}

/// How an engine runs a model; what is absent follows from the mode, model and memory.
public struct EngineConfig: WireObject {
    /// What the engine is for. Absent: `local`.
    public var mode: EngineMode?
    /// How many sequences are generated at the same time. Absent: by the mode. Range: at least 1.
    public var max_num_sequence: Int?
    /// The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at least
    /// 1. Unit: tokens.
    public var max_total_seq_length: Int?
    /// The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least 1. Unit:
    /// bytes.
    public var kv_cache_bytes: Int?
    /// The precision of cached keys and values. It is compiled into the model library, so a library
    /// that is given must have the same. Absent: the library's own.
    public var kv_cache_dtype: KVCacheDType?
    /// The most that weights, KV cache and temporaries may take. Absent: what is free. Range: at
    /// least 1. Unit: bytes.
    public var memory_limit_bytes: Int?
    /// The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and at most
    /// 1.
    public var gpu_memory_utilization: Double?
    /// The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens.
    public var context_window_size: Int?
    /// How far back attention reaches; -1 is all the way. Absent: the model's own. Range: at least
    /// -1. Unit: tokens.
    public var sliding_window_size: Int?
    /// How many first tokens stay in reach of a sliding window. Absent: the model's own. Range: at
    /// least 0. Unit: tokens.
    public var attention_sink_size: Int?
    /// The most tokens of prompts that one step takes in; it takes fewer where that many would last
    /// long. Absent: the model's own, and at most 512 on a CPU for a model without pictures. Range:
    /// at least 1. Unit: tokens.
    public var prefill_chunk_size: Int?
    /// How prompts are taken in beside running answers. Absent: `hybrid`.
    public var prefill_mode: PrefillMode?
    /// How many requests may wait for their turn; more are refused with the error `queue_full`.
    /// Absent: 1024. Range: at least 1 and at most 1000000.
    public var max_queued_requests: Int?
    /// Whether the engine records what it does for the route `trace`, in Chrome's trace format.
    /// Absent: false.
    public var enable_tracing: Bool?
    /// Which hidden states make the vectors of the route `embeddings`. Absent: what the model's
    /// mlc-chat-config.json says under the same name, else `mean`.
    public var embedding_pooling: EmbeddingPooling?
    /// Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has. Absent:
    /// false; its `content` is then an empty text, as MLC-LLM's is.
    public var openai_last_chunk: Bool?
    /// Whether a request with a member that no field has is refused, with its path; for programs
    /// that write their JSON by hand, as in C. Absent: false; such members are ignored.
    public var refuse_unknown_fields: Bool?
    /// How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least 1.
    public var max_history_size: Int?
    /// Whether what was computed is kept for requests that begin alike. Absent: `radix`.
    public var prefix_cache_mode: PrefixCacheMode?
    /// How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1. Range: at
    /// least -1.
    public var prefix_cache_max_num_recycling_seqs: Int?
    /// A folder in which the prefix cache is kept in files too, so that it is there after a
    /// restart; processes may share it. Its files tell what the prompts were. Without effect for
    /// encoders and with `prefix_cache_mode` `disable`; refused in browsers. Absent: none.
    public var prefix_cache_dir: String?
    /// Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the
    /// device has to drop, and gives it back when a prompt begins alike; 0 is none. Refused on
    /// CPUs, whose KV cache is in that memory, and in browsers. Absent: twice the KV cache and at
    /// most a quarter of what the host has free, on devices with a memory of their own; else 0.
    /// Range: at least 0. Unit: bytes.
    public var prefix_cache_ram_bytes: Int?
    /// The most that these files may take; the ones that were not used for the longest time go
    /// first. Absent: 8 GiB. Range: at least 1. Unit: bytes.
    public var prefix_cache_dir_bytes: Int?
    /// After how many days without use a file is removed. Absent: 30. Range: at least 1 and at most
    /// 36500. Unit: days.
    public var prefix_cache_dir_days: Int?
    /// How tokens are drafted ahead; the answers are the same with and without. Each mode but
    /// `disable` also looks up what followed the last tokens earlier, and drafts what is better.
    /// Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's
    /// assistant, if it has one, texts keep most of their memory, and `mode` is not `server`; else
    /// `disable`.
    public var speculative_mode: SpeculativeMode?
    /// The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
    /// `MODEL,LIBRARY`.
    public var additional_models: [String]?
    /// The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the text
    /// alone. For the Python package, which converts such models; refused elsewhere. Absent: the
    /// one beside the model.
    public var mmproj: String?
    /// How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
    /// `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0. Unit:
    /// tokens.
    public var spec_draft_length: Int?
    /// Whether text that a grammar forces is computed ahead. The answers are the same with and
    /// without. Absent: true.
    public var jump_forward: Bool?
    /// Over 1, drafts form a tree that is verified in one step: at most so many at each depth,
    /// `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a
    /// `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at least 1 and at
    /// most 16.
    public var spec_tree_width: Int?
    /// Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the
    /// model's own. Range: at least 1.
    public var tensor_parallel_shards: Int?
    /// Over how many groups of devices the layers are spread. Absent: the model's own. Range: at
    /// least 1.
    public var pipeline_parallel_stages: Int?
    /// Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A
    /// library that is given must be compiled with `--lora`. Absent: 0, which is no room. Range: at
    /// least 0 and at most 65536.
    public var lora_ranks: Int?
    /// The most memory that this room may take; an engine whose `lora_ranks` take more is refused,
    /// and the error says how many fit. Absent: what the ranks take. Range: at least 1. Unit:
    /// bytes.
    public var lora_bytes: Int?
    /// How many adapters may be loaded at the same time. Absent: as many as the ranks hold. Range:
    /// at least 1 and at most 65536.
    public var max_loras: Int?
    /// Worker threads on the CPU. Absent: the physical cores that are free. Range: at least 1 and
    /// at most 1024.
    public var num_threads: Int?

    public init(
        mode: EngineMode? = nil,
        max_num_sequence: Int? = nil,
        max_total_seq_length: Int? = nil,
        kv_cache_bytes: Int? = nil,
        kv_cache_dtype: KVCacheDType? = nil,
        memory_limit_bytes: Int? = nil,
        gpu_memory_utilization: Double? = nil,
        context_window_size: Int? = nil,
        sliding_window_size: Int? = nil,
        attention_sink_size: Int? = nil,
        prefill_chunk_size: Int? = nil,
        prefill_mode: PrefillMode? = nil,
        max_queued_requests: Int? = nil,
        enable_tracing: Bool? = nil,
        embedding_pooling: EmbeddingPooling? = nil,
        openai_last_chunk: Bool? = nil,
        refuse_unknown_fields: Bool? = nil,
        max_history_size: Int? = nil,
        prefix_cache_mode: PrefixCacheMode? = nil,
        prefix_cache_max_num_recycling_seqs: Int? = nil,
        prefix_cache_dir: String? = nil,
        prefix_cache_ram_bytes: Int? = nil,
        prefix_cache_dir_bytes: Int? = nil,
        prefix_cache_dir_days: Int? = nil,
        speculative_mode: SpeculativeMode? = nil,
        additional_models: [String]? = nil,
        mmproj: String? = nil,
        spec_draft_length: Int? = nil,
        jump_forward: Bool? = nil,
        spec_tree_width: Int? = nil,
        tensor_parallel_shards: Int? = nil,
        pipeline_parallel_stages: Int? = nil,
        lora_ranks: Int? = nil,
        lora_bytes: Int? = nil,
        max_loras: Int? = nil,
        num_threads: Int? = nil
    ) {
        self.mode = mode
        self.max_num_sequence = max_num_sequence
        self.max_total_seq_length = max_total_seq_length
        self.kv_cache_bytes = kv_cache_bytes
        self.kv_cache_dtype = kv_cache_dtype
        self.memory_limit_bytes = memory_limit_bytes
        self.gpu_memory_utilization = gpu_memory_utilization
        self.context_window_size = context_window_size
        self.sliding_window_size = sliding_window_size
        self.attention_sink_size = attention_sink_size
        self.prefill_chunk_size = prefill_chunk_size
        self.prefill_mode = prefill_mode
        self.max_queued_requests = max_queued_requests
        self.enable_tracing = enable_tracing
        self.embedding_pooling = embedding_pooling
        self.openai_last_chunk = openai_last_chunk
        self.refuse_unknown_fields = refuse_unknown_fields
        self.max_history_size = max_history_size
        self.prefix_cache_mode = prefix_cache_mode
        self.prefix_cache_max_num_recycling_seqs = prefix_cache_max_num_recycling_seqs
        self.prefix_cache_dir = prefix_cache_dir
        self.prefix_cache_ram_bytes = prefix_cache_ram_bytes
        self.prefix_cache_dir_bytes = prefix_cache_dir_bytes
        self.prefix_cache_dir_days = prefix_cache_dir_days
        self.speculative_mode = speculative_mode
        self.additional_models = additional_models
        self.mmproj = mmproj
        self.spec_draft_length = spec_draft_length
        self.jump_forward = jump_forward
        self.spec_tree_width = spec_tree_width
        self.tensor_parallel_shards = tensor_parallel_shards
        self.pipeline_parallel_stages = pipeline_parallel_stages
        self.lora_ranks = lora_ranks
        self.lora_bytes = lora_bytes
        self.max_loras = max_loras
        self.num_threads = num_threads
    }

    private static let known: Set<String> = [
        "mode",
        "max_num_sequence",
        "max_total_seq_length",
        "kv_cache_bytes",
        "kv_cache_dtype",
        "memory_limit_bytes",
        "gpu_memory_utilization",
        "context_window_size",
        "sliding_window_size",
        "attention_sink_size",
        "prefill_chunk_size",
        "prefill_mode",
        "max_queued_requests",
        "enable_tracing",
        "embedding_pooling",
        "openai_last_chunk",
        "refuse_unknown_fields",
        "max_history_size",
        "prefix_cache_mode",
        "prefix_cache_max_num_recycling_seqs",
        "prefix_cache_dir",
        "prefix_cache_ram_bytes",
        "prefix_cache_dir_bytes",
        "prefix_cache_dir_days",
        "speculative_mode",
        "additional_models",
        "mmproj",
        "spec_draft_length",
        "jump_forward",
        "spec_tree_width",
        "tensor_parallel_shards",
        "pipeline_parallel_stages",
        "lora_ranks",
        "lora_bytes",
        "max_loras",
        "num_threads",
    ]

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.onlyKnown(Self.known)
        self.mode = try reader.optional("mode")
        self.max_num_sequence = try reader.optional("max_num_sequence")
        self.max_total_seq_length = try reader.optional("max_total_seq_length")
        self.kv_cache_bytes = try reader.optional("kv_cache_bytes")
        self.kv_cache_dtype = try reader.optional("kv_cache_dtype")
        self.memory_limit_bytes = try reader.optional("memory_limit_bytes")
        self.gpu_memory_utilization = try reader.optional("gpu_memory_utilization")
        self.context_window_size = try reader.optional("context_window_size")
        self.sliding_window_size = try reader.optional("sliding_window_size")
        self.attention_sink_size = try reader.optional("attention_sink_size")
        self.prefill_chunk_size = try reader.optional("prefill_chunk_size")
        self.prefill_mode = try reader.optional("prefill_mode")
        self.max_queued_requests = try reader.optional("max_queued_requests")
        self.enable_tracing = try reader.optional("enable_tracing")
        self.embedding_pooling = try reader.optional("embedding_pooling")
        self.openai_last_chunk = try reader.optional("openai_last_chunk")
        self.refuse_unknown_fields = try reader.optional("refuse_unknown_fields")
        self.max_history_size = try reader.optional("max_history_size")
        self.prefix_cache_mode = try reader.optional("prefix_cache_mode")
        self.prefix_cache_max_num_recycling_seqs = try reader.optional(
            "prefix_cache_max_num_recycling_seqs")
        self.prefix_cache_dir = try reader.optional("prefix_cache_dir")
        self.prefix_cache_ram_bytes = try reader.optional("prefix_cache_ram_bytes")
        self.prefix_cache_dir_bytes = try reader.optional("prefix_cache_dir_bytes")
        self.prefix_cache_dir_days = try reader.optional("prefix_cache_dir_days")
        self.speculative_mode = try reader.optional("speculative_mode")
        self.additional_models = try reader.optional("additional_models")
        self.mmproj = try reader.optional("mmproj")
        self.spec_draft_length = try reader.optional("spec_draft_length")
        self.jump_forward = try reader.optional("jump_forward")
        self.spec_tree_width = try reader.optional("spec_tree_width")
        self.tensor_parallel_shards = try reader.optional("tensor_parallel_shards")
        self.pipeline_parallel_stages = try reader.optional("pipeline_parallel_stages")
        self.lora_ranks = try reader.optional("lora_ranks")
        self.lora_bytes = try reader.optional("lora_bytes")
        self.max_loras = try reader.optional("max_loras")
        self.num_threads = try reader.optional("num_threads")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("mode", self.mode)
        writer.optional("max_num_sequence", self.max_num_sequence)
        writer.optional("max_total_seq_length", self.max_total_seq_length)
        writer.optional("kv_cache_bytes", self.kv_cache_bytes)
        writer.optional("kv_cache_dtype", self.kv_cache_dtype)
        writer.optional("memory_limit_bytes", self.memory_limit_bytes)
        writer.optional("gpu_memory_utilization", self.gpu_memory_utilization)
        writer.optional("context_window_size", self.context_window_size)
        writer.optional("sliding_window_size", self.sliding_window_size)
        writer.optional("attention_sink_size", self.attention_sink_size)
        writer.optional("prefill_chunk_size", self.prefill_chunk_size)
        writer.optional("prefill_mode", self.prefill_mode)
        writer.optional("max_queued_requests", self.max_queued_requests)
        writer.optional("enable_tracing", self.enable_tracing)
        writer.optional("embedding_pooling", self.embedding_pooling)
        writer.optional("openai_last_chunk", self.openai_last_chunk)
        writer.optional("refuse_unknown_fields", self.refuse_unknown_fields)
        writer.optional("max_history_size", self.max_history_size)
        writer.optional("prefix_cache_mode", self.prefix_cache_mode)
        writer.optional(
            "prefix_cache_max_num_recycling_seqs", self.prefix_cache_max_num_recycling_seqs)
        writer.optional("prefix_cache_dir", self.prefix_cache_dir)
        writer.optional("prefix_cache_ram_bytes", self.prefix_cache_ram_bytes)
        writer.optional("prefix_cache_dir_bytes", self.prefix_cache_dir_bytes)
        writer.optional("prefix_cache_dir_days", self.prefix_cache_dir_days)
        writer.optional("speculative_mode", self.speculative_mode)
        writer.optional("additional_models", self.additional_models)
        writer.optional("mmproj", self.mmproj)
        writer.optional("spec_draft_length", self.spec_draft_length)
        writer.optional("jump_forward", self.jump_forward)
        writer.optional("spec_tree_width", self.spec_tree_width)
        writer.optional("tensor_parallel_shards", self.tensor_parallel_shards)
        writer.optional("pipeline_parallel_stages", self.pipeline_parallel_stages)
        writer.optional("lora_ranks", self.lora_ranks)
        writer.optional("lora_bytes", self.lora_bytes)
        writer.optional("max_loras", self.max_loras)
        writer.optional("num_threads", self.num_threads)
        return writer.jsonValue
    }
}

/// The model's answer.
public struct ChatCompletionResponseMessage: WireObject {
    /// Always the assistant.
    public let role = "assistant"
    /// The answer's text; null when it consists of tool calls.
    public var content: String?
    /// Why the model refused to answer.
    public var refusal: String?
    /// What the model thought before it answered.
    public var reasoning_content: String?
    /// The tools that the model calls.
    public var tool_calls: [ChatCompletionMessageToolCall]?

    public init(
        content: String? = nil,
        refusal: String? = nil,
        reasoning_content: String? = nil,
        tool_calls: [ChatCompletionMessageToolCall]? = nil
    ) {
        self.content = content
        self.refusal = refusal
        self.reasoning_content = reasoning_content
        self.tool_calls = tool_calls
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("role", "assistant")
        self.content = try reader.optional("content")
        self.refusal = try reader.optional("refusal")
        self.reasoning_content = try reader.optional("reasoning_content")
        self.tool_calls = try reader.optional("tool_calls")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("role", "assistant")
        writer.always("content", self.content)
        writer.always("refusal", self.refusal)
        writer.optional("reasoning_content", self.reasoning_content)
        writer.optional("tool_calls", self.tool_calls)
        return writer.jsonValue
    }
}

/// One of the likeliest tokens at a position.
public struct TopLogprob: WireObject {
    /// The token's text.
    public var token: String
    /// Its log probability; -9999 when it is too small to tell.
    public var logprob: Double
    /// The UTF-8 bytes of the token, which may be a part of a character.
    public var bytes: [Int]?

    public init(
        token: String,
        logprob: Double,
        bytes: [Int]? = nil
    ) {
        self.token = token
        self.logprob = logprob
        self.bytes = bytes
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.token = try reader.required("token")
        self.logprob = try reader.required("logprob")
        self.bytes = try reader.optional("bytes")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("token", self.token)
        writer.required("logprob", self.logprob)
        writer.always("bytes", self.bytes)
        return writer.jsonValue
    }
}

/// A token of the answer and the likeliest ones in its place.
public struct ChatCompletionTokenLogprob: WireObject {
    /// The token's text.
    public var token: String
    /// Its log probability; -9999 when it is too small to tell.
    public var logprob: Double
    /// The UTF-8 bytes of the token, which may be a part of a character.
    public var bytes: [Int]?
    /// The likeliest tokens here, likeliest first.
    public var top_logprobs: [TopLogprob]

    public init(
        token: String,
        logprob: Double,
        bytes: [Int]? = nil,
        top_logprobs: [TopLogprob]
    ) {
        self.token = token
        self.logprob = logprob
        self.bytes = bytes
        self.top_logprobs = top_logprobs
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.token = try reader.required("token")
        self.logprob = try reader.required("logprob")
        self.bytes = try reader.optional("bytes")
        self.top_logprobs = try reader.required("top_logprobs")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("token", self.token)
        writer.required("logprob", self.logprob)
        writer.always("bytes", self.bytes)
        writer.required("top_logprobs", self.top_logprobs)
        return writer.jsonValue
    }
}

/// The log probabilities of an answer.
public struct ChoiceLogprobs: WireObject {
    /// One entry for each token of the content.
    public var content: [ChatCompletionTokenLogprob]?
    /// One entry for each token of a refusal.
    public var refusal: [ChatCompletionTokenLogprob]?

    public init(
        content: [ChatCompletionTokenLogprob]? = nil,
        refusal: [ChatCompletionTokenLogprob]? = nil
    ) {
        self.content = content
        self.refusal = refusal
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.content = try reader.optional("content")
        self.refusal = try reader.optional("refusal")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.always("content", self.content)
        writer.always("refusal", self.refusal)
        return writer.jsonValue
    }
}

/// Why an answer ended.
public enum FinishReason: WireEnum {
    /// The model ended it, or a stop text was reached.
    case stop
    /// `max_tokens`, its default or the context's end was reached.
    case length
    /// The model called tools and waits for their answers.
    case toolCalls
    /// A filter held back the rest.
    case contentFilter
    /// The engine failed; the error follows.
    case error
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .stop,
        .length,
        .toolCalls,
        .contentFilter,
        .error,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "stop": self = .stop
        case "length": self = .length
        case "tool_calls": self = .toolCalls
        case "content_filter": self = .contentFilter
        case "error": self = .error
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .stop: "stop"
        case .length: "length"
        case .toolCalls: "tool_calls"
        case .contentFilter: "content_filter"
        case .error: "error"
        case .unknown(let word): word
        }
    }
}

/// One of the answers.
public struct ChatCompletionChoice: WireObject {
    /// Which of the `n` answers this is, from 0. Range: at least 0.
    public var index: Int
    /// The answer.
    public var message: ChatCompletionResponseMessage
    /// The log probabilities, when they were asked for.
    public var logprobs: ChoiceLogprobs?
    /// Why the answer ended.
    public var finish_reason: FinishReason
    /// The stop text that ended the answer, as vLLM gives it; absent if none did.
    public var stop_reason: String?

    public init(
        index: Int,
        message: ChatCompletionResponseMessage,
        logprobs: ChoiceLogprobs? = nil,
        finish_reason: FinishReason,
        stop_reason: String? = nil
    ) {
        self.index = index
        self.message = message
        self.logprobs = logprobs
        self.finish_reason = finish_reason
        self.stop_reason = stop_reason
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        self.message = try reader.required("message")
        self.logprobs = try reader.optional("logprobs")
        self.finish_reason = try reader.required("finish_reason")
        self.stop_reason = try reader.optional("stop_reason")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.required("message", self.message)
        writer.always("logprobs", self.logprobs)
        writer.required("finish_reason", self.finish_reason)
        writer.optional("stop_reason", self.stop_reason)
        return writer.jsonValue
    }
}

/// What the prompt's tokens were.
public struct PromptTokensDetails: WireObject {
    /// How many were found in the prefix cache. Range: at least 0. Unit: tokens.
    public var cached_tokens: Int?

    public init(
        cached_tokens: Int? = nil
    ) {
        self.cached_tokens = cached_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.cached_tokens = try reader.optional("cached_tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("cached_tokens", self.cached_tokens)
        return writer.jsonValue
    }
}

/// What the answer's tokens were.
public struct CompletionTokensDetails: WireObject {
    /// How many the model spent thinking. Range: at least 0. Unit: tokens.
    public var reasoning_tokens: Int?
    /// How many came from the request's `prediction`. Absent without one. Range: at least 0. Unit:
    /// tokens.
    public var accepted_prediction_tokens: Int?
    /// How many of the `prediction` were tried and differ from the answer. Absent without one.
    /// Range: at least 0. Unit: tokens.
    public var rejected_prediction_tokens: Int?

    public init(
        reasoning_tokens: Int? = nil,
        accepted_prediction_tokens: Int? = nil,
        rejected_prediction_tokens: Int? = nil
    ) {
        self.reasoning_tokens = reasoning_tokens
        self.accepted_prediction_tokens = accepted_prediction_tokens
        self.rejected_prediction_tokens = rejected_prediction_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.reasoning_tokens = try reader.optional("reasoning_tokens")
        self.accepted_prediction_tokens = try reader.optional("accepted_prediction_tokens")
        self.rejected_prediction_tokens = try reader.optional("rejected_prediction_tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("reasoning_tokens", self.reasoning_tokens)
        writer.optional("accepted_prediction_tokens", self.accepted_prediction_tokens)
        writer.optional("rejected_prediction_tokens", self.rejected_prediction_tokens)
        return writer.jsonValue
    }
}

/// Measurements of a request, under MLC-LLM's names.
public struct CompletionUsageExtra: WireObject {
    /// The length of the prompt. Range: at least 0. Unit: tokens.
    public var prompt_tokens: Int?
    /// The length of the answers. Range: at least 0. Unit: tokens.
    public var completion_tokens: Int?
    /// How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
    public var prefill_tokens: Int?
    /// The tokens that were generated one by one. Range: at least 0. Unit: tokens.
    public var decode_tokens: Int?
    /// The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens.
    public var jump_forward_tokens: Int?
    /// How fast the prompt was read. Range: at least 0. Unit: tokens per second.
    public var prefill_tokens_per_s: Double?
    /// How fast the answer was generated. Range: at least 0. Unit: tokens per second.
    public var decode_tokens_per_s: Double?
    /// From the request to its first token. Range: at least 0. Unit: seconds.
    public var ttft_s: Double?
    /// The mean time from token to token. Range: at least 0. Unit: seconds.
    public var inter_token_latency_s: Double?
    /// From the request to its last token. Range: at least 0. Unit: seconds.
    public var end_to_end_latency_s: Double?
    /// The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range:
    /// at least 0. Unit: tokens.
    public var drafted_tokens: Int?
    /// Of them those that are in the answer. Range: at least 0. Unit: tokens.
    public var accepted_draft_tokens: Int?
    /// How many times as fast the answer was generated as it would have been without drafts, by the
    /// measured times of steps. Range: at least 0.
    public var draft_gain: Double?

    public init(
        prompt_tokens: Int? = nil,
        completion_tokens: Int? = nil,
        prefill_tokens: Int? = nil,
        decode_tokens: Int? = nil,
        jump_forward_tokens: Int? = nil,
        prefill_tokens_per_s: Double? = nil,
        decode_tokens_per_s: Double? = nil,
        ttft_s: Double? = nil,
        inter_token_latency_s: Double? = nil,
        end_to_end_latency_s: Double? = nil,
        drafted_tokens: Int? = nil,
        accepted_draft_tokens: Int? = nil,
        draft_gain: Double? = nil
    ) {
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.prefill_tokens = prefill_tokens
        self.decode_tokens = decode_tokens
        self.jump_forward_tokens = jump_forward_tokens
        self.prefill_tokens_per_s = prefill_tokens_per_s
        self.decode_tokens_per_s = decode_tokens_per_s
        self.ttft_s = ttft_s
        self.inter_token_latency_s = inter_token_latency_s
        self.end_to_end_latency_s = end_to_end_latency_s
        self.drafted_tokens = drafted_tokens
        self.accepted_draft_tokens = accepted_draft_tokens
        self.draft_gain = draft_gain
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt_tokens = try reader.optional("prompt_tokens")
        self.completion_tokens = try reader.optional("completion_tokens")
        self.prefill_tokens = try reader.optional("prefill_tokens")
        self.decode_tokens = try reader.optional("decode_tokens")
        self.jump_forward_tokens = try reader.optional("jump_forward_tokens")
        self.prefill_tokens_per_s = try reader.optional("prefill_tokens_per_s")
        self.decode_tokens_per_s = try reader.optional("decode_tokens_per_s")
        self.ttft_s = try reader.optional("ttft_s")
        self.inter_token_latency_s = try reader.optional("inter_token_latency_s")
        self.end_to_end_latency_s = try reader.optional("end_to_end_latency_s")
        self.drafted_tokens = try reader.optional("drafted_tokens")
        self.accepted_draft_tokens = try reader.optional("accepted_draft_tokens")
        self.draft_gain = try reader.optional("draft_gain")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("prompt_tokens", self.prompt_tokens)
        writer.optional("completion_tokens", self.completion_tokens)
        writer.optional("prefill_tokens", self.prefill_tokens)
        writer.optional("decode_tokens", self.decode_tokens)
        writer.optional("jump_forward_tokens", self.jump_forward_tokens)
        writer.optional("prefill_tokens_per_s", self.prefill_tokens_per_s)
        writer.optional("decode_tokens_per_s", self.decode_tokens_per_s)
        writer.optional("ttft_s", self.ttft_s)
        writer.optional("inter_token_latency_s", self.inter_token_latency_s)
        writer.optional("end_to_end_latency_s", self.end_to_end_latency_s)
        writer.optional("drafted_tokens", self.drafted_tokens)
        writer.optional("accepted_draft_tokens", self.accepted_draft_tokens)
        writer.optional("draft_gain", self.draft_gain)
        return writer.jsonValue
    }
}

/// What a request cost.
public struct CompletionUsage: WireObject {
    /// The length of the prompt. Range: at least 0. Unit: tokens.
    public var prompt_tokens: Int
    /// The length of all the answers together. Range: at least 0. Unit: tokens.
    public var completion_tokens: Int
    /// The sum of the two. Range: at least 0. Unit: tokens.
    public var total_tokens: Int
    /// What the prompt's tokens were.
    public var prompt_tokens_details: PromptTokensDetails?
    /// What the answer's tokens were.
    public var completion_tokens_details: CompletionTokensDetails?
    /// Measurements of this request, when they were asked for.
    public var extra: CompletionUsageExtra?

    public init(
        prompt_tokens: Int,
        completion_tokens: Int,
        total_tokens: Int,
        prompt_tokens_details: PromptTokensDetails? = nil,
        completion_tokens_details: CompletionTokensDetails? = nil,
        extra: CompletionUsageExtra? = nil
    ) {
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.total_tokens = total_tokens
        self.prompt_tokens_details = prompt_tokens_details
        self.completion_tokens_details = completion_tokens_details
        self.extra = extra
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt_tokens = try reader.required("prompt_tokens")
        self.completion_tokens = try reader.required("completion_tokens")
        self.total_tokens = try reader.required("total_tokens")
        self.prompt_tokens_details = try reader.optional("prompt_tokens_details")
        self.completion_tokens_details = try reader.optional("completion_tokens_details")
        self.extra = try reader.optional("extra")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("prompt_tokens", self.prompt_tokens)
        writer.required("completion_tokens", self.completion_tokens)
        writer.required("total_tokens", self.total_tokens)
        writer.optional("prompt_tokens_details", self.prompt_tokens_details)
        writer.optional("completion_tokens_details", self.completion_tokens_details)
        writer.optional("extra", self.extra)
        return writer.jsonValue
    }
}

/// Where the time of a request went so far, under llama.cpp's names.
public struct Timings: WireObject {
    /// How much of the prompt was cached. Range: at least 0. Unit: tokens.
    public var cache_n: Int
    /// How much of the prompt the model read. Range: at least 0. Unit: tokens.
    public var prompt_n: Int
    /// How long that took. Range: at least 0. Unit: milliseconds.
    public var prompt_ms: Double
    /// The same for each token. Range: at least 0. Unit: milliseconds.
    public var prompt_per_token_ms: Double
    /// How fast the prompt was read. Range: at least 0. Unit: tokens per second.
    public var prompt_per_second: Double
    /// The tokens that were generated. Range: at least 0. Unit: tokens.
    public var predicted_n: Int
    /// From the first of them to the last. Range: at least 0. Unit: milliseconds.
    public var predicted_ms: Double
    /// The mean time from token to token. Range: at least 0. Unit: milliseconds.
    public var predicted_per_token_ms: Double
    /// How fast they were generated. Range: at least 0. Unit: tokens per second.
    public var predicted_per_second: Double
    /// The tokens that were guessed ahead, if any. Range: at least 0. Unit: tokens.
    public var draft_n: Int?
    /// Of them those that are in the answer. Range: at least 0. Unit: tokens.
    public var draft_n_accepted: Int?

    public init(
        cache_n: Int,
        prompt_n: Int,
        prompt_ms: Double,
        prompt_per_token_ms: Double,
        prompt_per_second: Double,
        predicted_n: Int,
        predicted_ms: Double,
        predicted_per_token_ms: Double,
        predicted_per_second: Double,
        draft_n: Int? = nil,
        draft_n_accepted: Int? = nil
    ) {
        self.cache_n = cache_n
        self.prompt_n = prompt_n
        self.prompt_ms = prompt_ms
        self.prompt_per_token_ms = prompt_per_token_ms
        self.prompt_per_second = prompt_per_second
        self.predicted_n = predicted_n
        self.predicted_ms = predicted_ms
        self.predicted_per_token_ms = predicted_per_token_ms
        self.predicted_per_second = predicted_per_second
        self.draft_n = draft_n
        self.draft_n_accepted = draft_n_accepted
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.cache_n = try reader.required("cache_n")
        self.prompt_n = try reader.required("prompt_n")
        self.prompt_ms = try reader.required("prompt_ms")
        self.prompt_per_token_ms = try reader.required("prompt_per_token_ms")
        self.prompt_per_second = try reader.required("prompt_per_second")
        self.predicted_n = try reader.required("predicted_n")
        self.predicted_ms = try reader.required("predicted_ms")
        self.predicted_per_token_ms = try reader.required("predicted_per_token_ms")
        self.predicted_per_second = try reader.required("predicted_per_second")
        self.draft_n = try reader.optional("draft_n")
        self.draft_n_accepted = try reader.optional("draft_n_accepted")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("cache_n", self.cache_n)
        writer.required("prompt_n", self.prompt_n)
        writer.required("prompt_ms", self.prompt_ms)
        writer.required("prompt_per_token_ms", self.prompt_per_token_ms)
        writer.required("prompt_per_second", self.prompt_per_second)
        writer.required("predicted_n", self.predicted_n)
        writer.required("predicted_ms", self.predicted_ms)
        writer.required("predicted_per_token_ms", self.predicted_per_token_ms)
        writer.required("predicted_per_second", self.predicted_per_second)
        writer.optional("draft_n", self.draft_n)
        writer.optional("draft_n_accepted", self.draft_n_accepted)
        return writer.jsonValue
    }
}

/// What a schema says and the answer was not held to.
public struct SchemaWarning: WireObject {
    /// The field of the request that holds the schema.
    public var param: String
    /// The JSON pointer of the keyword in the schema.
    public var path: String
    /// Why it is left out.
    public var message: String

    public init(
        param: String,
        path: String,
        message: String
    ) {
        self.param = param
        self.path = path
        self.message = message
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.param = try reader.required("param")
        self.path = try reader.required("path")
        self.message = try reader.required("message")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("param", self.param)
        writer.required("path", self.path)
        writer.required("message", self.message)
        return writer.jsonValue
    }
}

/// The answers to a request.
public struct ChatCompletion: WireObject {
    /// The request's id.
    public var id: String
    /// The kind of object.
    public let object = "chat.completion"
    /// When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
    public var created: Int
    /// The model that answered.
    public var model: String
    /// The `n` answers.
    public var choices: [ChatCompletionChoice]
    /// What the request cost.
    public var usage: CompletionUsage?
    /// Where the time went so far, when `timings_per_token` asks for it.
    public var timings: Timings?
    /// What schemas of the request say and the answer was not held to.
    public var warnings: [SchemaWarning]?
    /// Names the configuration that answered; equal ones answer a seed equally.
    public var system_fingerprint: String?

    public init(
        id: String,
        created: Int,
        model: String,
        choices: [ChatCompletionChoice],
        usage: CompletionUsage? = nil,
        timings: Timings? = nil,
        warnings: [SchemaWarning]? = nil,
        system_fingerprint: String? = nil
    ) {
        self.id = id
        self.created = created
        self.model = model
        self.choices = choices
        self.usage = usage
        self.timings = timings
        self.warnings = warnings
        self.system_fingerprint = system_fingerprint
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("object", "chat.completion")
        self.created = try reader.required("created")
        self.model = try reader.required("model")
        self.choices = try reader.required("choices")
        self.usage = try reader.optional("usage")
        self.timings = try reader.optional("timings")
        self.warnings = try reader.optional("warnings")
        self.system_fingerprint = try reader.optional("system_fingerprint")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("object", "chat.completion")
        writer.required("created", self.created)
        writer.required("model", self.model)
        writer.required("choices", self.choices)
        writer.optional("usage", self.usage)
        writer.optional("timings", self.timings)
        writer.optional("warnings", self.warnings)
        writer.optional("system_fingerprint", self.system_fingerprint)
        return writer.jsonValue
    }
}

/// The kind of a tool.
public enum ToolType: WireEnum {
    /// A function.
    case function
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [.function]

    public init(rawValue: String) {
        switch rawValue {
        case "function": self = .function
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .function: "function"
        case .unknown(let word): word
        }
    }
}

/// A piece of a function call.
public struct ChoiceDeltaFunctionCall: WireObject {
    /// The function's name, in the call's first piece.
    public var name: String?
    /// The next piece of the arguments' JSON text.
    public var arguments: String?

    public init(
        name: String? = nil,
        arguments: String? = nil
    ) {
        self.name = name
        self.arguments = arguments
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.optional("name")
        self.arguments = try reader.optional("arguments")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("name", self.name)
        writer.optional("arguments", self.arguments)
        return writer.jsonValue
    }
}

/// A piece of a tool call.
public struct ChoiceDeltaToolCall: WireObject {
    /// Which of the message's calls this piece belongs to. Range: at least 0.
    public var index: Int
    /// The call's id, in its first piece.
    public var id: String?
    /// The kind of tool, in the call's first piece.
    public var type: ToolType?
    /// The function's piece.
    public var function: ChoiceDeltaFunctionCall?

    public init(
        index: Int,
        id: String? = nil,
        type: ToolType? = nil,
        function: ChoiceDeltaFunctionCall? = nil
    ) {
        self.index = index
        self.id = id
        self.type = type
        self.function = function
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        self.id = try reader.optional("id")
        self.type = try reader.optional("type")
        self.function = try reader.optional("function")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.optional("id", self.id)
        writer.optional("type", self.type)
        writer.optional("function", self.function)
        return writer.jsonValue
    }
}

/// What a chunk adds to an answer.
public struct ChatCompletionChunkDelta: WireObject {
    /// Who speaks, in an answer's first chunk.
    public var role: ChatCompletionRole?
    /// The next piece of the text; whole characters only. Never absent in an answer's last chunk,
    /// where it may be empty, unless the engine's `openai_last_chunk` is set.
    public var content: String?
    /// The next piece of what the model thinks.
    public var reasoning_content: String?
    /// The next piece of a refusal.
    public var refusal: String?
    /// The next pieces of tool calls.
    public var tool_calls: [ChoiceDeltaToolCall]?

    public init(
        role: ChatCompletionRole? = nil,
        content: String? = nil,
        reasoning_content: String? = nil,
        refusal: String? = nil,
        tool_calls: [ChoiceDeltaToolCall]? = nil
    ) {
        self.role = role
        self.content = content
        self.reasoning_content = reasoning_content
        self.refusal = refusal
        self.tool_calls = tool_calls
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.role = try reader.optional("role")
        self.content = try reader.optional("content")
        self.reasoning_content = try reader.optional("reasoning_content")
        self.refusal = try reader.optional("refusal")
        self.tool_calls = try reader.optional("tool_calls")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("role", self.role)
        writer.optional("content", self.content)
        writer.optional("reasoning_content", self.reasoning_content)
        writer.optional("refusal", self.refusal)
        writer.optional("tool_calls", self.tool_calls)
        return writer.jsonValue
    }
}

/// A piece of one of the answers.
public struct ChatCompletionChunkChoice: WireObject {
    /// Which of the `n` answers this belongs to, from 0. Range: at least 0.
    public var index: Int
    /// What is added.
    public var delta: ChatCompletionChunkDelta
    /// The log probabilities of the tokens that are added.
    public var logprobs: ChoiceLogprobs?
    /// Why the answer ended; null until its last chunk.
    public var finish_reason: FinishReason?
    /// The stop text that ended the answer, as vLLM gives it; absent if none did.
    public var stop_reason: String?

    public init(
        index: Int,
        delta: ChatCompletionChunkDelta,
        logprobs: ChoiceLogprobs? = nil,
        finish_reason: FinishReason? = nil,
        stop_reason: String? = nil
    ) {
        self.index = index
        self.delta = delta
        self.logprobs = logprobs
        self.finish_reason = finish_reason
        self.stop_reason = stop_reason
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        self.delta = try reader.required("delta")
        self.logprobs = try reader.optional("logprobs")
        self.finish_reason = try reader.optional("finish_reason")
        self.stop_reason = try reader.optional("stop_reason")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.required("delta", self.delta)
        writer.always("logprobs", self.logprobs)
        writer.always("finish_reason", self.finish_reason)
        writer.optional("stop_reason", self.stop_reason)
        return writer.jsonValue
    }
}

/// How much of a prompt was read so far, under llama.cpp's names.
public struct PromptProgress: WireObject {
    /// The length of the prompt. Range: at least 0. Unit: tokens.
    public var total: Int
    /// How much of it was cached. Range: at least 0. Unit: tokens.
    public var cache: Int
    /// How much of it is done, with what was cached. Range: at least 0. Unit: tokens.
    public var processed: Int
    /// How long it took so far. Range: at least 0. Unit: milliseconds.
    public var time_ms: Double

    public init(
        total: Int,
        cache: Int,
        processed: Int,
        time_ms: Double
    ) {
        self.total = total
        self.cache = cache
        self.processed = processed
        self.time_ms = time_ms
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.total = try reader.required("total")
        self.cache = try reader.required("cache")
        self.processed = try reader.required("processed")
        self.time_ms = try reader.required("time_ms")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("total", self.total)
        writer.required("cache", self.cache)
        writer.required("processed", self.processed)
        writer.required("time_ms", self.time_ms)
        return writer.jsonValue
    }
}

/// A piece of the answers to a request.
public struct ChatCompletionChunk: WireObject {
    /// The request's id, the same in all its chunks.
    public var id: String
    /// The kind of object.
    public let object = "chat.completion.chunk"
    /// When the request began; the same in all chunks. Range: at least 0. Unit: seconds since 1970,
    /// UTC.
    public var created: Int
    /// The model that answers.
    public var model: String
    /// Pieces of the answers; empty in the chunk that carries the usage.
    public var choices: [ChatCompletionChunkChoice]
    /// What the request cost, in the last chunk, when `include_usage` asks for it.
    public var usage: CompletionUsage?
    /// Where the time went so far, when `timings_per_token` asks for it.
    public var timings: Timings?
    /// How much of the prompt was read, in the chunks before the answer, when `return_progress`
    /// asks for it.
    public var prompt_progress: PromptProgress?
    /// What schemas of the request say and the answer is not held to; in the first chunk.
    public var warnings: [SchemaWarning]?
    /// Names the configuration that answers; equal ones answer a seed equally.
    public var system_fingerprint: String?

    public init(
        id: String,
        created: Int,
        model: String,
        choices: [ChatCompletionChunkChoice],
        usage: CompletionUsage? = nil,
        timings: Timings? = nil,
        prompt_progress: PromptProgress? = nil,
        warnings: [SchemaWarning]? = nil,
        system_fingerprint: String? = nil
    ) {
        self.id = id
        self.created = created
        self.model = model
        self.choices = choices
        self.usage = usage
        self.timings = timings
        self.prompt_progress = prompt_progress
        self.warnings = warnings
        self.system_fingerprint = system_fingerprint
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("object", "chat.completion.chunk")
        self.created = try reader.required("created")
        self.model = try reader.required("model")
        self.choices = try reader.required("choices")
        self.usage = try reader.optional("usage")
        self.timings = try reader.optional("timings")
        self.prompt_progress = try reader.optional("prompt_progress")
        self.warnings = try reader.optional("warnings")
        self.system_fingerprint = try reader.optional("system_fingerprint")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("object", "chat.completion.chunk")
        writer.required("created", self.created)
        writer.required("model", self.model)
        writer.required("choices", self.choices)
        writer.optional("usage", self.usage)
        writer.optional("timings", self.timings)
        writer.optional("prompt_progress", self.prompt_progress)
        writer.optional("warnings", self.warnings)
        writer.optional("system_fingerprint", self.system_fingerprint)
        return writer.jsonValue
    }
}

/// The log probabilities of an answer; the lists run side by side.
public struct CompletionLogprobs: WireObject {
    /// The tokens' texts.
    public var tokens: [String]?
    /// Their log probabilities.
    public var token_logprobs: [Double]?
    /// At each position from text to log probability, for the likeliest tokens.
    public var top_logprobs: [[String: Double]]?
    /// Where each token begins in the text. Unit: code points.
    public var text_offset: [Int]?

    public init(
        tokens: [String]? = nil,
        token_logprobs: [Double]? = nil,
        top_logprobs: [[String: Double]]? = nil,
        text_offset: [Int]? = nil
    ) {
        self.tokens = tokens
        self.token_logprobs = token_logprobs
        self.top_logprobs = top_logprobs
        self.text_offset = text_offset
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.optional("tokens")
        self.token_logprobs = try reader.optional("token_logprobs")
        self.top_logprobs = try reader.optional("top_logprobs")
        self.text_offset = try reader.optional("text_offset")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("tokens", self.tokens)
        writer.optional("token_logprobs", self.token_logprobs)
        writer.optional("top_logprobs", self.top_logprobs)
        writer.optional("text_offset", self.text_offset)
        return writer.jsonValue
    }
}

/// One of the answers, or a piece of it.
public struct CompletionChoice: WireObject {
    /// Which of the answers this is, from 0. Range: at least 0.
    public var index: Int
    /// The text, or its next piece.
    public var text: String
    /// The log probabilities, when they were asked for.
    public var logprobs: CompletionLogprobs?
    /// Why the answer ended; null until its last chunk.
    public var finish_reason: FinishReason?
    /// The stop text that ended the answer, as vLLM gives it; absent if none did.
    public var stop_reason: String?

    public init(
        index: Int,
        text: String,
        logprobs: CompletionLogprobs? = nil,
        finish_reason: FinishReason? = nil,
        stop_reason: String? = nil
    ) {
        self.index = index
        self.text = text
        self.logprobs = logprobs
        self.finish_reason = finish_reason
        self.stop_reason = stop_reason
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        self.text = try reader.required("text")
        self.logprobs = try reader.optional("logprobs")
        self.finish_reason = try reader.optional("finish_reason")
        self.stop_reason = try reader.optional("stop_reason")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.required("text", self.text)
        writer.always("logprobs", self.logprobs)
        writer.always("finish_reason", self.finish_reason)
        writer.optional("stop_reason", self.stop_reason)
        return writer.jsonValue
    }
}

/// The continuations of a prompt; a chunk of a stream has the same form.
public struct Completion: WireObject {
    /// The request's id, the same in all its chunks.
    public var id: String
    /// The kind of object.
    public let object = "text_completion"
    /// When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
    public var created: Int
    /// The model that answered.
    public var model: String
    /// The answers; empty in the chunk that carries the usage.
    public var choices: [CompletionChoice]
    /// What the request cost; in a stream in the last chunk, when it is asked for.
    public var usage: CompletionUsage?
    /// Where the time went so far, when `timings_per_token` asks for it.
    public var timings: Timings?
    /// How much of the prompt was read, in the chunks before the answer, when `return_progress`
    /// asks for it.
    public var prompt_progress: PromptProgress?
    /// What the schema of the request says and the answer is not held to; in the first chunk of a
    /// stream.
    public var warnings: [SchemaWarning]?
    /// Names the configuration that answered; equal ones answer a seed equally.
    public var system_fingerprint: String?

    public init(
        id: String,
        created: Int,
        model: String,
        choices: [CompletionChoice],
        usage: CompletionUsage? = nil,
        timings: Timings? = nil,
        prompt_progress: PromptProgress? = nil,
        warnings: [SchemaWarning]? = nil,
        system_fingerprint: String? = nil
    ) {
        self.id = id
        self.created = created
        self.model = model
        self.choices = choices
        self.usage = usage
        self.timings = timings
        self.prompt_progress = prompt_progress
        self.warnings = warnings
        self.system_fingerprint = system_fingerprint
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("object", "text_completion")
        self.created = try reader.required("created")
        self.model = try reader.required("model")
        self.choices = try reader.required("choices")
        self.usage = try reader.optional("usage")
        self.timings = try reader.optional("timings")
        self.prompt_progress = try reader.optional("prompt_progress")
        self.warnings = try reader.optional("warnings")
        self.system_fingerprint = try reader.optional("system_fingerprint")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("object", "text_completion")
        writer.required("created", self.created)
        writer.required("model", self.model)
        writer.required("choices", self.choices)
        writer.optional("usage", self.usage)
        writer.optional("timings", self.timings)
        writer.optional("prompt_progress", self.prompt_progress)
        writer.optional("warnings", self.warnings)
        writer.optional("system_fingerprint", self.system_fingerprint)
        return writer.jsonValue
    }
}

/// A vector: its numbers, or their base64.
public enum EmbeddingVector: WireObject {
    case numbers([Double])
    case base64(String)

    public init(jsonValue: JSONValue) throws(WireFault) {
        switch jsonValue.kind {
        case .array: self = .numbers(try .init(jsonValue: jsonValue))
        case .string: self = .base64(try .init(jsonValue: jsonValue))
        default: throw .wrongType(jsonValue, expected: "one of an array or a string")
        }
    }

    public var jsonValue: JSONValue {
        switch self {
        case .numbers(let value): value.jsonValue
        case .base64(let value): value.jsonValue
        }
    }
}

extension EmbeddingVector: ExpressibleByArrayLiteral {
    public init(arrayLiteral value: Double...) {
        self = .numbers(value)
    }
}

extension EmbeddingVector: ExpressibleByStringInterpolation {
    public init(stringLiteral value: String) {
        self = .base64(value)
    }
}

/// The vector of one text.
public struct Embedding: WireObject {
    /// Which of the texts this belongs to, from 0. Range: at least 0.
    public var index: Int
    /// The kind of object.
    public let object = "embedding"
    /// The vector.
    public var embedding: EmbeddingVector

    public init(
        index: Int,
        embedding: EmbeddingVector
    ) {
        self.index = index
        self.embedding = embedding
    }

    public init(
        index: Int,
        embedding: String
    ) {
        self.index = index
        self.embedding = .base64(embedding)
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        try reader.constant("object", "embedding")
        self.embedding = try reader.required("embedding")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.constant("object", "embedding")
        writer.required("embedding", self.embedding)
        return writer.jsonValue
    }
}

/// What a request for embeddings cost.
public struct EmbeddingUsage: WireObject {
    /// The length of all texts together. Range: at least 0. Unit: tokens.
    public var prompt_tokens: Int
    /// The same. Range: at least 0. Unit: tokens.
    public var total_tokens: Int

    public init(
        prompt_tokens: Int,
        total_tokens: Int
    ) {
        self.prompt_tokens = prompt_tokens
        self.total_tokens = total_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt_tokens = try reader.required("prompt_tokens")
        self.total_tokens = try reader.required("total_tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("prompt_tokens", self.prompt_tokens)
        writer.required("total_tokens", self.total_tokens)
        return writer.jsonValue
    }
}

/// The vectors of the texts, in their order.
public struct EmbeddingResponse: WireObject {
    /// The kind of object.
    public let object = "list"
    /// The vectors.
    public var data: [Embedding]
    /// The model that made them.
    public var model: String
    /// What the request cost.
    public var usage: EmbeddingUsage

    public init(
        data: [Embedding],
        model: String,
        usage: EmbeddingUsage
    ) {
        self.data = data
        self.model = model
        self.usage = usage
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("object", "list")
        self.data = try reader.required("data")
        self.model = try reader.required("model")
        self.usage = try reader.required("usage")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("object", "list")
        writer.required("data", self.data)
        writer.required("model", self.model)
        writer.required("usage", self.usage)
        return writer.jsonValue
    }
}

/// How well one document answers the query.
public struct RerankResult: WireObject {
    /// Which of the documents it is, from 0. Range: at least 0.
    public var index: Int
    /// The score; a larger one is better.
    public var relevance_score: Double
    /// The document. Absent: it was not asked for by `return_documents`.
    public var document: RerankDocument?

    public init(
        index: Int,
        relevance_score: Double,
        document: RerankDocument? = nil
    ) {
        self.index = index
        self.relevance_score = relevance_score
        self.document = document
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.index = try reader.required("index")
        self.relevance_score = try reader.required("relevance_score")
        self.document = try reader.optional("document")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("index", self.index)
        writer.required("relevance_score", self.relevance_score)
        writer.optional("document", self.document)
        return writer.jsonValue
    }
}

/// The documents in the order of their scores, the best first.
public struct RerankResponse: WireObject {
    /// The answer's id.
    public var id: String
    /// The kind of object.
    public let object = "list"
    /// The model that judged.
    public var model: String
    /// The results, the best first.
    public var results: [RerankResult]
    /// What the request cost.
    public var usage: EmbeddingUsage

    public init(
        id: String,
        model: String,
        results: [RerankResult],
        usage: EmbeddingUsage
    ) {
        self.id = id
        self.model = model
        self.results = results
        self.usage = usage
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("object", "list")
        self.model = try reader.required("model")
        self.results = try reader.required("results")
        self.usage = try reader.required("usage")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("object", "list")
        writer.required("model", self.model)
        writer.required("results", self.results)
        writer.required("usage", self.usage)
        return writer.jsonValue
    }
}

/// The tokens of a text.
public struct TokenizeResponse: WireObject {
    /// The token ids. Range: at least 0.
    public var tokens: [Int]
    /// How many there are. Range: at least 0. Unit: tokens.
    public var count: Int

    public init(
        tokens: [Int],
        count: Int
    ) {
        self.tokens = tokens
        self.count = count
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.required("tokens")
        self.count = try reader.required("count")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("tokens", self.tokens)
        writer.required("count", self.count)
        return writer.jsonValue
    }
}

/// The text of tokens.
public struct DetokenizeResponse: WireObject {
    /// The text; bytes that are no UTF-8 are replaced by U+FFFD.
    public var text: String

    public init(
        text: String
    ) {
        self.text = text
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.text = try reader.required("text")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("text", self.text)
        return writer.jsonValue
    }
}

/// The length of a conversation as the model would read it.
public struct InputTokensResponse: WireObject {
    /// The length of the prompt. Range: at least 0. Unit: tokens.
    public var input_tokens: Int

    public init(
        input_tokens: Int
    ) {
        self.input_tokens = input_tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.input_tokens = try reader.required("input_tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("input_tokens", self.input_tokens)
        return writer.jsonValue
    }
}

/// A conversation as the model's chat template writes it.
public struct RenderResponse: WireObject {
    /// The text that the model continues.
    public var prompt: String

    public init(
        prompt: String
    ) {
        self.prompt = prompt
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt = try reader.required("prompt")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("prompt", self.prompt)
        return writer.jsonValue
    }
}

/// What was saved.
public struct KVSaveResponse: WireObject {
    /// How many tokens the state is of. Range: at least 0. Unit: tokens.
    public var tokens: Int
    /// The file's size. Range: at least 0. Unit: bytes.
    public var bytes: Int

    public init(
        tokens: Int,
        bytes: Int
    ) {
        self.tokens = tokens
        self.bytes = bytes
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.required("tokens")
        self.bytes = try reader.required("bytes")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("tokens", self.tokens)
        writer.required("bytes", self.bytes)
        return writer.jsonValue
    }
}

/// What was loaded.
public struct KVLoadResponse: WireObject {
    /// How many tokens a request that begins like the saved one finds. Range: at least 0. Unit:
    /// tokens.
    public var tokens: Int

    public init(
        tokens: Int
    ) {
        self.tokens = tokens
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.required("tokens")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("tokens", self.tokens)
        return writer.jsonValue
    }
}

/// A prompt, and how much of it the prefix cache holds.
public struct KVHeldPrompt: WireObject {
    /// The prompt's token ids. Range: at least 0.
    public var tokens: [Int]
    /// How many of the first ones are held. Range: at least 0. Unit: tokens.
    public var held: Int

    public init(
        tokens: [Int],
        held: Int
    ) {
        self.tokens = tokens
        self.held = held
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.tokens = try reader.required("tokens")
        self.held = try reader.required("held")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("tokens", self.tokens)
        writer.required("held", self.held)
        return writer.jsonValue
    }
}

/// The prompts of a request that a state of `kv.save` can stand for.
public struct KVHeldResponse: WireObject {
    /// Those that consist of tokens alone, in their order: prompts with pictures are left out, and
    /// so are requests that choose an adapter or want the prompt's `logprobs`.
    public var prompts: [KVHeldPrompt]

    public init(
        prompts: [KVHeldPrompt]
    ) {
        self.prompts = prompts
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompts = try reader.required("prompts")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("prompts", self.prompts)
        return writer.jsonValue
    }
}

/// What was given back.
public struct TrimResponse: WireObject {
    /// KV pages whose memory went back to the system. Range: at least 0.
    public var pages: Int
    /// The memory of them; 0 on devices that keep their memory. Range: at least 0. Unit: bytes.
    public var page_bytes: Int
    /// Weights that the system may drop and read again. Range: at least 0. Unit: bytes.
    public var weight_bytes: Int

    public init(
        pages: Int,
        page_bytes: Int,
        weight_bytes: Int
    ) {
        self.pages = pages
        self.page_bytes = page_bytes
        self.weight_bytes = weight_bytes
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.pages = try reader.required("pages")
        self.page_bytes = try reader.required("page_bytes")
        self.weight_bytes = try reader.required("weight_bytes")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("pages", self.pages)
        writer.required("page_bytes", self.page_bytes)
        writer.required("weight_bytes", self.weight_bytes)
        return writer.jsonValue
    }
}

/// What was made ready.
public struct PrewarmResponse: WireObject {
    /// Weights that were read into memory from their files. Range: at least 0. Unit: bytes.
    public var weight_bytes: Int

    public init(
        weight_bytes: Int
    ) {
        self.weight_bytes = weight_bytes
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.weight_bytes = try reader.required("weight_bytes")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("weight_bytes", self.weight_bytes)
        return writer.jsonValue
    }
}

/// The limits that hold now.
public struct ThermalLimits: WireObject {
    /// Threads that compute. Range: at least 1.
    public var num_threads: Int
    /// Answers that are generated at the same time. Range: at least 1.
    public var max_num_sequence: Int
    /// Tokens of one step. Range: at least 1. Unit: tokens.
    public var prefill_chunk_size: Int

    public init(
        num_threads: Int,
        max_num_sequence: Int,
        prefill_chunk_size: Int
    ) {
        self.num_threads = num_threads
        self.max_num_sequence = max_num_sequence
        self.prefill_chunk_size = prefill_chunk_size
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.num_threads = try reader.required("num_threads")
        self.max_num_sequence = try reader.required("max_num_sequence")
        self.prefill_chunk_size = try reader.required("prefill_chunk_size")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("num_threads", self.num_threads)
        writer.required("max_num_sequence", self.max_num_sequence)
        writer.required("prefill_chunk_size", self.prefill_chunk_size)
        return writer.jsonValue
    }
}

/// An adapter that requests may choose.
public struct AdapterInfo: WireObject {
    /// Its name.
    public var name: String
    /// The rank of its matrices. Range: at least 1.
    public var rank: Int
    /// What identifies its content.
    public var hash: String

    public init(
        name: String,
        rank: Int,
        hash: String
    ) {
        self.name = name
        self.rank = rank
        self.hash = hash
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.rank = try reader.required("rank")
        self.hash = try reader.required("hash")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.required("rank", self.rank)
        writer.required("hash", self.hash)
        return writer.jsonValue
    }
}

/// The adapters that requests may choose.
public struct AdapterList: WireObject {
    /// In the order of their names.
    public var adapters: [AdapterInfo]
    /// How many ranks have room, those of all adapters together. Range: at least 0.
    public var ranks: Int
    /// How many of them are free; an adapter takes a multiple of 8. Range: at least 0.
    public var free_ranks: Int

    public init(
        adapters: [AdapterInfo],
        ranks: Int,
        free_ranks: Int
    ) {
        self.adapters = adapters
        self.ranks = ranks
        self.free_ranks = free_ranks
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.adapters = try reader.required("adapters")
        self.ranks = try reader.required("ranks")
        self.free_ranks = try reader.required("free_ranks")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("adapters", self.adapters)
        writer.required("ranks", self.ranks)
        writer.required("free_ranks", self.free_ranks)
        return writer.jsonValue
    }
}

/// Whether a server has a model in memory.
public enum ModelStatus: WireEnum {
    /// It is known, and a request loads it.
    case unloaded
    /// It is being loaded.
    case loading
    /// It answers at once.
    case loaded
    /// It is loaded, and gave back what can be computed or read again.
    case sleeping
    /// It ends its last requests, and leaves.
    case leaving
    /// Its last load failed; it is tried again after some time.
    case failed
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .unloaded,
        .loading,
        .loaded,
        .sleeping,
        .leaving,
        .failed,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "unloaded": self = .unloaded
        case "loading": self = .loading
        case "loaded": self = .loaded
        case "sleeping": self = .sleeping
        case "leaving": self = .leaving
        case "failed": self = .failed
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .unloaded: "unloaded"
        case .loading: "loading"
        case .loaded: "loaded"
        case .sleeping: "sleeping"
        case .leaving: "leaving"
        case .failed: "failed"
        case .unknown(let word): word
        }
    }
}

/// What a model reads.
public enum InputModality: WireEnum {
    /// Texts.
    case text
    /// Pictures: parts `image_url` of messages.
    case image
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .text,
        .image,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "text": self = .text
        case "image": self = .image
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .text: "text"
        case .image: "image"
        case .unknown(let word): word
        }
    }
}

/// A model that can answer.
public struct ModelObject: WireObject {
    /// The model's name, as requests give it in `model`.
    public var id: String
    /// The kind of object.
    public let object = "model"
    /// When it was made. Range: at least 0. Unit: seconds since 1970, UTC.
    public var created: Int
    /// Who offers it.
    public var owned_by: String
    /// Whether it is in memory. Absent: nobody says.
    public var status: ModelStatus?
    /// How far its load is. Range: at least 0 and at most 1.
    public var progress: Double?
    /// What it reads. Absent: that is known once it is loaded.
    public var input_modalities: [InputModality]?
    /// Of an adapter: its model. Absent: it is a model.
    public var parent: String?
    /// Of an adapter: where it was loaded from. Absent: nobody says.
    public var root: String?

    public init(
        id: String,
        created: Int,
        owned_by: String,
        status: ModelStatus? = nil,
        progress: Double? = nil,
        input_modalities: [InputModality]? = nil,
        parent: String? = nil,
        root: String? = nil
    ) {
        self.id = id
        self.created = created
        self.owned_by = owned_by
        self.status = status
        self.progress = progress
        self.input_modalities = input_modalities
        self.parent = parent
        self.root = root
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.id = try reader.required("id")
        try reader.constant("object", "model")
        self.created = try reader.required("created")
        self.owned_by = try reader.required("owned_by")
        self.status = try reader.optional("status")
        self.progress = try reader.optional("progress")
        self.input_modalities = try reader.optional("input_modalities")
        self.parent = try reader.optional("parent")
        self.root = try reader.optional("root")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("id", self.id)
        writer.constant("object", "model")
        writer.required("created", self.created)
        writer.required("owned_by", self.owned_by)
        writer.optional("status", self.status)
        writer.optional("progress", self.progress)
        writer.optional("input_modalities", self.input_modalities)
        writer.optional("parent", self.parent)
        writer.optional("root", self.root)
        return writer.jsonValue
    }
}

/// The models that can answer.
public struct ModelList: WireObject {
    /// The kind of object.
    public let object = "list"
    /// The models.
    public var data: [ModelObject]

    public init(
        data: [ModelObject]
    ) {
        self.data = data
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        try reader.constant("object", "list")
        self.data = try reader.required("data")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.constant("object", "list")
        writer.required("data", self.data)
        return writer.jsonValue
    }
}

/// A kind of device, and whether this machine has it.
public struct DeviceProbe: WireObject {
    /// The device, such as `cuda:0`.
    public var name: String
    /// Whether it can be used.
    public var found: Bool
    /// Why it cannot be used; empty when it can.
    public var reason: String
    /// What its driver calls it. Absent: nobody says.
    public var description: String?
    /// The size of its memory; of the CPU: what is free now. Range: at least 0. Unit: bytes.
    public var memory_bytes: Int?
    /// The largest tensor it can hold. Range: at least 0. Unit: bytes.
    public var max_buffer_bytes: Int?
    /// Memory that a work-group shares. Range: at least 0. Unit: bytes.
    public var local_memory_bytes: Int?
    /// Work-items of a work-group at most. Range: at least 0.
    public var max_group_size: Int?
    /// Whether it computes with 16-bit floats.
    public var f16: Bool?
    /// Whether it is the CPU, driven as another device; `auto` passes over it.
    public var is_processor: Bool?

    public init(
        name: String,
        found: Bool,
        reason: String,
        description: String? = nil,
        memory_bytes: Int? = nil,
        max_buffer_bytes: Int? = nil,
        local_memory_bytes: Int? = nil,
        max_group_size: Int? = nil,
        f16: Bool? = nil,
        is_processor: Bool? = nil
    ) {
        self.name = name
        self.found = found
        self.reason = reason
        self.description = description
        self.memory_bytes = memory_bytes
        self.max_buffer_bytes = max_buffer_bytes
        self.local_memory_bytes = local_memory_bytes
        self.max_group_size = max_group_size
        self.f16 = f16
        self.is_processor = is_processor
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.name = try reader.required("name")
        self.found = try reader.required("found")
        self.reason = try reader.required("reason")
        self.description = try reader.optional("description")
        self.memory_bytes = try reader.optional("memory_bytes")
        self.max_buffer_bytes = try reader.optional("max_buffer_bytes")
        self.local_memory_bytes = try reader.optional("local_memory_bytes")
        self.max_group_size = try reader.optional("max_group_size")
        self.f16 = try reader.optional("f16")
        self.is_processor = try reader.optional("is_processor")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("name", self.name)
        writer.required("found", self.found)
        writer.required("reason", self.reason)
        writer.optional("description", self.description)
        writer.optional("memory_bytes", self.memory_bytes)
        writer.optional("max_buffer_bytes", self.max_buffer_bytes)
        writer.optional("local_memory_bytes", self.local_memory_bytes)
        writer.optional("max_group_size", self.max_group_size)
        writer.optional("f16", self.f16)
        writer.optional("is_processor", self.is_processor)
        return writer.jsonValue
    }
}

/// Measurements of one request; `usage.extra` has the same.
public struct RequestMetrics: WireObject {
    /// The length of the prompt. Range: at least 0. Unit: tokens.
    public var prompt_tokens: Int?
    /// The length of the answers. Range: at least 0. Unit: tokens.
    public var completion_tokens: Int?
    /// How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
    public var prefill_tokens: Int?
    /// The tokens that were generated one by one. Range: at least 0. Unit: tokens.
    public var decode_tokens: Int?
    /// The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens.
    public var jump_forward_tokens: Int?
    /// How fast the prompt was read. Range: at least 0. Unit: tokens per second.
    public var prefill_tokens_per_s: Double?
    /// How fast the answer was generated. Range: at least 0. Unit: tokens per second.
    public var decode_tokens_per_s: Double?
    /// From the request to its first token. Range: at least 0. Unit: seconds.
    public var ttft_s: Double?
    /// The mean time from token to token. Range: at least 0. Unit: seconds.
    public var inter_token_latency_s: Double?
    /// From the request to its last token. Range: at least 0. Unit: seconds.
    public var end_to_end_latency_s: Double?
    /// The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range:
    /// at least 0. Unit: tokens.
    public var drafted_tokens: Int?
    /// Of them those that are in the answer. Range: at least 0. Unit: tokens.
    public var accepted_draft_tokens: Int?
    /// How many times as fast the answer was generated as it would have been without drafts, by the
    /// measured times of steps. Range: at least 0.
    public var draft_gain: Double?

    public init(
        prompt_tokens: Int? = nil,
        completion_tokens: Int? = nil,
        prefill_tokens: Int? = nil,
        decode_tokens: Int? = nil,
        jump_forward_tokens: Int? = nil,
        prefill_tokens_per_s: Double? = nil,
        decode_tokens_per_s: Double? = nil,
        ttft_s: Double? = nil,
        inter_token_latency_s: Double? = nil,
        end_to_end_latency_s: Double? = nil,
        drafted_tokens: Int? = nil,
        accepted_draft_tokens: Int? = nil,
        draft_gain: Double? = nil
    ) {
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens
        self.prefill_tokens = prefill_tokens
        self.decode_tokens = decode_tokens
        self.jump_forward_tokens = jump_forward_tokens
        self.prefill_tokens_per_s = prefill_tokens_per_s
        self.decode_tokens_per_s = decode_tokens_per_s
        self.ttft_s = ttft_s
        self.inter_token_latency_s = inter_token_latency_s
        self.end_to_end_latency_s = end_to_end_latency_s
        self.drafted_tokens = drafted_tokens
        self.accepted_draft_tokens = accepted_draft_tokens
        self.draft_gain = draft_gain
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.prompt_tokens = try reader.optional("prompt_tokens")
        self.completion_tokens = try reader.optional("completion_tokens")
        self.prefill_tokens = try reader.optional("prefill_tokens")
        self.decode_tokens = try reader.optional("decode_tokens")
        self.jump_forward_tokens = try reader.optional("jump_forward_tokens")
        self.prefill_tokens_per_s = try reader.optional("prefill_tokens_per_s")
        self.decode_tokens_per_s = try reader.optional("decode_tokens_per_s")
        self.ttft_s = try reader.optional("ttft_s")
        self.inter_token_latency_s = try reader.optional("inter_token_latency_s")
        self.end_to_end_latency_s = try reader.optional("end_to_end_latency_s")
        self.drafted_tokens = try reader.optional("drafted_tokens")
        self.accepted_draft_tokens = try reader.optional("accepted_draft_tokens")
        self.draft_gain = try reader.optional("draft_gain")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("prompt_tokens", self.prompt_tokens)
        writer.optional("completion_tokens", self.completion_tokens)
        writer.optional("prefill_tokens", self.prefill_tokens)
        writer.optional("decode_tokens", self.decode_tokens)
        writer.optional("jump_forward_tokens", self.jump_forward_tokens)
        writer.optional("prefill_tokens_per_s", self.prefill_tokens_per_s)
        writer.optional("decode_tokens_per_s", self.decode_tokens_per_s)
        writer.optional("ttft_s", self.ttft_s)
        writer.optional("inter_token_latency_s", self.inter_token_latency_s)
        writer.optional("end_to_end_latency_s", self.end_to_end_latency_s)
        writer.optional("drafted_tokens", self.drafted_tokens)
        writer.optional("accepted_draft_tokens", self.accepted_draft_tokens)
        writer.optional("draft_gain", self.draft_gain)
        return writer.jsonValue
    }
}

/// How often a text that was known ahead saved a step.
public struct KnownTextMetrics: WireObject {
    /// Tokens of such text that were computed ahead. Range: at least 0.
    public var draft_count: Int
    /// Of them those that the model chose: each saved a step. Range: at least 0.
    public var accept_count: Int

    public init(
        draft_count: Int,
        accept_count: Int
    ) {
        self.draft_count = draft_count
        self.accept_count = accept_count
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.draft_count = try reader.required("draft_count")
        self.accept_count = try reader.required("accept_count")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("draft_count", self.draft_count)
        writer.required("accept_count", self.accept_count)
        return writer.jsonValue
    }
}

/// How speculative decoding fares; each list has one number for each drafted position.
public struct SpecDecodeMetrics: WireObject {
    /// How many tokens were drafted. Unit: tokens.
    public var draft_count: [Int]?
    /// How many were accepted. Unit: tokens.
    public var accept_count: [Int]?
    /// The share of drafts accepted at each position, by `step=i`.
    public var accept_prob: JSONObject?
    /// The share of accepted among those whose predecessor was, by `step=i`.
    public var accept_rate: JSONObject?
    /// The mean number of tokens accepted up to each position, by `step=i`.
    public var accept_len: JSONObject?

    public init(
        draft_count: [Int]? = nil,
        accept_count: [Int]? = nil,
        accept_prob: JSONObject? = nil,
        accept_rate: JSONObject? = nil,
        accept_len: JSONObject? = nil
    ) {
        self.draft_count = draft_count
        self.accept_count = accept_count
        self.accept_prob = accept_prob
        self.accept_rate = accept_rate
        self.accept_len = accept_len
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.draft_count = try reader.optional("draft_count")
        self.accept_count = try reader.optional("accept_count")
        self.accept_prob = try reader.optional("accept_prob")
        self.accept_rate = try reader.optional("accept_rate")
        self.accept_len = try reader.optional("accept_len")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("draft_count", self.draft_count)
        writer.optional("accept_count", self.accept_count)
        writer.optional("accept_prob", self.accept_prob)
        writer.optional("accept_rate", self.accept_rate)
        writer.optional("accept_len", self.accept_len)
        return writer.jsonValue
    }
}

/// Counters since the model was loaded or the engine was reset.
public struct EngineMetrics: WireObject {
    /// The model's time on prompts. Range: at least 0. Unit: seconds.
    public var engine_prefill_time_sum: Double?
    /// The model's time on answers. Range: at least 0. Unit: seconds.
    public var engine_decode_time_sum: Double?
    /// The time spent on text that grammars forced. Range: at least 0. Unit: seconds.
    public var engine_jump_forward_time_sum: Double?
    /// The length of all prompts. Range: at least 0. Unit: tokens.
    public var prompt_tokens_sum: Int?
    /// How much of the prompts the model read. Range: at least 0. Unit: tokens.
    public var prefill_tokens_sum: Int?
    /// The tokens that were generated one by one. Range: at least 0. Unit: tokens.
    public var decode_tokens_sum: Int?
    /// The tokens that grammars forced. Range: at least 0. Unit: tokens.
    public var jump_forward_tokens_sum: Int?
    /// The length of all answers. Range: at least 0. Unit: tokens.
    public var completion_tokens_sum: Int?
    /// How fast prompts are read. Range: at least 0. Unit: tokens per second.
    public var prefill_tokens_per_s: Double?
    /// How fast answers are generated. Range: at least 0. Unit: tokens per second.
    public var decode_tokens_per_s: Double?
    /// The pages of the KV cache. Range: at least 0. Unit: pages.
    public var kv_pages_total: Int?
    /// The pages that no sequence holds now. Range: at least 0. Unit: pages.
    public var kv_pages_free: Int?
    /// The sequences that are generated at the moment. Range: at least 0.
    public var num_running_sequences: Int?
    /// The sequences that wait for their turn or for pages. Range: at least 0.
    public var num_waiting_sequences: Int?
    /// The requests that no step has taken in yet. Range: at least 0.
    public var num_queued_requests: Int?
    /// How often the model ran. Range: at least 0.
    public var num_steps: Int?
    /// How often a sequence had to give back its pages and begin again. Range: at least 0.
    public var num_preemptions: Int?
    /// What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from files
    /// of `prefix_cache_dir`. Range: at least 0. Unit: tokens.
    public var restored_tokens_sum: Int?
    /// The files that were written to `prefix_cache_dir`. Range: at least 0. Unit: files.
    public var written_blocks_sum: Int?
    /// The host's memory that keeps what the prefix cache on the device may have to drop. Range: at
    /// least 0. Unit: bytes.
    public var prefix_cache_ram_bytes: Int?
    /// What came back from the device: tokens, or rows of logits. Range: at least 0. Unit: bytes.
    public var device_read_bytes_sum: Int?
    /// Pictures of which the vision tower made rows. Range: at least 0. Unit: pictures.
    public var encoded_pictures_sum: Int?
    /// The time of the vision tower. Range: at least 0. Unit: seconds.
    public var engine_encode_time_sum: Double?
    /// Pictures whose rows were kept from an earlier request. Range: at least 0. Unit: pictures.
    public var picture_cache_hits_sum: Int?
    /// The rows of pictures that are kept. Range: at least 0. Unit: bytes.
    public var picture_cache_bytes: Int?
    /// Requests that ended well. Range: at least 0.
    public var num_finished_requests: Int?
    /// Requests that ended with an error or were cancelled. Range: at least 0.
    public var num_failed_requests: Int?
    /// Measurements of the request that ended last.
    public var last_finished_request: RequestMetrics?
    /// How often text that a grammar forces saved a step.
    public var jump_forward: KnownTextMetrics?
    /// How often a request's `prediction` saved a step.
    public var prediction: KnownTextMetrics?
    /// How often text that came earlier saved a step. `spec_decode` contains it.
    public var prompt_lookup: KnownTextMetrics?
    /// The tokens that were guessed ahead, by any kind of draft. Range: at least 0. Unit: tokens.
    public var drafted_tokens_sum: Int?
    /// Of them those that are in the answers. Range: at least 0. Unit: tokens.
    public var accepted_draft_tokens_sum: Int?
    /// How many times as fast answers were generated as they would have been without drafts, by the
    /// measured times of steps. Absent until steps with drafts and without were measured. Range: at
    /// least 0.
    public var draft_gain: Double?
    /// How speculative decoding fares.
    public var spec_decode: SpecDecodeMetrics?
    /// The time of a decode step by the number of sequences in it. Unit: seconds.
    public var decode_time_by_batch_size: JSONObject?
    /// The time of a draft by the number of sequences in it. Unit: seconds.
    public var draft_time_by_batch_size: JSONObject?
    /// The time of a verification by the number of sequences in it. Unit: seconds.
    public var verify_time_by_batch_size: JSONObject?

    public init(
        engine_prefill_time_sum: Double? = nil,
        engine_decode_time_sum: Double? = nil,
        engine_jump_forward_time_sum: Double? = nil,
        prompt_tokens_sum: Int? = nil,
        prefill_tokens_sum: Int? = nil,
        decode_tokens_sum: Int? = nil,
        jump_forward_tokens_sum: Int? = nil,
        completion_tokens_sum: Int? = nil,
        prefill_tokens_per_s: Double? = nil,
        decode_tokens_per_s: Double? = nil,
        kv_pages_total: Int? = nil,
        kv_pages_free: Int? = nil,
        num_running_sequences: Int? = nil,
        num_waiting_sequences: Int? = nil,
        num_queued_requests: Int? = nil,
        num_steps: Int? = nil,
        num_preemptions: Int? = nil,
        restored_tokens_sum: Int? = nil,
        written_blocks_sum: Int? = nil,
        prefix_cache_ram_bytes: Int? = nil,
        device_read_bytes_sum: Int? = nil,
        encoded_pictures_sum: Int? = nil,
        engine_encode_time_sum: Double? = nil,
        picture_cache_hits_sum: Int? = nil,
        picture_cache_bytes: Int? = nil,
        num_finished_requests: Int? = nil,
        num_failed_requests: Int? = nil,
        last_finished_request: RequestMetrics? = nil,
        jump_forward: KnownTextMetrics? = nil,
        prediction: KnownTextMetrics? = nil,
        prompt_lookup: KnownTextMetrics? = nil,
        drafted_tokens_sum: Int? = nil,
        accepted_draft_tokens_sum: Int? = nil,
        draft_gain: Double? = nil,
        spec_decode: SpecDecodeMetrics? = nil,
        decode_time_by_batch_size: JSONObject? = nil,
        draft_time_by_batch_size: JSONObject? = nil,
        verify_time_by_batch_size: JSONObject? = nil
    ) {
        self.engine_prefill_time_sum = engine_prefill_time_sum
        self.engine_decode_time_sum = engine_decode_time_sum
        self.engine_jump_forward_time_sum = engine_jump_forward_time_sum
        self.prompt_tokens_sum = prompt_tokens_sum
        self.prefill_tokens_sum = prefill_tokens_sum
        self.decode_tokens_sum = decode_tokens_sum
        self.jump_forward_tokens_sum = jump_forward_tokens_sum
        self.completion_tokens_sum = completion_tokens_sum
        self.prefill_tokens_per_s = prefill_tokens_per_s
        self.decode_tokens_per_s = decode_tokens_per_s
        self.kv_pages_total = kv_pages_total
        self.kv_pages_free = kv_pages_free
        self.num_running_sequences = num_running_sequences
        self.num_waiting_sequences = num_waiting_sequences
        self.num_queued_requests = num_queued_requests
        self.num_steps = num_steps
        self.num_preemptions = num_preemptions
        self.restored_tokens_sum = restored_tokens_sum
        self.written_blocks_sum = written_blocks_sum
        self.prefix_cache_ram_bytes = prefix_cache_ram_bytes
        self.device_read_bytes_sum = device_read_bytes_sum
        self.encoded_pictures_sum = encoded_pictures_sum
        self.engine_encode_time_sum = engine_encode_time_sum
        self.picture_cache_hits_sum = picture_cache_hits_sum
        self.picture_cache_bytes = picture_cache_bytes
        self.num_finished_requests = num_finished_requests
        self.num_failed_requests = num_failed_requests
        self.last_finished_request = last_finished_request
        self.jump_forward = jump_forward
        self.prediction = prediction
        self.prompt_lookup = prompt_lookup
        self.drafted_tokens_sum = drafted_tokens_sum
        self.accepted_draft_tokens_sum = accepted_draft_tokens_sum
        self.draft_gain = draft_gain
        self.spec_decode = spec_decode
        self.decode_time_by_batch_size = decode_time_by_batch_size
        self.draft_time_by_batch_size = draft_time_by_batch_size
        self.verify_time_by_batch_size = verify_time_by_batch_size
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.engine_prefill_time_sum = try reader.optional("engine_prefill_time_sum")
        self.engine_decode_time_sum = try reader.optional("engine_decode_time_sum")
        self.engine_jump_forward_time_sum = try reader.optional("engine_jump_forward_time_sum")
        self.prompt_tokens_sum = try reader.optional("prompt_tokens_sum")
        self.prefill_tokens_sum = try reader.optional("prefill_tokens_sum")
        self.decode_tokens_sum = try reader.optional("decode_tokens_sum")
        self.jump_forward_tokens_sum = try reader.optional("jump_forward_tokens_sum")
        self.completion_tokens_sum = try reader.optional("completion_tokens_sum")
        self.prefill_tokens_per_s = try reader.optional("prefill_tokens_per_s")
        self.decode_tokens_per_s = try reader.optional("decode_tokens_per_s")
        self.kv_pages_total = try reader.optional("kv_pages_total")
        self.kv_pages_free = try reader.optional("kv_pages_free")
        self.num_running_sequences = try reader.optional("num_running_sequences")
        self.num_waiting_sequences = try reader.optional("num_waiting_sequences")
        self.num_queued_requests = try reader.optional("num_queued_requests")
        self.num_steps = try reader.optional("num_steps")
        self.num_preemptions = try reader.optional("num_preemptions")
        self.restored_tokens_sum = try reader.optional("restored_tokens_sum")
        self.written_blocks_sum = try reader.optional("written_blocks_sum")
        self.prefix_cache_ram_bytes = try reader.optional("prefix_cache_ram_bytes")
        self.device_read_bytes_sum = try reader.optional("device_read_bytes_sum")
        self.encoded_pictures_sum = try reader.optional("encoded_pictures_sum")
        self.engine_encode_time_sum = try reader.optional("engine_encode_time_sum")
        self.picture_cache_hits_sum = try reader.optional("picture_cache_hits_sum")
        self.picture_cache_bytes = try reader.optional("picture_cache_bytes")
        self.num_finished_requests = try reader.optional("num_finished_requests")
        self.num_failed_requests = try reader.optional("num_failed_requests")
        self.last_finished_request = try reader.optional("last_finished_request")
        self.jump_forward = try reader.optional("jump_forward")
        self.prediction = try reader.optional("prediction")
        self.prompt_lookup = try reader.optional("prompt_lookup")
        self.drafted_tokens_sum = try reader.optional("drafted_tokens_sum")
        self.accepted_draft_tokens_sum = try reader.optional("accepted_draft_tokens_sum")
        self.draft_gain = try reader.optional("draft_gain")
        self.spec_decode = try reader.optional("spec_decode")
        self.decode_time_by_batch_size = try reader.optional("decode_time_by_batch_size")
        self.draft_time_by_batch_size = try reader.optional("draft_time_by_batch_size")
        self.verify_time_by_batch_size = try reader.optional("verify_time_by_batch_size")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.optional("engine_prefill_time_sum", self.engine_prefill_time_sum)
        writer.optional("engine_decode_time_sum", self.engine_decode_time_sum)
        writer.optional("engine_jump_forward_time_sum", self.engine_jump_forward_time_sum)
        writer.optional("prompt_tokens_sum", self.prompt_tokens_sum)
        writer.optional("prefill_tokens_sum", self.prefill_tokens_sum)
        writer.optional("decode_tokens_sum", self.decode_tokens_sum)
        writer.optional("jump_forward_tokens_sum", self.jump_forward_tokens_sum)
        writer.optional("completion_tokens_sum", self.completion_tokens_sum)
        writer.optional("prefill_tokens_per_s", self.prefill_tokens_per_s)
        writer.optional("decode_tokens_per_s", self.decode_tokens_per_s)
        writer.optional("kv_pages_total", self.kv_pages_total)
        writer.optional("kv_pages_free", self.kv_pages_free)
        writer.optional("num_running_sequences", self.num_running_sequences)
        writer.optional("num_waiting_sequences", self.num_waiting_sequences)
        writer.optional("num_queued_requests", self.num_queued_requests)
        writer.optional("num_steps", self.num_steps)
        writer.optional("num_preemptions", self.num_preemptions)
        writer.optional("restored_tokens_sum", self.restored_tokens_sum)
        writer.optional("written_blocks_sum", self.written_blocks_sum)
        writer.optional("prefix_cache_ram_bytes", self.prefix_cache_ram_bytes)
        writer.optional("device_read_bytes_sum", self.device_read_bytes_sum)
        writer.optional("encoded_pictures_sum", self.encoded_pictures_sum)
        writer.optional("engine_encode_time_sum", self.engine_encode_time_sum)
        writer.optional("picture_cache_hits_sum", self.picture_cache_hits_sum)
        writer.optional("picture_cache_bytes", self.picture_cache_bytes)
        writer.optional("num_finished_requests", self.num_finished_requests)
        writer.optional("num_failed_requests", self.num_failed_requests)
        writer.optional("last_finished_request", self.last_finished_request)
        writer.optional("jump_forward", self.jump_forward)
        writer.optional("prediction", self.prediction)
        writer.optional("prompt_lookup", self.prompt_lookup)
        writer.optional("drafted_tokens_sum", self.drafted_tokens_sum)
        writer.optional("accepted_draft_tokens_sum", self.accepted_draft_tokens_sum)
        writer.optional("draft_gain", self.draft_gain)
        writer.optional("spec_decode", self.spec_decode)
        writer.optional("decode_time_by_batch_size", self.decode_time_by_batch_size)
        writer.optional("draft_time_by_batch_size", self.draft_time_by_batch_size)
        writer.optional("verify_time_by_batch_size", self.verify_time_by_batch_size)
        return writer.jsonValue
    }
}

/// What an engine would allocate for a model in a mode, and whether that fits.
public struct Plan: WireObject {
    /// The model's name.
    public var model: String
    /// The model's family, such as `llama`.
    public var model_type: String
    /// The scheme of its weights, such as `q4f32_1`.
    public var quantization: String
    /// The device, such as `cpu:0`.
    public var device: String
    /// The engine's mode.
    public var mode: String
    /// How many sequences are generated at the same time. Range: at least 0.
    public var max_num_sequence: Int
    /// The capacity of the KV cache, all sequences together. Range: at least 0. Unit: tokens.
    public var max_total_seq_length: Int
    /// The longest sequence. Range: at least 0. Unit: tokens.
    public var context_window_size: Int
    /// What would allow a longer sequence. Missing: nothing would, the model ends there.
    public var context_limit: String?
    /// The most tokens of prompts that one step takes in. Range: at least 0. Unit: tokens.
    public var prefill_chunk_size: Int
    /// Keys and values of one token. Range: at least 0. Unit: bytes.
    public var kv_bytes_per_token: Int
    /// The precision of cached keys and values, such as `q8`.
    public var kv_cache_dtype: String
    /// The weights, without `table_bytes`. Range: at least 0. Unit: bytes.
    public var parameter_bytes: Int
    /// Tables of which a token reads single rows, as embeddings. On a CPU they stay in the model's
    /// files; no sum counts them, since the system keeps of them what fits. Range: at least 0.
    /// Unit: bytes.
    public var table_bytes: Int
    /// The KV cache. Range: at least 0. Unit: bytes.
    public var kv_cache_bytes: Int
    /// The room for adapters that requests choose, in ranks. Range: at least 0. Unit: ranks.
    public var lora_ranks: Int
    /// That room. Range: at least 0. Unit: bytes.
    public var adapter_bytes: Int
    /// The largest step's temporaries. Range: at least 0. Unit: bytes.
    public var temporary_bytes: Int
    /// All of it. Range: at least 0. Unit: bytes.
    public var total_bytes: Int
    /// The most of the host's memory that keeps what the prefix cache on the device has to drop; no
    /// sum counts it. Range: at least 0. Unit: bytes.
    public var prefix_cache_ram_bytes: Int
    /// What the device has free now, and at most `memory_limit_bytes`. Range: at least 0. Unit:
    /// bytes.
    public var available_bytes: Int
    /// What the model reads.
    public var input_modalities: [InputModality]
    /// Whether the engine would load.
    public var fits: Bool
    /// Why it would not.
    public var reason: String?
    /// The same for people, a line an item.
    public var summary: [String]

    public init(
        model: String,
        model_type: String,
        quantization: String,
        device: String,
        mode: String,
        max_num_sequence: Int,
        max_total_seq_length: Int,
        context_window_size: Int,
        context_limit: String? = nil,
        prefill_chunk_size: Int,
        kv_bytes_per_token: Int,
        kv_cache_dtype: String,
        parameter_bytes: Int,
        table_bytes: Int,
        kv_cache_bytes: Int,
        lora_ranks: Int,
        adapter_bytes: Int,
        temporary_bytes: Int,
        total_bytes: Int,
        prefix_cache_ram_bytes: Int,
        available_bytes: Int,
        input_modalities: [InputModality],
        fits: Bool,
        reason: String? = nil,
        summary: [String]
    ) {
        self.model = model
        self.model_type = model_type
        self.quantization = quantization
        self.device = device
        self.mode = mode
        self.max_num_sequence = max_num_sequence
        self.max_total_seq_length = max_total_seq_length
        self.context_window_size = context_window_size
        self.context_limit = context_limit
        self.prefill_chunk_size = prefill_chunk_size
        self.kv_bytes_per_token = kv_bytes_per_token
        self.kv_cache_dtype = kv_cache_dtype
        self.parameter_bytes = parameter_bytes
        self.table_bytes = table_bytes
        self.kv_cache_bytes = kv_cache_bytes
        self.lora_ranks = lora_ranks
        self.adapter_bytes = adapter_bytes
        self.temporary_bytes = temporary_bytes
        self.total_bytes = total_bytes
        self.prefix_cache_ram_bytes = prefix_cache_ram_bytes
        self.available_bytes = available_bytes
        self.input_modalities = input_modalities
        self.fits = fits
        self.reason = reason
        self.summary = summary
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.model = try reader.required("model")
        self.model_type = try reader.required("model_type")
        self.quantization = try reader.required("quantization")
        self.device = try reader.required("device")
        self.mode = try reader.required("mode")
        self.max_num_sequence = try reader.required("max_num_sequence")
        self.max_total_seq_length = try reader.required("max_total_seq_length")
        self.context_window_size = try reader.required("context_window_size")
        self.context_limit = try reader.optional("context_limit")
        self.prefill_chunk_size = try reader.required("prefill_chunk_size")
        self.kv_bytes_per_token = try reader.required("kv_bytes_per_token")
        self.kv_cache_dtype = try reader.required("kv_cache_dtype")
        self.parameter_bytes = try reader.required("parameter_bytes")
        self.table_bytes = try reader.required("table_bytes")
        self.kv_cache_bytes = try reader.required("kv_cache_bytes")
        self.lora_ranks = try reader.required("lora_ranks")
        self.adapter_bytes = try reader.required("adapter_bytes")
        self.temporary_bytes = try reader.required("temporary_bytes")
        self.total_bytes = try reader.required("total_bytes")
        self.prefix_cache_ram_bytes = try reader.required("prefix_cache_ram_bytes")
        self.available_bytes = try reader.required("available_bytes")
        self.input_modalities = try reader.required("input_modalities")
        self.fits = try reader.required("fits")
        self.reason = try reader.optional("reason")
        self.summary = try reader.required("summary")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("model", self.model)
        writer.required("model_type", self.model_type)
        writer.required("quantization", self.quantization)
        writer.required("device", self.device)
        writer.required("mode", self.mode)
        writer.required("max_num_sequence", self.max_num_sequence)
        writer.required("max_total_seq_length", self.max_total_seq_length)
        writer.required("context_window_size", self.context_window_size)
        writer.optional("context_limit", self.context_limit)
        writer.required("prefill_chunk_size", self.prefill_chunk_size)
        writer.required("kv_bytes_per_token", self.kv_bytes_per_token)
        writer.required("kv_cache_dtype", self.kv_cache_dtype)
        writer.required("parameter_bytes", self.parameter_bytes)
        writer.required("table_bytes", self.table_bytes)
        writer.required("kv_cache_bytes", self.kv_cache_bytes)
        writer.required("lora_ranks", self.lora_ranks)
        writer.required("adapter_bytes", self.adapter_bytes)
        writer.required("temporary_bytes", self.temporary_bytes)
        writer.required("total_bytes", self.total_bytes)
        writer.required("prefix_cache_ram_bytes", self.prefix_cache_ram_bytes)
        writer.required("available_bytes", self.available_bytes)
        writer.required("input_modalities", self.input_modalities)
        writer.required("fits", self.fits)
        writer.optional("reason", self.reason)
        writer.required("summary", self.summary)
        return writer.jsonValue
    }
}

/// The class of an error. Their order is their number in the C header; append only.
public enum ErrorStatus: WireEnum {
    /// The caller's request or option is wrong.
    case invalidArgument
    /// A file, model or function that was named does not exist.
    case notFound
    /// A file exists but does not hold what it must.
    case corrupt
    /// The request is understood, but not offered.
    case unsupported
    /// Memory, disk, pages or the queue are full.
    case resourceExhausted
    /// The caller aborted it.
    case cancelled
    /// Not possible now, but perhaps later.
    case unavailable
    /// A time limit has passed.
    case deadlineExceeded
    /// A mistake of the engine or of this package.
    case `internal`
    /// A word that this version does not know.
    case unknown(String)

    public static let allKnown: [Self] = [
        .invalidArgument,
        .notFound,
        .corrupt,
        .unsupported,
        .resourceExhausted,
        .cancelled,
        .unavailable,
        .deadlineExceeded,
        .`internal`,
    ]

    public init(rawValue: String) {
        switch rawValue {
        case "invalid_argument": self = .invalidArgument
        case "not_found": self = .notFound
        case "corrupt": self = .corrupt
        case "unsupported": self = .unsupported
        case "resource_exhausted": self = .resourceExhausted
        case "cancelled": self = .cancelled
        case "unavailable": self = .unavailable
        case "deadline_exceeded": self = .deadlineExceeded
        case "internal": self = .`internal`
        default: self = .unknown(rawValue)
        }
    }

    public var rawValue: String {
        switch self {
        case .invalidArgument: "invalid_argument"
        case .notFound: "not_found"
        case .corrupt: "corrupt"
        case .unsupported: "unsupported"
        case .resourceExhausted: "resource_exhausted"
        case .cancelled: "cancelled"
        case .unavailable: "unavailable"
        case .deadlineExceeded: "deadline_exceeded"
        case .`internal`: "internal"
        case .unknown(let word): word
        }
    }
}

/// What went wrong.
public struct ErrorObject: WireObject {
    /// What went wrong and what to do about it.
    public var message: String
    /// The class of the error, such as `invalid_request_error`.
    public var type: String
    /// The path of the field at fault, such as `messages[2].content`.
    public var param: String?
    /// A short machine-readable reason, such as `context_length_exceeded`.
    public var code: String?
    /// The class of the reason: what a program does that does not know the reason.
    public var status: ErrorStatus?

    public init(
        message: String,
        type: String,
        param: String? = nil,
        code: String? = nil,
        status: ErrorStatus? = nil
    ) {
        self.message = message
        self.type = type
        self.param = param
        self.code = code
        self.status = status
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.message = try reader.required("message")
        self.type = try reader.required("type")
        self.param = try reader.optional("param")
        self.code = try reader.optional("code")
        self.status = try reader.optional("status")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("message", self.message)
        writer.required("type", self.type)
        writer.always("param", self.param)
        writer.always("code", self.code)
        writer.optional("status", self.status)
        return writer.jsonValue
    }
}

/// The answer to a request that failed.
public struct ErrorResponse: WireObject {
    /// What went wrong.
    public var error: ErrorObject

    public init(
        error: ErrorObject
    ) {
        self.error = error
    }

    public init(jsonValue: JSONValue) throws(WireFault) {
        let reader = try WireReader(jsonValue)
        self.error = try reader.required("error")
    }

    public var jsonValue: JSONValue {
        var writer = WireWriter()
        writer.required("error", self.error)
        return writer.jsonValue
    }
}
