import Foundation

// Answers and tool arguments as values of the program's own types.
//
//     struct Country: Decodable { let name: String; let population: Int }
//     let country = try await engine.chat.completions.complete(
//         Country.self, ChatCompletionRequest(messages: messages))
//
// To find a type's schema, the type decodes itself from no data. That works for structs and
// classes with synthesized or plain `init(from:)`, optionals, arrays, sets, dictionaries with String
// keys, enums that are CaseIterable with String or Int raw values, and types that contain
// themselves in an array or an optional. It does not for enums with payloads, nested containers,
// superclasses and types that refuse empty values: those conform to `JSONSchemaConvertible`.

extension JSONObject {
    /// The JSON Schema of a type.
    public static func schema<T: Decodable>(of type: T.Type) throws(MLCError) -> JSONObject {
        do {
            return try SchemaProbe.schema(of: type)
        } catch let error as MLCError {
            throw error
        } catch {
            throw undescribable(type, "\(error)")
        }
    }
}

extension ResponseFormat {
    /// JSON that decodes to a type.
    public static func json<T: Decodable>(_ type: T.Type) throws(MLCError) -> ResponseFormat {
        let words = "\(type)".unicodeScalars.map { scalar in
            scalar.properties.isAlphabetic && scalar.isASCII ? Character(scalar) : "_"
        }
        let schema = try JSONObject.schema(of: type)
        return .jsonSchema(
            ResponseFormatJSONSchema(
                json_schema: JSONSchema(
                    name: String(words.prefix(64)), schema: schema, strict: true)))
    }
}

extension ChatCompletion {
    /// The answer as a value. Throws an ``MLCError`` of the kind `unfinishedAnswer` when the answer
    /// is not complete, and of another kind when there is no text.
    public func decode<T: Decodable>(_ type: T.Type, choice: Int = 0) throws -> T {
        guard self.choices.indices.contains(choice),
            let text = self.choices[choice].message.content
        else {
            throw MLCError(
                .invalidRequest, "answer \(choice) has no text", param: "choices[\(choice)]")
        }
        do {
            return try JSONDecoder().decode(type, from: Data(text.utf8))
        } catch let error as DecodingError {
            let reason = self.choices[choice].finish_reason
            throw MLCError(
                .unfinishedAnswer,
                "answer \(choice) (finish_reason \(reason)) is no whole \(type): \(error); "
                    + "give it more tokens",
                param: "choices[\(choice)]")
        }
    }
}

extension ChatCompletions {
    /// Asks for a value of a type, and decodes it.
    public func complete<T: Decodable>(
        _ type: T.Type, _ request: ChatCompletionRequest
    ) async throws -> T {
        var request = request
        request.response_format = try .json(type)
        return try await self.complete(request).decode(type)
    }
}

extension FunctionDefinition {
    /// A function whose arguments are a type's properties.
    public init<T: Decodable>(
        name: String, description: String? = nil, parameters: T.Type
    ) throws(MLCError) {
        self.init(
            name: name, description: description,
            parameters: try JSONObject.schema(of: parameters), strict: true)
    }
}

extension FunctionCall {
    /// The arguments as a value.
    public func decodeArguments<T: Decodable>(_ type: T.Type) throws -> T {
        try JSONDecoder().decode(type, from: Data(self.arguments.utf8))
    }
}
