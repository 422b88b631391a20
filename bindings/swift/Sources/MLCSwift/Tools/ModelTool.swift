import Foundation

/// A function that a model may call, with its description for the model.
///
///     struct City: Decodable { let name: String }
///     let population = try ModelTool(name: "population", description: "How many people live there.") {
///         (city: City) in try await register.people(in: city.name)
///     }
///     let run = try await engine.chat.completions.runTools(
///         [population], ChatCompletionRequest(messages: messages))
public struct ModelTool: Sendable {
    public let definition: FunctionDefinition
    /// Reads the arguments' JSON. Returns a function to call, whose result is the text for the
    /// model.
    let bind: @Sendable (String) throws -> @Sendable () async throws -> String

    /// A function whose arguments are a type's properties; see ``JSONSchemaConvertible`` for types
    /// whose schema cannot be found. A text result goes to the model unchanged, any other result as
    /// JSON.
    public init<Arguments: Decodable & Sendable, Result: Encodable & Sendable>(
        name: String, description: String? = nil,
        _ function: @escaping @Sendable (Arguments) async throws -> Result
    ) throws(MLCError) {
        self.definition = try FunctionDefinition(
            name: name, description: description, parameters: Arguments.self)
        self.bind = { text in
            let values = try arguments(Arguments.self, text)
            return { try resultText(try await function(values)) }
        }
    }

    /// A function that reads its arguments by itself; `parameters` is their JSON Schema.
    public init(
        name: String, description: String? = nil, parameters: JSONObject,
        _ function: @escaping @Sendable (JSONValue) async throws -> String
    ) {
        self.definition = FunctionDefinition(
            name: name, description: description, parameters: parameters, strict: true)
        self.bind = { text in
            let values = try jsonArguments(text)
            return { try await function(values) }
        }
    }
}

/// The model's arguments are not those of the function.
private struct UnfitArguments: Error, CustomStringConvertible {
    let description: String
}

private func jsonArguments(_ text: String) throws -> JSONValue {
    do {
        return try JSONValue(jsonText: text.isEmpty ? "{}" : text)
    } catch {
        throw UnfitArguments(description: error.message)
    }
}

private func arguments<T: Decodable>(_ type: T.Type, _ text: String) throws -> T {
    do {
        return try JSONDecoder().decode(type, from: Data((text.isEmpty ? "{}" : text).utf8))
    } catch let error as DecodingError {
        throw UnfitArguments(description: words(of: error))
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
