import Foundation

/// A function that a model may call, with what the model is told of it.
///
///     struct City: Decodable { let name: String }
///     let population = try Tool(name: "population", description: "How many people live there.") {
///         (city: City) in try await register.people(in: city.name)
///     }
///     let run = try await engine.chat.completions.runTools(
///         [population], ChatCompletionRequest(messages: messages))
public struct Tool: Sendable {
    public let definition: FunctionDefinition
    /// From the arguments' JSON to what the model reads of the result.
    let call: @Sendable (String) async throws -> String

    /// A function whose arguments are a type's properties; see ``JSONSchemaConvertible`` for types
    /// whose schema cannot be found out. A result that is a text goes to the model as it is, any
    /// other as JSON.
    public init<Arguments: Decodable & Sendable, Result: Encodable & Sendable>(
        name: String, description: String? = nil,
        _ function: @escaping @Sendable (Arguments) async throws -> Result
    ) throws(MLCError) {
        self.definition = try FunctionDefinition(
            name: name, description: description, parameters: Arguments.self)
        self.call = { text in
            try resultText(try await function(try arguments(Arguments.self, text)))
        }
    }

    /// A function that reads its arguments by itself; `parameters` is their JSON Schema.
    public init(
        name: String, description: String? = nil, parameters: JSONObject,
        _ function: @escaping @Sendable (JSONValue) async throws -> String
    ) {
        self.definition = FunctionDefinition(
            name: name, description: description, parameters: parameters, strict: true)
        self.call = { text in
            try await function(try jsonArguments(text))
        }
    }
}

/// The model's arguments are not those of the function.
private struct UnfitArguments: Error, CustomStringConvertible {
    let why: String
    var description: String { "the arguments do not fit: \(self.why)" }
}

private func jsonArguments(_ text: String) throws -> JSONValue {
    do {
        return try JSONValue(jsonText: text.isEmpty ? "{}" : text)
    } catch {
        throw UnfitArguments(why: error.message)
    }
}

private func arguments<T: Decodable>(_ type: T.Type, _ text: String) throws -> T {
    do {
        return try JSONDecoder().decode(type, from: Data((text.isEmpty ? "{}" : text).utf8))
    } catch let error as DecodingError {
        throw UnfitArguments(why: words(of: error))
    }
}

private func words(of error: DecodingError) -> String {
    let context =
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context), .dataCorrupted(let context):
            context
        @unknown default: nil as DecodingError.Context?
        }
    guard let context else { return "\(error)" }
    let path = context.codingPath.map(\.stringValue).joined(separator: ".")
    return (path.isEmpty ? "" : path + ": ") + context.debugDescription
}

private func resultText(_ result: some Encodable) throws -> String {
    if let text = result as? String { return text }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(result), as: UTF8.self)
}
