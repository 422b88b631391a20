// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The `create`, `stream` and `complete` of each route. Their parameters are described where they
// are kept: at the properties of the request.

/// `ChatCompletions`: sends a ``ChatCompletionRequest``, which describes the parameters.
public struct ChatCompletions: Sendable {
    let channel: RequestChannel

    /// Chunks in order. A failure does not throw: it is the last element, whose `error` says what
    /// went wrong. Cancelling the task or leaving the loop ends the request. `stream` is here for
    /// calls that name it; without it there is `complete`.
    public func create(
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
        stream: Bool = true,
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
    ) async -> AsyncStream<StreamElement<ChatCompletionChunk>> {
        let request = ChatCompletionRequest(
            messages: messages,
            model: model,
            frequency_penalty: frequency_penalty,
            presence_penalty: presence_penalty,
            logprobs: logprobs,
            top_logprobs: top_logprobs,
            logit_bias: logit_bias,
            max_tokens: max_tokens,
            n: n,
            seed: seed,
            stop: stop,
            stream: stream,
            stream_options: stream_options,
            temperature: temperature,
            top_p: top_p,
            tools: tools,
            user: user,
            response_format: response_format,
            max_completion_tokens: max_completion_tokens,
            top_k: top_k,
            min_p: min_p,
            repetition_penalty: repetition_penalty,
            top_n_sigma: top_n_sigma,
            xtc_probability: xtc_probability,
            xtc_threshold: xtc_threshold,
            dry_multiplier: dry_multiplier,
            dry_base: dry_base,
            dry_allowed_length: dry_allowed_length,
            dry_penalty_last_n: dry_penalty_last_n,
            dry_sequence_breakers: dry_sequence_breakers,
            tool_choice: tool_choice,
            parallel_tool_calls: parallel_tool_calls,
            reasoning_effort: reasoning_effort,
            reasoning_budget: reasoning_budget,
            chat_template_kwargs: chat_template_kwargs,
            logit_processor: logit_processor,
            lora: lora,
            priority: priority,
            timeout_ms: timeout_ms,
            usage_extra: usage_extra,
            timings_per_token: timings_per_token,
            return_progress: return_progress,
            debug_config: debug_config,
            metadata: metadata,
            store: store,
            service_tier: service_tier,
            modalities: modalities,
            audio: audio,
            prediction: prediction,
            web_search_options: web_search_options,
            functions: functions,
            function_call: function_call
        )
        guard stream else { return .failed(.needsStream("stream"), request) }
        return await self.create(request)
    }

    /// Chunks in order; a failure throws an ``MLCError``. The request is sent when the first chunk
    /// is asked for. Leaving the loop ends it; so does cancelling the task, and then the stream ends
    /// without an error.
    public func stream(
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
    ) -> AsyncThrowingStream<ChatCompletionChunk, any Error> {
        self.stream(
            ChatCompletionRequest(
                messages: messages,
                model: model,
                frequency_penalty: frequency_penalty,
                presence_penalty: presence_penalty,
                logprobs: logprobs,
                top_logprobs: top_logprobs,
                logit_bias: logit_bias,
                max_tokens: max_tokens,
                n: n,
                seed: seed,
                stop: stop,
                stream_options: stream_options,
                temperature: temperature,
                top_p: top_p,
                tools: tools,
                user: user,
                response_format: response_format,
                max_completion_tokens: max_completion_tokens,
                top_k: top_k,
                min_p: min_p,
                repetition_penalty: repetition_penalty,
                top_n_sigma: top_n_sigma,
                xtc_probability: xtc_probability,
                xtc_threshold: xtc_threshold,
                dry_multiplier: dry_multiplier,
                dry_base: dry_base,
                dry_allowed_length: dry_allowed_length,
                dry_penalty_last_n: dry_penalty_last_n,
                dry_sequence_breakers: dry_sequence_breakers,
                tool_choice: tool_choice,
                parallel_tool_calls: parallel_tool_calls,
                reasoning_effort: reasoning_effort,
                reasoning_budget: reasoning_budget,
                chat_template_kwargs: chat_template_kwargs,
                logit_processor: logit_processor,
                lora: lora,
                priority: priority,
                timeout_ms: timeout_ms,
                usage_extra: usage_extra,
                timings_per_token: timings_per_token,
                return_progress: return_progress,
                debug_config: debug_config,
                metadata: metadata,
                store: store,
                service_tier: service_tier,
                modalities: modalities,
                audio: audio,
                prediction: prediction,
                web_search_options: web_search_options,
                functions: functions,
                function_call: function_call
            ))
    }

