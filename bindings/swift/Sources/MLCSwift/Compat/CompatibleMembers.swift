// Members that MLC-LLM has under this package's names, with other types. The compiler takes one of
// them where a program asks for its type; everywhere else it takes the type's own member.

/// A type of this package that also has members of MLC-LLM's types.
public protocol CompatibleMembers {}

extension ChatCompletionRequest: CompatibleMembers {}
extension CompletionUsageExtra: CompatibleMembers {}
extension FunctionCall: CompatibleMembers {}
extension FunctionDefinition: CompatibleMembers {}

extension CompatibleMembers where Self == FunctionCall {
    /// The arguments as texts; a value that is no text is its JSON.
    public var arguments: [String: String]? {
        get { (try? JSONValue(jsonText: self.arguments as String))?.texts }
        set { self = FunctionCall(name: self.name, arguments: newValue) }
    }
}

extension CompatibleMembers where Self == FunctionDefinition {
    /// The members of the JSON Schema as texts; a value that is no text is its JSON.
    public var parameters: [String: String] {
        get { (self.parameters as JSONObject?).flatMap { JSONValue.object($0).texts } ?? [:] }
        set {
            self = FunctionDefinition(
                name: self.name, description: self.description, parameters: newValue)
        }
    }
}

extension CompatibleMembers where Self == CompletionUsageExtra {
    public var prefill_tokens_per_s: Float? {
        (self.prefill_tokens_per_s as Double?).map(Float.init)
    }
    public var decode_tokens_per_s: Float? { (self.decode_tokens_per_s as Double?).map(Float.init) }
}

extension CompatibleMembers where Self == ChatCompletionRequest {
    public var frequency_penalty: Float? {
        get { (self.frequency_penalty as Double?).map(Float.init) }
        set { self.frequency_penalty = newValue.map(Double.init) }
    }
    public var presence_penalty: Float? {
        get { (self.presence_penalty as Double?).map(Float.init) }
        set { self.presence_penalty = newValue.map(Double.init) }
    }
    public var temperature: Float? {
        get { (self.temperature as Double?).map(Float.init) }
        set { self.temperature = newValue.map(Double.init) }
    }
    public var top_p: Float? {
        get { (self.top_p as Double?).map(Float.init) }
        set { self.top_p = newValue.map(Double.init) }
    }
    public var logit_bias: [Int: Float]? {
        get { (self.logit_bias as [Int: Double]?)?.mapValues(Float.init) }
        set { self.logit_bias = newValue?.mapValues(Double.init) }
    }
    public var stop: [String]? {
        get { (self.stop as Stop?)?.list }
        set { self.stop = newValue.map { texts in Stop.texts(texts) } }
    }
}

extension Stop {
    fileprivate var list: [String] {
        switch self {
        case .text(let text): [text]
        case .texts(let texts): texts
        }
    }
}

extension JSONValue {
    /// An object's members as texts; nil for what is no object.
    fileprivate var texts: [String: String]? {
        guard case .object(let object) = self else { return nil }
        let members = object.members.map { member in (member.key, member.value.text) }
        return Dictionary(members, uniquingKeysWith: { $1 })
    }

    private var text: String {
        if case .string(let text) = self { return text }
        return (try? self.jsonText()) ?? ""
    }
}

extension ChatCompletionRequest {
    /// MLC-LLM's request, with its own types of numbers; with literals it is the other `init`.
    @_disfavoredOverload
    public init(
        messages: [ChatCompletionMessage],
        model: String? = nil,
        frequency_penalty: Float? = nil,
        presence_penalty: Float? = nil,
        logprobs: Bool = false,
        top_logprobs: Int = 0,
        logit_bias: [Int: Float]? = nil,
        max_tokens: Int? = nil,
        n: Int = 1,
        seed: Int? = nil,
        stop: [String]? = nil,
        stream: Bool = true,
        stream_options: StreamOptions? = nil,
        temperature: Float? = nil,
        top_p: Float? = nil,
        tools: [ChatTool]? = nil,
        user: String? = nil,
        response_format: ResponseFormat? = nil
    ) {
        self.init(
            messages: messages,
            model: model,
            frequency_penalty: frequency_penalty.map(Double.init),
            presence_penalty: presence_penalty.map(Double.init),
            logprobs: logprobs,
            top_logprobs: top_logprobs == 0 ? nil : Optional(top_logprobs),
            logit_bias: logit_bias?.mapValues(Double.init),
            max_tokens: max_tokens,
            n: n,
            seed: seed,
            stop: stop.map { texts in Stop.texts(texts) },
            stream: stream,
            stream_options: stream_options,
            temperature: temperature.map(Double.init),
            top_p: top_p.map(Double.init),
            tools: tools,
            user: user,
            response_format: response_format)
    }
}
