import Foundation
import MLCSwift

/// The tools that come with the app.
public enum BuiltInTool: String, Hashable, Sendable, CaseIterable {
    case calculator
    case clock

    /// What the model reads when the user does not allow a call.
    public static let refusal = #"{"error":"the user did not allow this call"}"#

    /// What the model reads about the tool.
    public var definition: ChatCompletionTool {
        let (about, parameter, words): (String, String, String) =
            switch self {
            case .calculator:
                (
                    "Computes an arithmetic expression. Use it for every calculation.",
                    "expression",
                    "For example 2 * (3 + sqrt(16)). There are + - * / % ^ and brackets."
                )
            case .clock:
                (
                    "Tells the current date and time.", "time_zone",
                    "An IANA name such as Europe/Berlin. Absent: the user's own time zone."
                )
            }
        let property: JSONValue = ["type": "string", "description": .string(words)]
        let required: JSONValue = self == .calculator ? ["expression"] : []
        return ChatCompletionTool(
            function: FunctionDefinition(
                name: self.rawValue, description: about,
                parameters: [
                    "type": "object", "properties": [parameter: property], "required": required,
                    "additionalProperties": false,
                ]))
    }

    /// Runs a call that the user allowed. Returns the text for the model; a mistake is a text too.
    public static func run(
        name: String, arguments: String, now: Date = Date(), ownZone: TimeZone = .current
    ) -> String {
        do throws(ToolMistake) {
            guard let tool = Self(rawValue: name) else {
                throw ToolMistake("there is no tool '\(name)'")
            }
            let members = try self.members(arguments)
            let result =
                switch tool {
                case .calculator: try self.compute(members)
                case .clock: try Clock.read(members["time_zone"], now: now, ownZone: ownZone)
                }
            return self.text(result)
        } catch {
            return self.text(["error": .string(error.why)])
        }
    }

    private static func members(_ arguments: String) throws(ToolMistake) -> JSONValue {
        guard let value = try? JSONValue(jsonText: arguments.isEmpty ? "{}" : arguments) else {
            throw ToolMistake("the arguments are not JSON")
        }
        guard value.kind == .object else {
            throw ToolMistake("the arguments are not a JSON object")
        }
        return value
    }

    private static func compute(_ members: JSONValue) throws(ToolMistake) -> JSONValue {
        guard let expression = members["expression"]?.stringValue else {
            throw ToolMistake("'expression' must be a text")
        }
        let value = try Calculator.evaluate(expression)
        // Numbers that a Double holds exactly are written without a fraction.
        let whole = abs(value) < 9_007_199_254_740_992 ? Int(exactly: value) : nil
        return ["result": whole.map { .int($0) } ?? .double(value)]
    }

    private static func text(_ value: JSONValue) -> String {
        (try? value.jsonText()) ?? #"{"error":"the result cannot be written"}"#
    }
}

/// The current date and time in a zone.
enum Clock {
    static func read(
        _ zone: JSONValue?, now: Date, ownZone: TimeZone
    ) throws(ToolMistake) -> JSONValue {
        let (found, name) = try self.zone(zone ?? .null, ownZone)
        return [
            "time": .string(self.text(now, "yyyy-MM-dd'T'HH:mm:ssxxx", found)),
            "weekday": .string(self.text(now, "EEEE", found)),
            "utc": .string(self.text(now, "yyyy-MM-dd'T'HH:mm:ss'Z'", .gmt)),
            "time_zone": .string(name),
        ]
    }

    private static func zone(
        _ value: JSONValue, _ own: TimeZone
    ) throws(ToolMistake) -> (TimeZone, String) {
        switch value {
        case .null: return (own, own.identifier)
        case .string(let name):
            let isKnown = name == "UTC" || TimeZone.knownTimeZoneIdentifiers.contains(name)
            guard isKnown, let zone = TimeZone(identifier: name) else {
                throw ToolMistake("there is no time zone '\(name)'")
            }
            return (zone, name)
        default: throw ToolMistake("'time_zone' must be a text")
        }
    }

    private static func text(_ date: Date, _ pattern: String, _ zone: TimeZone) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = zone
        format.dateFormat = pattern
        return format.string(from: date)
    }
}