    /// The whole answer; a failure throws an ``MLCError``. Cancelling the task ends the request with
    /// a `CancellationError`.
    public func complete(
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
    ) async throws -> ChatCompletion {
        try await self.complete(
            ChatCompletionRequest(
                messages: messages,
                model: model,
                frequency_penalty: frequency_penalty,
                presence_penalty: presence_penalty,
                logprobs: logprobs,
                top_logprobs: top_logprobs,
                logit_bias: logit_bias,
                max_tokens: max_tokens,
                n: n,
                seed: seed,
                stop: stop,
                stream_options: stream_options,
                temperature: temperature,
                top_p: top_p,
                tools: tools,
                user: user,
                response_format: response_format,
                max_completion_tokens: max_completion_tokens,
                top_k: top_k,
                min_p: min_p,
                repetition_penalty: repetition_penalty,
                top_n_sigma: top_n_sigma,
                xtc_probability: xtc_probability,
                xtc_threshold: xtc_threshold,
                dry_multiplier: dry_multiplier,
                dry_base: dry_base,
                dry_allowed_length: dry_allowed_length,
                dry_penalty_last_n: dry_penalty_last_n,
                dry_sequence_breakers: dry_sequence_breakers,
                tool_choice: tool_choice,
                parallel_tool_calls: parallel_tool_calls,
                reasoning_effort: reasoning_effort,
                reasoning_budget: reasoning_budget,
                chat_template_kwargs: chat_template_kwargs,
                logit_processor: logit_processor,
                lora: lora,
                priority: priority,
                timeout_ms: timeout_ms,
                usage_extra: usage_extra,
                timings_per_token: timings_per_token,
                return_progress: return_progress,
                debug_config: debug_config,
                metadata: metadata,
                store: store,
                service_tier: service_tier,
                modalities: modalities,
                audio: audio,
                prediction: prediction,
                web_search_options: web_search_options,
                functions: functions,
                function_call: function_call
            ))
    }

    /// The same as `create(...)`, for a request that is made already.
    public func create(
        _ request: ChatCompletionRequest
    ) async -> AsyncStream<StreamElement<ChatCompletionChunk>> {
        var request = request
        request.stream = true
        return await self.channel.elements("chat.completions", request)
    }

    /// The same as `stream(...)`, for a request that is made already.
    public func stream(
        _ request: ChatCompletionRequest
    ) -> AsyncThrowingStream<ChatCompletionChunk, any Error> {
        var request = request
        request.stream = true
        return self.channel.chunks("chat.completions", request)
    }

    /// The same as `complete(...)`, for a request that is made already.
    public func complete(_ request: ChatCompletionRequest) async throws -> ChatCompletion {
        var request = request
        request.stream = false
        return try await self.channel.result("chat.completions", request)
    }
}

/// `Completions`: sends a ``CompletionRequest``, which describes the parameters.
public struct Completions: Sendable {
    let channel: RequestChannel

    /// Chunks in order. A failure does not throw: it is the last element, whose `error` says what
    /// went wrong. Cancelling the task or leaving the loop ends the request. `stream` is here for
    /// calls that name it; without it there is `complete`.
    public func create(
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
        stream: Bool = true,
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
    ) async -> AsyncStream<StreamElement<Completion>> {
        let request = CompletionRequest(
            prompt: prompt,
            model: model,
            frequency_penalty: frequency_penalty,
            presence_penalty: presence_penalty,
            logprobs: logprobs,
            logit_bias: logit_bias,
            max_tokens: max_tokens,
            n: n,
            seed: seed,
            stop: stop,
            stream: stream,
            stream_options: stream_options,
            temperature: temperature,
            top_p: top_p,
            user: user,
            response_format: response_format,
            suffix: suffix,
            echo: echo,
            best_of: best_of,
            top_k: top_k,
            min_p: min_p,
            repetition_penalty: repetition_penalty,
            top_n_sigma: top_n_sigma,
            xtc_probability: xtc_probability,
            xtc_threshold: xtc_threshold,
            dry_multiplier: dry_multiplier,
            dry_base: dry_base,
            dry_allowed_length: dry_allowed_length,
            dry_penalty_last_n: dry_penalty_last_n,
            dry_sequence_breakers: dry_sequence_breakers,
            logit_processor: logit_processor,
            lora: lora,
            priority: priority,
            timeout_ms: timeout_ms,
            timings_per_token: timings_per_token,
            return_progress: return_progress,
            debug_config: debug_config
        )
        guard stream else { return .failed(.needsStream("stream"), request) }
        return await self.create(request)
    }

