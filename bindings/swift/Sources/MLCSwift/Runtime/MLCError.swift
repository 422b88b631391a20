import CMLCLLM
import Foundation

/// An error with OpenAI's fields. `message` also says what to do.
public struct MLCError: Error, Hashable, Sendable {
    public let kind: Kind
    public let message: String
    /// The class of the error on the wire, such as `invalid_request_error`.
    public let type: String
    /// The path of the field or the file at fault, such as `messages[2].content`.
    public let param: String?
    /// A short machine-readable reason, such as `context_length_exceeded`.
    public let code: String?

    /// The class of the reason; nil: the error does not say it.
    public let status: ErrorStatus?

    init(_ reason: Reason, _ message: String, param: String? = nil) {
        self.init(
            ErrorObject(
                message: message, type: reason.type, param: param, code: reason.rawValue,
                status: reason.status))
    }

    /// An error as the core writes it.
    public init(_ error: ErrorObject) {
        let reason = error.code.flatMap(Reason.init(rawValue:))
        self.kind = reason?.kind ?? Kind(status: error.status, type: error.type)
        self.message = error.message
        self.type = error.type
        self.param = error.param
        self.code = error.code
        self.status = error.status
    }

    /// The reason as a value; nil: this version does not know the `code`.
    public var reason: Reason? { self.code.flatMap(Reason.init(rawValue:)) }

    /// The error in OpenAI's form.
    public var response: ErrorResponse {
        ErrorResponse(
            error: ErrorObject(
                message: self.message, type: self.type, param: self.param, code: self.code,
                status: self.status))
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
            .unreadableAnswer, "the engine's answer cannot be read: \(error.message)",
            param: error.param)
    }

    static func needsStream(_ param: String) -> MLCError {
        MLCError(
            .invalidRequest, "create gives a stream; call complete for the whole answer",
            param: param)
    }
}
