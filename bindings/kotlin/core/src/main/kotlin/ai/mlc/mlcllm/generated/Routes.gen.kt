// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
package ai.mlc.mlcllm

import kotlinx.coroutines.channels.ReceiveChannel
import kotlinx.coroutines.flow.Flow
import kotlinx.serialization.KSerializer
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject

/** "chat.completions". Its functions' parameters are the properties of [ChatCompletionRequest]. */
class ChatCompletions internal constructor(requests: Requests) :
    Route<ChatCompletionRequest, ChatCompletionChunk, ChatCompletion>(
        requests,
        "chat.completions",
        ChatCompletionRequest.serializer(),
        ChatCompletionChunk.serializer(),
        ChatCompletion.serializer(),
    ) {
    override fun streaming(request: ChatCompletionRequest, stream: Boolean): ChatCompletionRequest =
        request.copy(stream = stream)

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
        stream: Boolean = true,
    ): ReceiveChannel<ChatCompletionChunk> {
        checkStreams(stream)
        return create(
            ChatCompletionRequest(
                messages = messages,
                model = model,
                stream_options = stream_options,
                max_tokens = max_tokens,
                max_completion_tokens = max_completion_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                top_logprobs = top_logprobs,
                stop = stop,
                tools = tools,
                tool_choice = tool_choice,
                parallel_tool_calls = parallel_tool_calls,
                response_format = response_format,
                reasoning_effort = reasoning_effort,
                reasoning_budget = reasoning_budget,
                chat_template_kwargs = chat_template_kwargs,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                usage_extra = usage_extra,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
                metadata = metadata,
                store = store,
                service_tier = service_tier,
                modalities = modalities,
                audio = audio,
                prediction = prediction,
                web_search_options = web_search_options,
                functions = functions,
                function_call = function_call,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): Flow<ChatCompletionChunk> = stream(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): ChatCompletion = complete(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: String,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
        stream: Boolean = true,
    ): ReceiveChannel<ChatCompletionChunk> {
        checkStreams(stream)
        return create(
            ChatCompletionRequest(
                messages = messages,
                model = model,
                stream_options = stream_options,
                max_tokens = max_tokens,
                max_completion_tokens = max_completion_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                top_logprobs = top_logprobs,
                stop = StopText(stop),
                tools = tools,
                tool_choice = tool_choice,
                parallel_tool_calls = parallel_tool_calls,
                response_format = response_format,
                reasoning_effort = reasoning_effort,
                reasoning_budget = reasoning_budget,
                chat_template_kwargs = chat_template_kwargs,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                usage_extra = usage_extra,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
                metadata = metadata,
                store = store,
                service_tier = service_tier,
                modalities = modalities,
                audio = audio,
                prediction = prediction,
                web_search_options = web_search_options,
                functions = functions,
                function_call = function_call,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: String,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): Flow<ChatCompletionChunk> = stream(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = StopText(stop),
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: String,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): ChatCompletion = complete(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = StopText(stop),
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: List<String>,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
        stream: Boolean = true,
    ): ReceiveChannel<ChatCompletionChunk> {
        checkStreams(stream)
        return create(
            ChatCompletionRequest(
                messages = messages,
                model = model,
                stream_options = stream_options,
                max_tokens = max_tokens,
                max_completion_tokens = max_completion_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                top_logprobs = top_logprobs,
                stop = StopTexts(stop),
                tools = tools,
                tool_choice = tool_choice,
                parallel_tool_calls = parallel_tool_calls,
                response_format = response_format,
                reasoning_effort = reasoning_effort,
                reasoning_budget = reasoning_budget,
                chat_template_kwargs = chat_template_kwargs,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                usage_extra = usage_extra,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
                metadata = metadata,
                store = store,
                service_tier = service_tier,
                modalities = modalities,
                audio = audio,
                prediction = prediction,
                web_search_options = web_search_options,
                functions = functions,
                function_call = function_call,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: List<String>,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): Flow<ChatCompletionChunk> = stream(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = StopTexts(stop),
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: List<String>,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): ChatCompletion = complete(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = StopTexts(stop),
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
        stream: Boolean = true,
    ): ReceiveChannel<ChatCompletionChunk> {
        checkStreams(stream)
        return create(
            ChatCompletionRequest(
                messages = messages,
                model = model,
                stream_options = stream_options,
                max_tokens = max_tokens,
                max_completion_tokens = max_completion_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                top_logprobs = top_logprobs,
                stop = stop,
                tools = tools,
                tool_choice = tool_choice,
                parallel_tool_calls = parallel_tool_calls,
                response_format = response_format,
                reasoning_effort = reasoning_effort,
                reasoning_budget = reasoning_budget,
                chat_template_kwargs = chat_template_kwargs,
                logit_processor = logit_processor,
                lora = LoraName(lora),
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                usage_extra = usage_extra,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
                metadata = metadata,
                store = store,
                service_tier = service_tier,
                modalities = modalities,
                audio = audio,
                prediction = prediction,
                web_search_options = web_search_options,
                functions = functions,
                function_call = function_call,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): Flow<ChatCompletionChunk> = stream(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = LoraName(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): ChatCompletion = complete(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = LoraName(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
        stream: Boolean = true,
    ): ReceiveChannel<ChatCompletionChunk> {
        checkStreams(stream)
        return create(
            ChatCompletionRequest(
                messages = messages,
                model = model,
                stream_options = stream_options,
                max_tokens = max_tokens,
                max_completion_tokens = max_completion_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                top_logprobs = top_logprobs,
                stop = stop,
                tools = tools,
                tool_choice = tool_choice,
                parallel_tool_calls = parallel_tool_calls,
                response_format = response_format,
                reasoning_effort = reasoning_effort,
                reasoning_budget = reasoning_budget,
                chat_template_kwargs = chat_template_kwargs,
                logit_processor = logit_processor,
                lora = LoraUses(lora),
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                usage_extra = usage_extra,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
                metadata = metadata,
                store = store,
                service_tier = service_tier,
                modalities = modalities,
                audio = audio,
                prediction = prediction,
                web_search_options = web_search_options,
                functions = functions,
                function_call = function_call,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): Flow<ChatCompletionChunk> = stream(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = LoraUses(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        messages: List<ChatCompletionMessage>,
        model: String? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long? = null,
        max_completion_tokens: Long? = null,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Boolean = false,
        top_logprobs: Long? = null,
        stop: Stop? = null,
        tools: List<ChatCompletionTool>? = null,
        tool_choice: ToolChoice? = null,
        parallel_tool_calls: Boolean = true,
        response_format: ResponseFormat? = null,
        reasoning_effort: ReasoningEffort? = null,
        reasoning_budget: Long? = null,
        chat_template_kwargs: JsonObject? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        usage_extra: Boolean? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        metadata: Map<String, String>? = null,
        store: Boolean? = null,
        service_tier: String? = null,
        modalities: List<String>? = null,
        audio: JsonElement? = null,
        prediction: ChatCompletionPrediction? = null,
        web_search_options: JsonElement? = null,
        functions: JsonElement? = null,
        function_call: JsonElement? = null,
    ): ChatCompletion = complete(
        ChatCompletionRequest(
            messages = messages,
            model = model,
            stream_options = stream_options,
            max_tokens = max_tokens,
            max_completion_tokens = max_completion_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            stop = stop,
            tools = tools,
            tool_choice = tool_choice,
            parallel_tool_calls = parallel_tool_calls,
            response_format = response_format,
            reasoning_effort = reasoning_effort,
            reasoning_budget = reasoning_budget,
            chat_template_kwargs = chat_template_kwargs,
            logit_processor = logit_processor,
            lora = LoraUses(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            usage_extra = usage_extra,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
            metadata = metadata,
            store = store,
            service_tier = service_tier,
            modalities = modalities,
            audio = audio,
            prediction = prediction,
            web_search_options = web_search_options,
            functions = functions,
            function_call = function_call,
        ),
    )

    /** Compatibility name: MLC-LLM's function. See [createCompatible]. */
    suspend fun create(
        messages: List<OpenAIProtocol.ChatCompletionMessage>,
        model: String? = null,
        frequency_penalty: Float? = null,
        presence_penalty: Float? = null,
        logprobs: Boolean = false,
        top_logprobs: Int = 0,
        logit_bias: Map<Int, Float>? = null,
        max_tokens: Int? = null,
        n: Int = 1,
        seed: Int? = null,
        stop: List<String>? = null,
        stream: Boolean = true,
        stream_options: OpenAIProtocol.StreamOptions? = null,
        temperature: Float? = null,
        top_p: Float? = null,
        tools: List<OpenAIProtocol.ChatTool>? = null,
        user: String? = null,
        response_format: OpenAIProtocol.ResponseFormat? = null,
    ): ReceiveChannel<OpenAIProtocol.ChatCompletionStreamResponse> = create(
        OpenAIProtocol.ChatCompletionRequest(
            messages = messages,
            model = model,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            logprobs = logprobs,
            top_logprobs = top_logprobs,
            logit_bias = logit_bias,
            max_tokens = max_tokens,
            n = n,
            seed = seed,
            stop = stop,
            stream = stream,
            stream_options = stream_options,
            temperature = temperature,
            top_p = top_p,
            tools = tools,
            user = user,
            response_format = response_format,
        ),
    )

    /** The same, for a request that is made already. */
    suspend fun create(
        request: OpenAIProtocol.ChatCompletionRequest,
    ): ReceiveChannel<OpenAIProtocol.ChatCompletionStreamResponse> = createCompatible(request)
}

/** Makes a [ChatCompletionRequest] in Java, where parameters have no names. */
class ChatCompletionRequestBuilder(
    private val messages: List<ChatCompletionMessage>,
) {
    private var model: String? = null
    private var stream_options: StreamOptions? = null
    private var max_tokens: Long? = null
    private var max_completion_tokens: Long? = null
    private var n: Long = 1
    private var temperature: Double? = null
    private var top_p: Double? = null
    private var top_k: Long? = null
    private var min_p: Double? = null
    private var frequency_penalty: Double? = null
    private var presence_penalty: Double? = null
    private var repetition_penalty: Double? = null
    private var top_n_sigma: Double? = null
    private var xtc_probability: Double? = null
    private var xtc_threshold: Double? = null
    private var dry_multiplier: Double? = null
    private var dry_base: Double? = null
    private var dry_allowed_length: Long? = null
    private var dry_penalty_last_n: Long? = null
    private var dry_sequence_breakers: List<String>? = null
    private var logit_bias: Map<Int, Double>? = null
    private var seed: Long? = null
    private var logprobs: Boolean = false
    private var top_logprobs: Long? = null
    private var stop: Stop? = null
    private var tools: List<ChatCompletionTool>? = null
    private var tool_choice: ToolChoice? = null
    private var parallel_tool_calls: Boolean = true
    private var response_format: ResponseFormat? = null
    private var reasoning_effort: ReasoningEffort? = null
    private var reasoning_budget: Long? = null
    private var chat_template_kwargs: JsonObject? = null
    private var logit_processor: String? = null
    private var lora: Lora? = null
    private var user: String? = null
    private var priority: Long? = null
    private var timeout_ms: Long? = null
    private var usage_extra: Boolean? = null
    private var timings_per_token: Boolean? = null
    private var return_progress: Boolean? = null
    private var debug_config: DebugConfig? = null
    private var metadata: Map<String, String>? = null
    private var store: Boolean? = null
    private var service_tier: String? = null
    private var modalities: List<String>? = null
    private var audio: JsonElement? = null
    private var prediction: ChatCompletionPrediction? = null
    private var web_search_options: JsonElement? = null
    private var functions: JsonElement? = null
    private var function_call: JsonElement? = null

    /** The model to answer. Absent: the engine's own. */
    fun model(model: String?): ChatCompletionRequestBuilder =
        apply { this.model = model }

    /** Options of the stream. */
    fun stream_options(stream_options: StreamOptions?): ChatCompletionRequestBuilder =
        apply { this.stream_options = stream_options }

    /**
     * The longest answer. Absent: 4,096. The end of the context may come first. Range: at
     * least 1. Unit: tokens.
     */
    fun max_tokens(max_tokens: Long?): ChatCompletionRequestBuilder =
        apply { this.max_tokens = max_tokens }

    /**
     * The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`.
     * Range: at least 1. Unit: tokens.
     */
    fun max_completion_tokens(max_completion_tokens: Long?): ChatCompletionRequestBuilder =
        apply { this.max_completion_tokens = max_completion_tokens }

    /**
     * How many answers are generated, each on its own. Range: at least 1 and at most 128.
     * Default: 1.
     */
    fun n(n: Long): ChatCompletionRequestBuilder =
        apply { this.n = n }

    /**
     * How far the choice of tokens strays from the likeliest; 0 always takes the
     * likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
     */
    fun temperature(temperature: Double?): ChatCompletionRequestBuilder =
        apply { this.temperature = temperature }

    /**
     * Keeps the likeliest tokens that together reach this probability; 0 keeps the
     * likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at
     * most 1.
     */
    fun top_p(top_p: Double?): ChatCompletionRequestBuilder =
        apply { this.top_p = top_p }

    /**
     * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
     * default, else 0. Range: at least -1. Unit: tokens.
     */
    fun top_k(top_k: Long?): ChatCompletionRequestBuilder =
        apply { this.top_k = top_k }

    /**
     * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
     * own default, else 0. Range: at least 0 and at most 1.
     */
    fun min_p(min_p: Double?): ChatCompletionRequestBuilder =
        apply { this.min_p = min_p }

    /**
     * Lowers a token's logit by this much for each time it occurs in the answer. Absent:
     * the model's own default, else 0. Range: at least -2 and at most 2.
     */
    fun frequency_penalty(frequency_penalty: Double?): ChatCompletionRequestBuilder =
        apply { this.frequency_penalty = frequency_penalty }

    /**
     * Lowers a token's logit by this much once it occurs in the answer. Absent: the
     * model's own default, else 0. Range: at least -2 and at most 2.
     */
    fun presence_penalty(presence_penalty: Double?): ChatCompletionRequestBuilder =
        apply { this.presence_penalty = presence_penalty }

    /**
     * Divides a positive logit, and multiplies a negative one, of tokens that occurred.
     * Absent: the model's own default, else 1. Range: above 0 and at most 10.
     */
    fun repetition_penalty(repetition_penalty: Double?): ChatCompletionRequestBuilder =
        apply { this.repetition_penalty = repetition_penalty }

    /**
     * Keeps tokens whose logit is at most this many standard deviations below the largest;
     * 0 or less keeps all. Absent: the model's own default, else 0. Range: at least -1 and
     * at most 1000.
     */
    fun top_n_sigma(top_n_sigma: Double?): ChatCompletionRequestBuilder =
        apply { this.top_n_sigma = top_n_sigma }

    /**
     * How often (of 1) the likeliest tokens are excluded, all but the last one that
     * `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
     * at least 0 and at most 1.
     */
    fun xtc_probability(xtc_probability: Double?): ChatCompletionRequestBuilder =
        apply { this.xtc_probability = xtc_probability }

    /**
     * From which probability on `xtc_probability` counts a token among the likeliest; over
     * 0.5 there is no second one. Absent: the model's own default, else 0.1. Range: at
     * least 0 and at most 1.
     */
    fun xtc_threshold(xtc_threshold: Double?): ChatCompletionRequestBuilder =
        apply { this.xtc_threshold = xtc_threshold }

    /**
     * Lowers the logit of a token that would go on with a repetition, in prompt and
     * answer: by this much times `dry_base` to the power of what the repetition is longer
     * than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least
     * 0 and at most 100.
     */
    fun dry_multiplier(dry_multiplier: Double?): ChatCompletionRequestBuilder =
        apply { this.dry_multiplier = dry_multiplier }

    /**
     * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default,
     * else 1.75. Range: at least 1 and at most 100.
     */
    fun dry_base(dry_base: Double?): ChatCompletionRequestBuilder =
        apply { this.dry_base = dry_base }

    /**
     * `dry_multiplier` begins at repetitions of this length. Absent: the model's own
     * default, else 2. Range: at least 1. Unit: tokens.
     */
    fun dry_allowed_length(dry_allowed_length: Long?): ChatCompletionRequestBuilder =
        apply { this.dry_allowed_length = dry_allowed_length }

    /**
     * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all,
     * 0: none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
     */
    fun dry_penalty_last_n(dry_penalty_last_n: Long?): ChatCompletionRequestBuilder =
        apply { this.dry_penalty_last_n = dry_penalty_last_n }

    /**
     * A token that contains one of these texts ends repetitions that `dry_multiplier`
     * counts, as a special token does. Absent: a line's end, a colon, a quotation mark and
     * an asterisk. Length: at least 1. Items: at most 64.
     */
    fun dry_sequence_breakers(dry_sequence_breakers: List<String>?): ChatCompletionRequestBuilder =
        apply { this.dry_sequence_breakers = dry_sequence_breakers }

    /**
     * Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
     * most 100.
     */
    fun logit_bias(logit_bias: Map<Int, Double>?): ChatCompletionRequestBuilder =
        apply { this.logit_bias = logit_bias }

    /**
     * Makes the answer repeatable: equal requests with equal seeds get equal answers.
     * Absent: a random one.
     */
    fun seed(seed: Long?): ChatCompletionRequestBuilder =
        apply { this.seed = seed }

    /** Whether the chosen tokens' log probabilities are returned. Default: false. */
    fun logprobs(logprobs: Boolean): ChatCompletionRequestBuilder =
        apply { this.logprobs = logprobs }

    /**
     * How many of the likeliest tokens are returned at each position; needs `logprobs`.
     * Absent: 0. Range: at least 0 and at most 20. Unit: tokens.
     */
    fun top_logprobs(top_logprobs: Long?): ChatCompletionRequestBuilder =
        apply { this.top_logprobs = top_logprobs }

    /** Texts at which the answer ends, before them. */
    fun stop(stop: Stop?): ChatCompletionRequestBuilder =
        apply { this.stop = stop }

    /** The tools that the model may call. Items: at most 128. */
    fun tools(tools: List<ChatCompletionTool>?): ChatCompletionRequestBuilder =
        apply { this.tools = tools }

    /** Which tools are called. Absent: `auto` with tools, `none` without. */
    fun tool_choice(tool_choice: ToolChoice?): ChatCompletionRequestBuilder =
        apply { this.tool_choice = tool_choice }

    /** Whether one answer may hold several tool calls. Default: true. */
    fun parallel_tool_calls(parallel_tool_calls: Boolean): ChatCompletionRequestBuilder =
        apply { this.parallel_tool_calls = parallel_tool_calls }

    /** The shape that the answer must have. Absent: any text. */
    fun response_format(response_format: ResponseFormat?): ChatCompletionRequestBuilder =
        apply { this.response_format = response_format }

    /** How long a reasoning model thinks before it answers. */
    fun reasoning_effort(reasoning_effort: ReasoningEffort?): ChatCompletionRequestBuilder =
        apply { this.reasoning_effort = reasoning_effort }

    /**
     * The longest that a reasoning model thinks; at the limit its thoughts are ended and
     * the answer goes on. Absent: no limit. An extension of this engine. Range: at least 0
     * and at most 2147483647. Unit: tokens.
     */
    fun reasoning_budget(reasoning_budget: Long?): ChatCompletionRequestBuilder =
        apply { this.reasoning_budget = reasoning_budget }

    /** Further variables for the model's chat template, such as `enable_thinking`. */
    fun chat_template_kwargs(chat_template_kwargs: JsonObject?): ChatCompletionRequestBuilder =
        apply { this.chat_template_kwargs = chat_template_kwargs }

    /**
     * The name of a logit processor that the program has registered with the engine: a
     * function that changes the logits before each token. Absent: none. An extension of
     * this engine.
     */
    fun logit_processor(logit_processor: String?): ChatCompletionRequestBuilder =
        apply { this.logit_processor = logit_processor }

    /**
     * The adapters that change the model for this request. Absent: none. An extension of
     * this engine.
     */
    fun lora(lora: Lora?): ChatCompletionRequestBuilder =
        apply { this.lora = lora }

    /** A label of the end user; it has no effect on the answer. */
    fun user(user: String?): ChatCompletionRequestBuilder =
        apply { this.user = user }

    /**
     * Requests of higher priority are served first and may take the place of running ones
     * of lower priority. Each level is worth ten seconds of waiting, so that nobody waits
     * for ever. Absent: 0. An extension of this engine. Range: at least -100 and at most
     * 100.
     */
    fun priority(priority: Long?): ChatCompletionRequestBuilder =
        apply { this.priority = priority }

    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    fun timeout_ms(timeout_ms: Long?): ChatCompletionRequestBuilder =
        apply { this.timeout_ms = timeout_ms }

    /**
     * Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent:
     * it does in a stream whose `include_usage` is set, as MLC-LLM's. An extension of this
     * engine.
     */
    fun usage_extra(usage_extra: Boolean?): ChatCompletionRequestBuilder =
        apply { this.usage_extra = usage_extra }

    /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
    fun timings_per_token(timings_per_token: Boolean?): ChatCompletionRequestBuilder =
        apply { this.timings_per_token = timings_per_token }

    /**
     * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's.
     * They have no choices.
     */
    fun return_progress(return_progress: Boolean?): ChatCompletionRequestBuilder =
        apply { this.return_progress = return_progress }

    /** Switches for tests and measurements; a server takes them in debug mode only. */
    fun debug_config(debug_config: DebugConfig?): ChatCompletionRequestBuilder =
        apply { this.debug_config = debug_config }

    /** Labels of the caller's own; they have no effect. */
    fun metadata(metadata: Map<String, String>?): ChatCompletionRequestBuilder =
        apply { this.metadata = metadata }

    /** Asks a service to keep the answer; this engine keeps none. */
    fun store(store: Boolean?): ChatCompletionRequestBuilder =
        apply { this.store = store }

    /** A service's price class; it has no effect. */
    fun service_tier(service_tier: String?): ChatCompletionRequestBuilder =
        apply { this.service_tier = service_tier }

    /** The kinds of output that are asked for; only `text` is offered. */
    fun modalities(modalities: List<String>?): ChatCompletionRequestBuilder =
        apply { this.modalities = modalities }

    /** How spoken output sounds; spoken output is not offered. */
    fun audio(audio: JsonElement?): ChatCompletionRequestBuilder =
        apply { this.audio = audio }

    /**
     * A text that the answer will resemble. It makes the answer faster where the two
     * agree, and never changes it.
     */
    fun prediction(prediction: ChatCompletionPrediction?): ChatCompletionRequestBuilder =
        apply { this.prediction = prediction }

    /** A search of the web; not offered. */
    fun web_search_options(web_search_options: JsonElement?): ChatCompletionRequestBuilder =
        apply { this.web_search_options = web_search_options }

    /** The older form of `tools`; use that. */
    fun functions(functions: JsonElement?): ChatCompletionRequestBuilder =
        apply { this.functions = functions }

    /** The older form of `tool_choice`; use that. */
    fun function_call(function_call: JsonElement?): ChatCompletionRequestBuilder =
        apply { this.function_call = function_call }

    /** The request with what was set so far. */
    fun build(): ChatCompletionRequest = ChatCompletionRequest(
        messages = messages,
        model = model,
        stream_options = stream_options,
        max_tokens = max_tokens,
        max_completion_tokens = max_completion_tokens,
        n = n,
        temperature = temperature,
        top_p = top_p,
        top_k = top_k,
        min_p = min_p,
        frequency_penalty = frequency_penalty,
        presence_penalty = presence_penalty,
        repetition_penalty = repetition_penalty,
        top_n_sigma = top_n_sigma,
        xtc_probability = xtc_probability,
        xtc_threshold = xtc_threshold,
        dry_multiplier = dry_multiplier,
        dry_base = dry_base,
        dry_allowed_length = dry_allowed_length,
        dry_penalty_last_n = dry_penalty_last_n,
        dry_sequence_breakers = dry_sequence_breakers,
        logit_bias = logit_bias,
        seed = seed,
        logprobs = logprobs,
        top_logprobs = top_logprobs,
        stop = stop,
        tools = tools,
        tool_choice = tool_choice,
        parallel_tool_calls = parallel_tool_calls,
        response_format = response_format,
        reasoning_effort = reasoning_effort,
        reasoning_budget = reasoning_budget,
        chat_template_kwargs = chat_template_kwargs,
        logit_processor = logit_processor,
        lora = lora,
        user = user,
        priority = priority,
        timeout_ms = timeout_ms,
        usage_extra = usage_extra,
        timings_per_token = timings_per_token,
        return_progress = return_progress,
        debug_config = debug_config,
        metadata = metadata,
        store = store,
        service_tier = service_tier,
        modalities = modalities,
        audio = audio,
        prediction = prediction,
        web_search_options = web_search_options,
        functions = functions,
        function_call = function_call,
    )
}

/** "completions". Its functions' parameters are the properties of [CompletionRequest]. */
class Completions internal constructor(requests: Requests) :
    Route<CompletionRequest, Completion, Completion>(
        requests,
        "completions",
        CompletionRequest.serializer(),
        Completion.serializer(),
        Completion.serializer(),
    ) {
    override fun streaming(request: CompletionRequest, stream: Boolean): CompletionRequest =
        request.copy(stream = stream)

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = prompt,
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: String,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = PromptText(prompt),
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: String,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = PromptText(prompt),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: String,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = PromptText(prompt),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: List<PromptItem>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = PromptItems(prompt),
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: List<PromptItem>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = PromptItems(prompt),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: List<PromptItem>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = PromptItems(prompt),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: String,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = prompt,
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = StopText(stop),
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: String,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = StopText(stop),
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: String,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = StopText(stop),
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: List<String>,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = prompt,
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = StopTexts(stop),
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: List<String>,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = StopTexts(stop),
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: List<String>,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = StopTexts(stop),
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = prompt,
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = LoraName(lora),
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = LoraName(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: String,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = LoraName(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    suspend fun create(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = prompt,
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = LoraUses(lora),
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    fun stream(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = LoraUses(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    suspend fun complete(
        prompt: Prompt,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: List<LoraUse>,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = prompt,
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = LoraUses(lora),
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request; gives its chunks by a channel. See [Route.create]. */
    @JvmName("createOfTexts")
    suspend fun create(
        prompt: List<String>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
        stream: Boolean = true,
    ): ReceiveChannel<Completion> {
        checkStreams(stream)
        return create(
            CompletionRequest(
                prompt = PromptItems(prompt.map(::PromptItemText)),
                model = model,
                suffix = suffix,
                echo = echo,
                best_of = best_of,
                stream_options = stream_options,
                max_tokens = max_tokens,
                n = n,
                temperature = temperature,
                top_p = top_p,
                top_k = top_k,
                min_p = min_p,
                frequency_penalty = frequency_penalty,
                presence_penalty = presence_penalty,
                repetition_penalty = repetition_penalty,
                top_n_sigma = top_n_sigma,
                xtc_probability = xtc_probability,
                xtc_threshold = xtc_threshold,
                dry_multiplier = dry_multiplier,
                dry_base = dry_base,
                dry_allowed_length = dry_allowed_length,
                dry_penalty_last_n = dry_penalty_last_n,
                dry_sequence_breakers = dry_sequence_breakers,
                logit_bias = logit_bias,
                seed = seed,
                logprobs = logprobs,
                stop = stop,
                response_format = response_format,
                logit_processor = logit_processor,
                lora = lora,
                user = user,
                priority = priority,
                timeout_ms = timeout_ms,
                timings_per_token = timings_per_token,
                return_progress = return_progress,
                debug_config = debug_config,
            ),
        )
    }

    /** The chunks of an answer as a cold flow. See [Route.stream]. */
    @JvmName("streamOfTexts")
    fun stream(
        prompt: List<String>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Flow<Completion> = stream(
        CompletionRequest(
            prompt = PromptItems(prompt.map(::PromptItemText)),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )

    /** Sends a request and waits for the whole answer. See [Route.complete]. */
    @JvmName("completeOfTexts")
    suspend fun complete(
        prompt: List<String>,
        model: String? = null,
        suffix: String? = null,
        echo: Boolean = false,
        best_of: Long? = null,
        stream_options: StreamOptions? = null,
        max_tokens: Long = 16,
        n: Long = 1,
        temperature: Double? = null,
        top_p: Double? = null,
        top_k: Long? = null,
        min_p: Double? = null,
        frequency_penalty: Double? = null,
        presence_penalty: Double? = null,
        repetition_penalty: Double? = null,
        top_n_sigma: Double? = null,
        xtc_probability: Double? = null,
        xtc_threshold: Double? = null,
        dry_multiplier: Double? = null,
        dry_base: Double? = null,
        dry_allowed_length: Long? = null,
        dry_penalty_last_n: Long? = null,
        dry_sequence_breakers: List<String>? = null,
        logit_bias: Map<Int, Double>? = null,
        seed: Long? = null,
        logprobs: Long? = null,
        stop: Stop? = null,
        response_format: ResponseFormat? = null,
        logit_processor: String? = null,
        lora: Lora? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
        timings_per_token: Boolean? = null,
        return_progress: Boolean? = null,
        debug_config: DebugConfig? = null,
    ): Completion = complete(
        CompletionRequest(
            prompt = PromptItems(prompt.map(::PromptItemText)),
            model = model,
            suffix = suffix,
            echo = echo,
            best_of = best_of,
            stream_options = stream_options,
            max_tokens = max_tokens,
            n = n,
            temperature = temperature,
            top_p = top_p,
            top_k = top_k,
            min_p = min_p,
            frequency_penalty = frequency_penalty,
            presence_penalty = presence_penalty,
            repetition_penalty = repetition_penalty,
            top_n_sigma = top_n_sigma,
            xtc_probability = xtc_probability,
            xtc_threshold = xtc_threshold,
            dry_multiplier = dry_multiplier,
            dry_base = dry_base,
            dry_allowed_length = dry_allowed_length,
            dry_penalty_last_n = dry_penalty_last_n,
            dry_sequence_breakers = dry_sequence_breakers,
            logit_bias = logit_bias,
            seed = seed,
            logprobs = logprobs,
            stop = stop,
            response_format = response_format,
            logit_processor = logit_processor,
            lora = lora,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
            timings_per_token = timings_per_token,
            return_progress = return_progress,
            debug_config = debug_config,
        ),
    )
}

/** Makes a [CompletionRequest] in Java, where parameters have no names. */
class CompletionRequestBuilder(
    private val prompt: Prompt,
) {
    private var model: String? = null
    private var suffix: String? = null
    private var echo: Boolean = false
    private var best_of: Long? = null
    private var stream_options: StreamOptions? = null
    private var max_tokens: Long = 16
    private var n: Long = 1
    private var temperature: Double? = null
    private var top_p: Double? = null
    private var top_k: Long? = null
    private var min_p: Double? = null
    private var frequency_penalty: Double? = null
    private var presence_penalty: Double? = null
    private var repetition_penalty: Double? = null
    private var top_n_sigma: Double? = null
    private var xtc_probability: Double? = null
    private var xtc_threshold: Double? = null
    private var dry_multiplier: Double? = null
    private var dry_base: Double? = null
    private var dry_allowed_length: Long? = null
    private var dry_penalty_last_n: Long? = null
    private var dry_sequence_breakers: List<String>? = null
    private var logit_bias: Map<Int, Double>? = null
    private var seed: Long? = null
    private var logprobs: Long? = null
    private var stop: Stop? = null
    private var response_format: ResponseFormat? = null
    private var logit_processor: String? = null
    private var lora: Lora? = null
    private var user: String? = null
    private var priority: Long? = null
    private var timeout_ms: Long? = null
    private var timings_per_token: Boolean? = null
    private var return_progress: Boolean? = null
    private var debug_config: DebugConfig? = null

    /** The model to answer. Absent: the engine's own. */
    fun model(model: String?): CompletionRequestBuilder =
        apply { this.model = model }

    /** The text that follows what is inserted. Absent: the text is only continued. */
    fun suffix(suffix: String?): CompletionRequestBuilder =
        apply { this.suffix = suffix }

    /** Whether the answer begins with the prompt. Default: false. */
    fun echo(echo: Boolean): CompletionRequestBuilder =
        apply { this.echo = echo }

    /**
     * How many answers are generated to return the best `n`. Absent: `n`. Range: at least
     * 1 and at most 128.
     */
    fun best_of(best_of: Long?): CompletionRequestBuilder =
        apply { this.best_of = best_of }

    /** Options of the stream. */
    fun stream_options(stream_options: StreamOptions?): CompletionRequestBuilder =
        apply { this.stream_options = stream_options }

    /** The longest answer. Range: at least 0. Default: 16. Unit: tokens. */
    fun max_tokens(max_tokens: Long): CompletionRequestBuilder =
        apply { this.max_tokens = max_tokens }

    /**
     * How many answers are generated, each on its own. Range: at least 1 and at most 128.
     * Default: 1.
     */
    fun n(n: Long): CompletionRequestBuilder =
        apply { this.n = n }

    /**
     * How far the choice of tokens strays from the likeliest; 0 always takes the
     * likeliest. Absent: the model's own default, else 1. Range: at least 0 and at most 2.
     */
    fun temperature(temperature: Double?): CompletionRequestBuilder =
        apply { this.temperature = temperature }

    /**
     * Keeps the likeliest tokens that together reach this probability; 0 keeps the
     * likeliest alone. Absent: the model's own default, else 1. Range: at least 0 and at
     * most 1.
     */
    fun top_p(top_p: Double?): CompletionRequestBuilder =
        apply { this.top_p = top_p }

    /**
     * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own
     * default, else 0. Range: at least -1. Unit: tokens.
     */
    fun top_k(top_k: Long?): CompletionRequestBuilder =
        apply { this.top_k = top_k }

    /**
     * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's
     * own default, else 0. Range: at least 0 and at most 1.
     */
    fun min_p(min_p: Double?): CompletionRequestBuilder =
        apply { this.min_p = min_p }

    /**
     * Lowers a token's logit by this much for each time it occurs in the answer. Absent:
     * the model's own default, else 0. Range: at least -2 and at most 2.
     */
    fun frequency_penalty(frequency_penalty: Double?): CompletionRequestBuilder =
        apply { this.frequency_penalty = frequency_penalty }

    /**
     * Lowers a token's logit by this much once it occurs in the answer. Absent: the
     * model's own default, else 0. Range: at least -2 and at most 2.
     */
    fun presence_penalty(presence_penalty: Double?): CompletionRequestBuilder =
        apply { this.presence_penalty = presence_penalty }

    /**
     * Divides a positive logit, and multiplies a negative one, of tokens that occurred.
     * Absent: the model's own default, else 1. Range: above 0 and at most 10.
     */
    fun repetition_penalty(repetition_penalty: Double?): CompletionRequestBuilder =
        apply { this.repetition_penalty = repetition_penalty }

    /**
     * Keeps tokens whose logit is at most this many standard deviations below the largest;
     * 0 or less keeps all. Absent: the model's own default, else 0. Range: at least -1 and
     * at most 1000.
     */
    fun top_n_sigma(top_n_sigma: Double?): CompletionRequestBuilder =
        apply { this.top_n_sigma = top_n_sigma }

    /**
     * How often (of 1) the likeliest tokens are excluded, all but the last one that
     * `xtc_threshold` counts among them. Absent: the model's own default, else 0. Range:
     * at least 0 and at most 1.
     */
    fun xtc_probability(xtc_probability: Double?): CompletionRequestBuilder =
        apply { this.xtc_probability = xtc_probability }

    /**
     * From which probability on `xtc_probability` counts a token among the likeliest; over
     * 0.5 there is no second one. Absent: the model's own default, else 0.1. Range: at
     * least 0 and at most 1.
     */
    fun xtc_threshold(xtc_threshold: Double?): CompletionRequestBuilder =
        apply { this.xtc_threshold = xtc_threshold }

    /**
     * Lowers the logit of a token that would go on with a repetition, in prompt and
     * answer: by this much times `dry_base` to the power of what the repetition is longer
     * than `dry_allowed_length`. Absent: the model's own default, else 0. Range: at least
     * 0 and at most 100.
     */
    fun dry_multiplier(dry_multiplier: Double?): CompletionRequestBuilder =
        apply { this.dry_multiplier = dry_multiplier }

    /**
     * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default,
     * else 1.75. Range: at least 1 and at most 100.
     */
    fun dry_base(dry_base: Double?): CompletionRequestBuilder =
        apply { this.dry_base = dry_base }

    /**
     * `dry_multiplier` begins at repetitions of this length. Absent: the model's own
     * default, else 2. Range: at least 1. Unit: tokens.
     */
    fun dry_allowed_length(dry_allowed_length: Long?): CompletionRequestBuilder =
        apply { this.dry_allowed_length = dry_allowed_length }

    /**
     * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all,
     * 0: none. Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
     */
    fun dry_penalty_last_n(dry_penalty_last_n: Long?): CompletionRequestBuilder =
        apply { this.dry_penalty_last_n = dry_penalty_last_n }

    /**
     * A token that contains one of these texts ends repetitions that `dry_multiplier`
     * counts, as a special token does. Absent: a line's end, a colon, a quotation mark and
     * an asterisk. Length: at least 1. Items: at most 64.
     */
    fun dry_sequence_breakers(dry_sequence_breakers: List<String>?): CompletionRequestBuilder =
        apply { this.dry_sequence_breakers = dry_sequence_breakers }

    /**
     * Adds to the logits of tokens: from token id to bias. Range: at least -100 and at
     * most 100.
     */
    fun logit_bias(logit_bias: Map<Int, Double>?): CompletionRequestBuilder =
        apply { this.logit_bias = logit_bias }

    /**
     * Makes the answer repeatable: equal requests with equal seeds get equal answers.
     * Absent: a random one.
     */
    fun seed(seed: Long?): CompletionRequestBuilder =
        apply { this.seed = seed }

    /**
     * How many of the likeliest tokens are returned at each position, beside the chosen
     * one. Absent: none. Range: at least 0 and at most 5. Unit: tokens.
     */
    fun logprobs(logprobs: Long?): CompletionRequestBuilder =
        apply { this.logprobs = logprobs }

    /** Texts at which the answer ends, before them. */
    fun stop(stop: Stop?): CompletionRequestBuilder =
        apply { this.stop = stop }

    /** The shape that the answer must have. Absent: any text. */
    fun response_format(response_format: ResponseFormat?): CompletionRequestBuilder =
        apply { this.response_format = response_format }

    /**
     * The name of a logit processor that the program has registered with the engine: a
     * function that changes the logits before each token. Absent: none. An extension of
     * this engine.
     */
    fun logit_processor(logit_processor: String?): CompletionRequestBuilder =
        apply { this.logit_processor = logit_processor }

    /**
     * The adapters that change the model for this request. Absent: none. An extension of
     * this engine.
     */
    fun lora(lora: Lora?): CompletionRequestBuilder =
        apply { this.lora = lora }

    /** A label of the end user; it has no effect on the answer. */
    fun user(user: String?): CompletionRequestBuilder =
        apply { this.user = user }

    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    fun priority(priority: Long?): CompletionRequestBuilder =
        apply { this.priority = priority }

    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    fun timeout_ms(timeout_ms: Long?): CompletionRequestBuilder =
        apply { this.timeout_ms = timeout_ms }

    /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
    fun timings_per_token(timings_per_token: Boolean?): CompletionRequestBuilder =
        apply { this.timings_per_token = timings_per_token }

    /**
     * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's.
     * They have no choices.
     */
    fun return_progress(return_progress: Boolean?): CompletionRequestBuilder =
        apply { this.return_progress = return_progress }

    /** Switches for tests and measurements; a server takes them in debug mode only. */
    fun debug_config(debug_config: DebugConfig?): CompletionRequestBuilder =
        apply { this.debug_config = debug_config }

    /** The request with what was set so far. */
    fun build(): CompletionRequest = CompletionRequest(
        prompt = prompt,
        model = model,
        suffix = suffix,
        echo = echo,
        best_of = best_of,
        stream_options = stream_options,
        max_tokens = max_tokens,
        n = n,
        temperature = temperature,
        top_p = top_p,
        top_k = top_k,
        min_p = min_p,
        frequency_penalty = frequency_penalty,
        presence_penalty = presence_penalty,
        repetition_penalty = repetition_penalty,
        top_n_sigma = top_n_sigma,
        xtc_probability = xtc_probability,
        xtc_threshold = xtc_threshold,
        dry_multiplier = dry_multiplier,
        dry_base = dry_base,
        dry_allowed_length = dry_allowed_length,
        dry_penalty_last_n = dry_penalty_last_n,
        dry_sequence_breakers = dry_sequence_breakers,
        logit_bias = logit_bias,
        seed = seed,
        logprobs = logprobs,
        stop = stop,
        response_format = response_format,
        logit_processor = logit_processor,
        lora = lora,
        user = user,
        priority = priority,
        timeout_ms = timeout_ms,
        timings_per_token = timings_per_token,
        return_progress = return_progress,
        debug_config = debug_config,
    )
}

/** "embeddings". Its functions' parameters are the properties of [EmbeddingRequest]. */
class Embeddings internal constructor(requests: Requests) :
    WholeRoute<EmbeddingRequest, EmbeddingResponse>(
        requests,
        "embeddings",
        EmbeddingRequest.serializer(),
        EmbeddingResponse.serializer(),
    ) {
    /** Sends a request and waits for the answer. See [WholeRoute.create]. */
    suspend fun create(
        input: Prompt,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ): EmbeddingResponse = create(
        EmbeddingRequest(
            input = input,
            model = model,
            encoding_format = encoding_format,
            dimensions = dimensions,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
        ),
    )

    /** Sends a request and waits for the answer. See [WholeRoute.create]. */
    suspend fun create(
        input: String,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ): EmbeddingResponse = create(
        EmbeddingRequest(
            input = PromptText(input),
            model = model,
            encoding_format = encoding_format,
            dimensions = dimensions,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
        ),
    )

    /** Sends a request and waits for the answer. See [WholeRoute.create]. */
    suspend fun create(
        input: List<PromptItem>,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ): EmbeddingResponse = create(
        EmbeddingRequest(
            input = PromptItems(input),
            model = model,
            encoding_format = encoding_format,
            dimensions = dimensions,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
        ),
    )

    /** Sends a request and waits for the answer. See [WholeRoute.create]. */
    @JvmName("createOfTexts")
    suspend fun create(
        input: List<String>,
        model: String? = null,
        encoding_format: EmbeddingEncoding = EmbeddingEncoding.float,
        dimensions: Long? = null,
        user: String? = null,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ): EmbeddingResponse = create(
        EmbeddingRequest(
            input = PromptItems(input.map(::PromptItemText)),
            model = model,
            encoding_format = encoding_format,
            dimensions = dimensions,
            user = user,
            priority = priority,
            timeout_ms = timeout_ms,
        ),
    )
}

/** Makes a [EmbeddingRequest] in Java, where parameters have no names. */
class EmbeddingRequestBuilder(
    private val input: Prompt,
) {
    private var model: String? = null
    private var encoding_format: EmbeddingEncoding = EmbeddingEncoding.float
    private var dimensions: Long? = null
    private var user: String? = null
    private var priority: Long? = null
    private var timeout_ms: Long? = null

    /** The model to use. Absent: the engine's own. */
    fun model(model: String?): EmbeddingRequestBuilder =
        apply { this.model = model }

    /** How the vectors are written. Default: `float`. */
    fun encoding_format(encoding_format: EmbeddingEncoding): EmbeddingRequestBuilder =
        apply { this.encoding_format = encoding_format }

    /**
     * How many numbers of each vector are kept. Absent: all that the model gives. Range:
     * at least 1.
     */
    fun dimensions(dimensions: Long?): EmbeddingRequestBuilder =
        apply { this.dimensions = dimensions }

    /** A label of the end user; it has no effect. */
    fun user(user: String?): EmbeddingRequestBuilder =
        apply { this.user = user }

    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    fun priority(priority: Long?): EmbeddingRequestBuilder =
        apply { this.priority = priority }

    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    fun timeout_ms(timeout_ms: Long?): EmbeddingRequestBuilder =
        apply { this.timeout_ms = timeout_ms }

    /** The request with what was set so far. */
    fun build(): EmbeddingRequest = EmbeddingRequest(
        input = input,
        model = model,
        encoding_format = encoding_format,
        dimensions = dimensions,
        user = user,
        priority = priority,
        timeout_ms = timeout_ms,
    )
}

/** "rerank". Its functions' parameters are the properties of [RerankRequest]. */
class Rerank internal constructor(requests: Requests) :
    WholeRoute<RerankRequest, RerankResponse>(
        requests,
        "rerank",
        RerankRequest.serializer(),
        RerankResponse.serializer(),
    ) {
    /** Sends a request and waits for the answer. See [WholeRoute.create]. */
    suspend fun create(
        query: String,
        documents: List<RerankInput>,
        model: String? = null,
        top_n: Long? = null,
        return_documents: Boolean = false,
        max_tokens_per_doc: Long? = null,
        truncate: Boolean = true,
        raw_scores: Boolean = false,
        priority: Long? = null,
        timeout_ms: Long? = null,
    ): RerankResponse = create(
        RerankRequest(
            query = query,
            documents = documents,
            model = model,
            top_n = top_n,
            return_documents = return_documents,
            max_tokens_per_doc = max_tokens_per_doc,
            truncate = truncate,
            raw_scores = raw_scores,
            priority = priority,
            timeout_ms = timeout_ms,
        ),
    )
}

/** Makes a [RerankRequest] in Java, where parameters have no names. */
class RerankRequestBuilder(
    private val query: String,
    private val documents: List<RerankInput>,
) {
    private var model: String? = null
    private var top_n: Long? = null
    private var return_documents: Boolean = false
    private var max_tokens_per_doc: Long? = null
    private var truncate: Boolean = true
    private var raw_scores: Boolean = false
    private var priority: Long? = null
    private var timeout_ms: Long? = null

    /** The model to use. Absent: the engine's own. */
    fun model(model: String?): RerankRequestBuilder =
        apply { this.model = model }

    /**
     * How many results are returned, the best first. Absent: one for each document. Range:
     * at least 1.
     */
    fun top_n(top_n: Long?): RerankRequestBuilder =
        apply { this.top_n = top_n }

    /** Whether each result holds its document. Default: false. */
    fun return_documents(return_documents: Boolean): RerankRequestBuilder =
        apply { this.return_documents = return_documents }

    /**
     * How many tokens of each document are read at most. Absent: as many as fit beside the
     * query. Range: at least 1. Unit: tokens.
     */
    fun max_tokens_per_doc(max_tokens_per_doc: Long?): RerankRequestBuilder =
        apply { this.max_tokens_per_doc = max_tokens_per_doc }

    /**
     * Whether the end of a document is left out that does not fit beside the query. False:
     * such a request is refused. An extension of this engine. Default: true.
     */
    fun truncate(truncate: Boolean): RerankRequestBuilder =
        apply { this.truncate = truncate }

    /**
     * Whether scores are the model's own numbers, of any size, instead of numbers from 0
     * to 1. An extension of this engine. Default: false.
     */
    fun raw_scores(raw_scores: Boolean): RerankRequestBuilder =
        apply { this.raw_scores = raw_scores }

    /**
     * Requests of higher priority are served first, as in chats. Absent: 0. An extension
     * of this engine. Range: at least -100 and at most 100.
     */
    fun priority(priority: Long?): RerankRequestBuilder =
        apply { this.priority = priority }

    /**
     * The answer must be complete this long after the request came in; else it ends with
     * the error `deadline_exceeded`. Absent: no limit. An extension of this engine. Range:
     * at least 1 and at most 2147483647. Unit: milliseconds.
     */
    fun timeout_ms(timeout_ms: Long?): RerankRequestBuilder =
        apply { this.timeout_ms = timeout_ms }

    /** The request with what was set so far. */
    fun build(): RerankRequest = RerankRequest(
        query = query,
        documents = documents,
        model = model,
        top_n = top_n,
        return_documents = return_documents,
        max_tokens_per_doc = max_tokens_per_doc,
        truncate = truncate,
        raw_scores = raw_scores,
        priority = priority,
        timeout_ms = timeout_ms,
    )
}

/** The routes that give one answer and are never streamed. */
abstract class Calls internal constructor() {
    internal abstract suspend fun <Q, A> call(
        route: String,
        request: Q,
        requestSerializer: KSerializer<Q>,
        answerSerializer: KSerializer<A>,
    ): A

    /** The route "tokenize". */
    suspend fun tokenize(request: TokenizeRequest): TokenizeResponse =
        call("tokenize", request, TokenizeRequest.serializer(), TokenizeResponse.serializer())

    /** The route "detokenize". */
    suspend fun detokenize(request: DetokenizeRequest): DetokenizeResponse =
        call("detokenize", request, DetokenizeRequest.serializer(), DetokenizeResponse.serializer())

    /** The route "render". */
    suspend fun render(request: ChatCompletionRequest): RenderResponse =
        call("render", request, ChatCompletionRequest.serializer(), RenderResponse.serializer())

    /** The route "input_tokens". */
    suspend fun inputTokens(request: ChatCompletionRequest): InputTokensResponse =
        call("input_tokens", request, ChatCompletionRequest.serializer(), InputTokensResponse.serializer())

    /** The route "kv.save". */
    suspend fun kvSave(request: KVSaveRequest): KVSaveResponse =
        call("kv.save", request, KVSaveRequest.serializer(), KVSaveResponse.serializer())

    /** The route "kv.load". */
    suspend fun kvLoad(request: KVLoadRequest): KVLoadResponse =
        call("kv.load", request, KVLoadRequest.serializer(), KVLoadResponse.serializer())

    /** The route "kv.held". */
    suspend fun kvHeld(request: KVHeldRequest): KVHeldResponse =
        call("kv.held", request, KVHeldRequest.serializer(), KVHeldResponse.serializer())

    /** The route "memory.trim". */
    suspend fun memoryTrim(request: TrimRequest): TrimResponse =
        call("memory.trim", request, TrimRequest.serializer(), TrimResponse.serializer())

    /** The route "prewarm". */
    suspend fun prewarm(request: PrewarmRequest): PrewarmResponse =
        call("prewarm", request, PrewarmRequest.serializer(), PrewarmResponse.serializer())

    /** The route "thermal.set". */
    suspend fun thermalSet(request: ThermalHint): ThermalLimits =
        call("thermal.set", request, ThermalHint.serializer(), ThermalLimits.serializer())

    /** The route "adapters.load". */
    suspend fun adaptersLoad(request: AdapterLoadRequest): AdapterList =
        call("adapters.load", request, AdapterLoadRequest.serializer(), AdapterList.serializer())

    /** The route "adapters.unload". */
    suspend fun adaptersUnload(request: AdapterUnloadRequest): AdapterList =
        call("adapters.unload", request, AdapterUnloadRequest.serializer(), AdapterList.serializer())

    /** The route "adapters.list". */
    suspend fun adaptersList(request: AdapterListRequest): AdapterList =
        call("adapters.list", request, AdapterListRequest.serializer(), AdapterList.serializer())
}