    /// Chunks in order; a failure throws an ``MLCError``. The request is sent when the first chunk
    /// is asked for. Leaving the loop ends it; so does cancelling the task, and then the stream ends
    /// without an error.
    public func stream(
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
    ) -> AsyncThrowingStream<Completion, any Error> {
        self.stream(
            CompletionRequest(
                prompt: prompt,
                model: model,
                frequency_penalty: frequency_penalty,
                presence_penalty: presence_penalty,
                logprobs: logprobs,
                logit_bias: logit_bias,
                max_tokens: max_tokens,
                n: n,
                seed: seed,
                stop: stop,
                stream_options: stream_options,
                temperature: temperature,
                top_p: top_p,
                user: user,
                response_format: response_format,
                suffix: suffix,
                echo: echo,
                best_of: best_of,
                top_k: top_k,
                min_p: min_p,
                repetition_penalty: repetition_penalty,
                top_n_sigma: top_n_sigma,
                xtc_probability: xtc_probability,
                xtc_threshold: xtc_threshold,
                dry_multiplier: dry_multiplier,
                dry_base: dry_base,
                dry_allowed_length: dry_allowed_length,
                dry_penalty_last_n: dry_penalty_last_n,
                dry_sequence_breakers: dry_sequence_breakers,
                logit_processor: logit_processor,
                lora: lora,
                priority: priority,
                timeout_ms: timeout_ms,
                timings_per_token: timings_per_token,
                return_progress: return_progress,
                debug_config: debug_config
            ))
    }

    /// The whole answer; a failure throws an ``MLCError``. Cancelling the task ends the request with
    /// a `CancellationError`.
    public func complete(
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
    ) async throws -> Completion {
        try await self.complete(
            CompletionRequest(
                prompt: prompt,
                model: model,
                frequency_penalty: frequency_penalty,
                presence_penalty: presence_penalty,
                logprobs: logprobs,
                logit_bias: logit_bias,
                max_tokens: max_tokens,
                n: n,
                seed: seed,
                stop: stop,
                stream_options: stream_options,
                temperature: temperature,
                top_p: top_p,
                user: user,
                response_format: response_format,
                suffix: suffix,
                echo: echo,
                best_of: best_of,
                top_k: top_k,
                min_p: min_p,
                repetition_penalty: repetition_penalty,
                top_n_sigma: top_n_sigma,
                xtc_probability: xtc_probability,
                xtc_threshold: xtc_threshold,
                dry_multiplier: dry_multiplier,
                dry_base: dry_base,
                dry_allowed_length: dry_allowed_length,
                dry_penalty_last_n: dry_penalty_last_n,
                dry_sequence_breakers: dry_sequence_breakers,
                logit_processor: logit_processor,
                lora: lora,
                priority: priority,
                timeout_ms: timeout_ms,
                timings_per_token: timings_per_token,
                return_progress: return_progress,
                debug_config: debug_config
            ))
    }

    /// The same as `create(...)`, for a request that is made already.
    public func create(
        _ request: CompletionRequest
    ) async -> AsyncStream<StreamElement<Completion>> {
        var request = request
        request.stream = true
        return await self.channel.elements("completions", request)
    }

    /// The same as `stream(...)`, for a request that is made already.
    public func stream(
        _ request: CompletionRequest
    ) -> AsyncThrowingStream<Completion, any Error> {
        var request = request
        request.stream = true
        return self.channel.chunks("completions", request)
    }

    /// The same as `complete(...)`, for a request that is made already.
    public func complete(_ request: CompletionRequest) async throws -> Completion {
        var request = request
        request.stream = false
        return try await self.channel.result("completions", request)
    }
}

/// `Embeddings`: sends a ``EmbeddingRequest``, which describes the parameters.
public struct Embeddings: Sendable {
    let channel: RequestChannel

