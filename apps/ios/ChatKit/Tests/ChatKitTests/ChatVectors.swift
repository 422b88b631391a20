import Foundation
import MLCSwift
import Testing

@testable import ChatKit

enum ChatVectors {
    static func blocks(_ input: JSONValue) throws -> JSONValue {
        let blocks = MarkdownBlock.blocks(try input.text("text")).map { block -> JSONValue in
            let rows = block.rows.map { JSONValue.array($0.map(JSONValue.string)) }
            return [
                "kind": .string(block.kind.rawValue), "text": .string(block.text),
                "level": block.level > 0 ? .int(block.level) : .null,
                "label": block.label.isEmpty ? .null : .string(block.label),
                "rows": rows.isEmpty ? .null : .array(rows),
            ]
        }
        return ["blocks": .array(blocks)]
    }

    /// The chat of a case, whose members that do not matter are left out.
    private static func chat(_ input: JSONValue) throws -> SavedChat {
        guard case .object(var members)? = input["chat"] else { throw Fault("chat", "is missing") }
        members["id"] = members["id"] ?? "c"
        members["version"] = members["version"] ?? 1
        return try JSONValue.object(members).read(SavedChat.self)
    }

    static func context(_ input: JSONValue) throws -> JSONValue {
        let found = ChatContext(
            try self.chat(input), modelContext: input.int("model_context"), count: \.utf16.count)
        return [
            "limit": .int(found.limit), "prompt_tokens": .int(found.promptTokens),
            "overflows": .bool(found.overflows), "drop": .int(found.drop),
        ]
    }

    static func title(_ input: JSONValue) throws -> JSONValue {
        ["title": .string(try self.chat(input).shownTitle)]
    }

    static func search(_ input: JSONValue) throws -> JSONValue {
        ["found": .bool(try self.chat(input).matches(try input.text("search")))]
    }

    static func markdown(_ input: JSONValue) throws -> JSONValue {
        ["text": .string(ChatExport.markdown(try self.chat(input)))]
    }

    static func fileName(_ input: JSONValue) throws -> JSONValue {
        let ending = try input.text("ending")
        return ["name": .string(ChatExport.fileName(try self.chat(input), ending: ending))]
    }

    static func messages(_ input: JSONValue) throws -> JSONValue {
        ["messages": .array(try self.chat(input).requestMessages.map(\.jsonValue))]
    }

    static func edit(_ input: JSONValue) throws -> JSONValue {
        var chat = try self.chat(input)
        let id = try input.text("id")
        if try input.text("op") == "cut" { chat.cut(at: id) } else { chat.cutAnswer(to: id) }
        return [
            "messages": .array(chat.messages.map { .string($0.id) }), "dropped": .int(chat.dropped),
        ]
    }

    static func pictures(_ input: JSONValue) throws -> JSONValue {
        guard case .array(let events)? = input["events"] else { throw Fault("events", "miss") }
        var (chosen, takes, sent) = (ChosenPictures(), Bool?.none, [JSONValue]())
        for event in events {
            guard case .array(let parts) = event else { continue }
            switch parts[0].stringValue {
            case "model":
                if case .bool(let isSo) = parts[1] { takes = isSo } else { takes = nil }
                chosen.model(takes: takes)
            case "choose": chosen.choose(try #require(parts[1].stringValue), takes: takes)
            case "take_back": chosen.takeBack(try #require(parts[1].intValue))
            default: sent.append(.array(chosen.send(takes: takes).map { .string($0) }))
            }
        }
        return [
            "urls": .array(chosen.urls.map { .string($0) }), "left_out": .int(chosen.leftOut),
            "sent": .array(sent),
        ]
    }

    static func openCalls(_ input: JSONValue) throws -> JSONValue {
        ["calls": .array(try self.chat(input).openCalls.map { .string($0.id) })]
    }

    static func export(_ input: JSONValue) throws -> JSONValue {
        let chats = try (input["chats"] ?? .null).read([SavedChat].self)
        return try JSONValue(jsonText: String(decoding: try ChatExport.json(chats), as: UTF8.self))
    }

    static func read(_ input: JSONValue) throws -> JSONValue {
        let text = try input.text("text")
        do throws(Fault) {
            let found = try ChatExport.read(Data(text.utf8))
            return [
                "chats": .array(found.chats.map { .string($0.id) }), "skipped": .int(found.skipped),
            ]
        } catch {
            return .fault(error)
        }
    }

    static func statistics(_ input: JSONValue) throws -> JSONValue {
        let usage = try (input["usage"] ?? .null).read(CompletionUsage?.self)
        let clock = try (input["times"] ?? .null).read(AnswerClock.self)
        let stats = AnswerStats(usage: usage, clock: clock)
        let line = stats.line(finish: input["finish"]?.stringValue, model: try input.text("model"))
        return ["stats": try .of(stats), "line": .string(line)]
    }
}
