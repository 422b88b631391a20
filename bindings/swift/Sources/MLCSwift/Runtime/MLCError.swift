import CMLCLLM
import Foundation

/// An error with OpenAI's fields. `message` also says what to do.
public struct MLCError: Error, Hashable, Sendable {
    /// The kinds of errors that a program may want to handle differently.
    public enum Kind: String, Hashable, Sendable {
        /// The request is wrong.
        case invalidRequest = "invalid_request"
        /// A model or file does not exist at the given place.
        case notFound = "not_found"
        /// A file is damaged or is not of its format.
        case corruptFile = "corrupt_file"
        /// Valid input that this version does not handle.
        case unsupported
        /// Memory or another resource has run out.
        case outOfResources = "out_of_resources"
        /// The queue is full; try again later.
        case rateLimited = "queue_full"
        /// The request was ended by `reset`, not by its own task.
        case cancelled = "request_cancelled"
        /// Not available now: no model is loaded, or the engine is shutting down.
        case unavailable
        /// The request took longer than its time limit.
        case deadlineExceeded = "timeout"
        /// A typed answer ended before it was a whole value: give it more tokens. Python's
        /// `UnfinishedAnswerError`.
        case unfinishedAnswer = "unfinished_answer"
        /// A bug in this engine.
        case internalError = "internal_error"
    }

    public let kind: Kind
    public let message: String
    /// The class of the error on the wire, such as `invalid_request_error`.
    public let type: String
    /// The path of the field or the file at fault, such as `messages[2].content`.
    public let param: String?
    /// A short machine-readable reason, such as `context_length_exceeded`.
    public let code: String?

    init(_ kind: Kind, _ message: String, param: String? = nil, code: String? = nil) {
        self.kind = kind
        self.message = message
        self.type = Self.type(of: kind)
        self.param = param
        self.code = code ?? kind.rawValue
    }

    /// An error as the core writes it.
    public init(_ error: ErrorObject) {
        self.kind = Self.kind(code: error.code, type: error.type)
        self.message = error.message
        self.type = error.type
        self.param = error.param
        self.code = error.code
    }

    /// The error in OpenAI's form.
    public var response: ErrorResponse {
        ErrorResponse(
            error: ErrorObject(
                message: self.message, type: self.type, param: self.param, code: self.code))
    }

    private static func type(of kind: Kind) -> String {
        switch kind {
        case .invalidRequest, .corruptFile, .unsupported: "invalid_request_error"
        case .notFound: "not_found_error"
        case .rateLimited: "rate_limit_error"
        default: "server_error"
        }
    }

    /// The kind of an error that came as JSON, from its code, or else from its type.
    private static func kind(code: String?, type: String) -> Kind {
        switch code {
        case "corrupt_file": return .corruptFile
        case "unsupported", "unsupported_parameter": return .unsupported
        case "queue_full": return .rateLimited
        case "out_of_resources": return .outOfResources
        case "request_cancelled": return .cancelled
        case "unavailable", "device_lost", "model_unloaded", "model_not_loaded":
            return .unavailable
        case "timeout", "deadline_exceeded": return .deadlineExceeded
        case "unfinished_answer": return .unfinishedAnswer
        default: break
        }
        switch type {
        case "invalid_request_error": return .invalidRequest
        case "not_found_error": return .notFound
        case "rate_limit_error": return .rateLimited
        default: return .internalError
        }
    }
}

extension MLCError: CustomStringConvertible, LocalizedError {
    public var description: String { self.message }
    public var errorDescription: String? { self.message }
}

extension MLCError {
    /// The error event that ends a request.
    package init(event utf8: [UInt8]) {
        do {
            self.init(try ErrorResponse(utf8: utf8).error)
        } catch {
            self.init(.internalError, "the engine failed, and its error cannot be read: \(error)")
        }
    }

    /// The error for a status of the core; nil for success. Frees the status.
    init?(consuming status: OpaquePointer?) {
        guard let status else { return nil }
        defer { mlc_status_free(status) }
        self.init(event: Array(String(cString: mlc_status_get_error_json(status)).utf8))
    }

    /// The error for an answer of the core that this binding cannot read.
    static func unreadable(_ error: MLCError) -> MLCError {
        MLCError(
            .internalError, "the engine's answer cannot be read: \(error.message)",
            param: error.param, code: "unreadable_answer")
    }

    static func needsStream(_ param: String) -> MLCError {
        MLCError(
            .invalidRequest, "create gives a stream; call complete for the whole answer",
            param: param)
    }
}