    /// The answer; a failure throws an ``MLCError``. Cancelling the task ends the request with a
    /// `CancellationError`.
    public func create(
        input: PromptInput,
        model: String? = nil,
        user: String? = nil,
        encoding_format: EmbeddingEncoding = .float,
        dimensions: Int? = nil,
        priority: Int? = nil,
        timeout_ms: Int? = nil
    ) async throws -> EmbeddingResponse {
        try await self.create(
            EmbeddingRequest(
                input: input,
                model: model,
                user: user,
                encoding_format: encoding_format,
                dimensions: dimensions,
                priority: priority,
                timeout_ms: timeout_ms
            ))
    }

    /// The same, for a request that is made already.
    public func create(_ request: EmbeddingRequest) async throws -> EmbeddingResponse {
        try await self.channel.result("embeddings", request)
    }
}

/// `Rerank`: sends a ``RerankRequest``, which describes the parameters.
public struct Rerank: Sendable {
    let channel: RequestChannel

    /// The answer; a failure throws an ``MLCError``. Cancelling the task ends the request with a
    /// `CancellationError`.
    public func create(
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
    ) async throws -> RerankResponse {
        try await self.create(
            RerankRequest(
                query: query,
                documents: documents,
                model: model,
                top_n: top_n,
                return_documents: return_documents,
                max_tokens_per_doc: max_tokens_per_doc,
                truncate: truncate,
                raw_scores: raw_scores,
                priority: priority,
                timeout_ms: timeout_ms
            ))
    }

    /// The same, for a request that is made already.
    public func create(_ request: RerankRequest) async throws -> RerankResponse {
        try await self.channel.result("rerank", request)
    }
}

extension MLCEngine {
    /// `tokenize`: one answer, all at once; a failure throws an ``MLCError``.
    public func tokenize(_ request: TokenizeRequest) async throws -> TokenizeResponse {
        try await self.channel.result("tokenize", request)
    }
    /// `detokenize`: one answer, all at once; a failure throws an ``MLCError``.
    public func detokenize(_ request: DetokenizeRequest) async throws -> DetokenizeResponse {
        try await self.channel.result("detokenize", request)
    }
    /// `render`: one answer, all at once; a failure throws an ``MLCError``.
    public func render(_ request: ChatCompletionRequest) async throws -> RenderResponse {
        try await self.channel.result("render", request)
    }
    /// `inputTokens`: one answer, all at once; a failure throws an ``MLCError``.
    public func inputTokens(_ request: ChatCompletionRequest) async throws -> InputTokensResponse {
        try await self.channel.result("input_tokens", request)
    }
    /// `kvSave`: one answer, all at once; a failure throws an ``MLCError``.
    public func kvSave(_ request: KVSaveRequest) async throws -> KVSaveResponse {
        try await self.channel.result("kv.save", request)
    }
    /// `kvLoad`: one answer, all at once; a failure throws an ``MLCError``.
    public func kvLoad(_ request: KVLoadRequest) async throws -> KVLoadResponse {
        try await self.channel.result("kv.load", request)
    }
    /// `kvHeld`: one answer, all at once; a failure throws an ``MLCError``.
    public func kvHeld(_ request: KVHeldRequest) async throws -> KVHeldResponse {
        try await self.channel.result("kv.held", request)
    }
    /// `memoryTrim`: one answer, all at once; a failure throws an ``MLCError``.
    public func memoryTrim(_ request: TrimRequest) async throws -> TrimResponse {
        try await self.channel.result("memory.trim", request)
    }
    /// `prewarm`: one answer, all at once; a failure throws an ``MLCError``.
    public func prewarm(_ request: PrewarmRequest) async throws -> PrewarmResponse {
        try await self.channel.result("prewarm", request)
    }
    /// `thermalSet`: one answer, all at once; a failure throws an ``MLCError``.
    public func thermalSet(_ request: ThermalHint) async throws -> ThermalLimits {
        try await self.channel.result("thermal.set", request)
    }
    /// `adaptersLoad`: one answer, all at once; a failure throws an ``MLCError``.
    public func adaptersLoad(_ request: AdapterLoadRequest) async throws -> AdapterList {
        try await self.channel.result("adapters.load", request)
    }
    /// `adaptersUnload`: one answer, all at once; a failure throws an ``MLCError``.
    public func adaptersUnload(_ request: AdapterUnloadRequest) async throws -> AdapterList {
        try await self.channel.result("adapters.unload", request)
    }
    /// `adaptersList`: one answer, all at once; a failure throws an ``MLCError``.
    public func adaptersList(_ request: AdapterListRequest) async throws -> AdapterList {
        try await self.channel.result("adapters.list", request)
    }
}
