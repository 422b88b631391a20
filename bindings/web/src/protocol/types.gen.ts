// Generated from codegen/schema by `python -m codegen`. Do not edit.
// Schema hash: 5c6e83c1dd599df1
//
// The protocol's types. What a newer engine adds is never an error: a word or a tagged object that
// this version does not know is kept as it is, and a member is left out.

/** Of all that crosses the wire; the core must have the same. */
export const SCHEMA_HASH = "5c6e83c1dd599df1";

/** A JSON object that is passed on unread. */
export type JSONObject = Record<string, unknown>;

/**
 * Who speaks.
 *
 * "system": The instructions that the model follows.
 * "developer": The same as `system`, as newer clients call it.
 * "user": The person, or the program, that asks.
 * "assistant": The model.
 * "tool": A tool that the model called.
 */
export type ChatCompletionRole =
  | "system"
  | "developer"
  | "user"
  | "assistant"
  | "tool";

/** A text within a message. */
export interface ChatCompletionContentPartText {
  /** The kind of part. */
  type: "text";
  /** The text. */
  text: string;
}

/**
 * How closely the model looks at an image.
 *
 * "auto": As the model's own configuration says.
 * "low": At low resolution, in few tokens.
 * "high": At high resolution, in more tokens.
 * "original": In the image's own size, as far as the model can; else as `high`.
 */
export type ImageDetail =
  | "auto"
  | "low"
  | "high"
  | "original";

/** Where an image is. */
export interface ImageURL {
  /**
   * The image as a `data:` URL with its bytes in base64, or that base64 alone. Clients take the
   * bytes of its file too. Length: at least 1.
   */
  url: string | Uint8Array;
  /** How closely the model looks. */
  detail?: ImageDetail | null;
}

/** An image, as an object or as its URL alone. */
export type ImageSource =
  | string
  | ImageURL;

/** An image within a message. */
export interface ChatCompletionContentPartImage {
  /** The kind of part. */
  type: "image_url";
  /** The image. */
  image_url: ImageSource;
}

/** A part of a message. */
export type ChatCompletionContentPart =
  | ChatCompletionContentPartText
  | ChatCompletionContentPartImage;

/** What a message says: a text, or texts and images in order. */
export type ChatCompletionMessageContent =
  | string
  | ChatCompletionContentPart[];

/** A function call that the model made. */
export interface FunctionCall {
  /** The name of the function to call. */
  name: string;
  /**
   * The arguments as JSON text, as the model wrote it; it may be invalid or name arguments that the
   * function does not have.
   */
  arguments: string;
}

/** A tool call that the model made. */
export interface ChatCompletionMessageToolCall {
  /** The call's id, which the tool's answer repeats as `tool_call_id`. */
  id: string;
  /** The kind of tool; only functions exist. */
  type: "function";
  /** The function and its arguments. */
  function: FunctionCall;
}

/** A message of the conversation so far. */
export interface ChatCompletionMessage {
  /** Who speaks. */
  role: ChatCompletionRole;
  /**
   * What is said. The assistant may leave it out when it calls tools. Required when `role` is
   * `system` or `developer` or `user` or `tool`.
   */
  content?: ChatCompletionMessageContent | null;
  /** A name that tells speakers of the same role apart. */
  name?: string | null;
  /** The assistant's tool calls. */
  tool_calls?: ChatCompletionMessageToolCall[] | null;
  /** The call that a tool's message answers. Required when `role` is `tool`. */
  tool_call_id?: string | null;
  /** What the assistant thought before it spoke; a model's template may use it. */
  reasoning_content?: string | null;
}

/** What a stream carries beside the answer. */
export interface StreamOptions {
  /** Whether a last chunk, with no choices, carries the usage of the whole request. */
  include_usage?: boolean | null;
}

/** Texts at which the answer ends, before them. */
export type Stop =
  | string
  | string[];

/** A function that the model may call. */
export interface FunctionDefinition {
  /** The function's name, by which the model calls it. Length: at least 1. */
  name: string;
  /** What the function does; the model chooses by it when to call. */
  description?: string | null;
  /** A JSON Schema object for the arguments. Absent: the function takes none. */
  parameters?: JSONObject | null;
  /** Whether the arguments are held to the schema while they are generated. */
  strict?: boolean | null;
}

/** A tool that the model may call. */
export interface ChatCompletionTool {
  /** The kind of tool; only functions exist. */
  type: "function";
  /** The function. */
  function: FunctionDefinition;
}

/**
 * How free the model is in calling tools.
 *
 * "none": Calls no tool.
 * "auto": Answers or calls tools, as it sees fit.
 * "required": Calls at least one tool.
 */
export type ToolChoiceMode =
  | "none"
  | "auto"
  | "required";

/** A function by its name. */
export interface NamedFunction {
  /** The function's name. Length: at least 1. */
  name: string;
}

/** The one tool that the model must call. */
export interface ChatCompletionNamedToolChoice {
  /** The kind of tool; only functions exist. */
  type: "function";
  /** The function to call. */
  function: NamedFunction;
}

/** Which tools the model may or must call. */
export type ToolChoice =
  | ToolChoiceMode
  | ChatCompletionNamedToolChoice;

/** Any text. */
export interface ResponseFormatText {
  /** The kind of format. */
  type: "text";
}

/** A JSON Schema, as JSON text or as the object itself. */
export type JsonSchemaSource =
  | string
  | JSONObject;

/** A JSON object. */
export interface ResponseFormatJSONObject {
  /** The kind of format. */
  type: "json_object";
  /** A JSON Schema that the object must match. Absent: any object. */
  schema?: JsonSchemaSource | null;
}

/** A JSON Schema with a name. */
export interface JSONSchema {
  /** The schema's name. Length: at least 1 and at most 64. */
  name: string;
  /** What the answer is for; the model may read it. */
  description?: string | null;
  /** The JSON Schema. */
  schema?: JSONObject | null;
  /**
   * Whether a schema is refused that the answer cannot be held to in full. Otherwise what cannot be
   * enforced is left out, and `warnings` say so.
   */
  strict?: boolean | null;
}

/** JSON that matches a schema. */
export interface ResponseFormatJSONSchema {
  /** The kind of format. */
  type: "json_schema";
  /** The schema. */
  json_schema: JSONSchema;
}

/** Text that a regular expression matches as a whole. */
export interface ResponseFormatRegex {
  /** The kind of format. */
  type: "regex";
  /** The regular expression, in ECMAScript's syntax. Length: at least 1. */
  regex: string;
}

/** Text that a grammar derives. */
export interface ResponseFormatGrammar {
  /** The kind of format. */
  type: "grammar";
  /**
   * The grammar in GBNF (EBNF as llama.cpp writes it); its first rule is `root`. Length: at least
   * 1.
   */
  grammar: string;
}

/** A stretch of the answer, between two texts, that has a shape. */
export interface StructuralTag {
  /** The text that opens the stretch. Length: at least 1. */
  begin: string;
  /** The JSON Schema. */
  schema: JSONObject;
  /** The text that closes the stretch. Length: at least 1. */
  end: string;
}

/**
 * Free text in which tagged stretches have a shape.
 *
 * Give either `tags` and `triggers`, or `format`.
 */
export interface ResponseFormatStructuralTag {
  /** The kind of format. */
  type: "structural_tag";
  /** The stretches that may occur. Items: at least 1. */
  tags?: StructuralTag[] | null;
  /**
   * Texts after which a stretch must follow; each tag's `begin` starts with one of them. Items: at
   * least 1.
   */
  triggers?: string[] | null;
  /** A structural tag's format object, in full. */
  format?: JSONObject | null;
}

/** The shape that the answer must have. */
export type ResponseFormat =
  | ResponseFormatText
  | ResponseFormatJSONObject
  | ResponseFormatJSONSchema
  | ResponseFormatRegex
  | ResponseFormatGrammar
  | ResponseFormatStructuralTag;

/**
 * How long a reasoning model thinks before it answers.
 *
 * "none": Not at all.
 * "minimal": As little as it can.
 * "low": A little.
 * "medium": As it was trained to.
 * "high": Long.
 * "xhigh": Longer.
 */
export type ReasoningEffort =
  | "none"
  | "minimal"
  | "low"
  | "medium"
  | "high"
  | "xhigh";

/** An adapter of a request. */
export interface LoraUse {
  /** The name under which it was loaded. Length: at least 1. */
  name: string;
  /** By how much its change counts. Range: at least -1000 and at most 1000. Default: 1. */
  scale?: number | null;
}

/** The adapters of a request: the name of one, or several, whose changes add up. */
export type Lora =
  | string
  | LoraUse[];

/**
 * A request that is no conversation.
 *
 * "query_engine_metrics": Gives the engine's metrics in `usage.extra`.
 */
export type SpecialRequest =
  | "query_engine_metrics";

/**
 * How a grammar is followed.
 *
 * "constraint": Every token is sampled under the grammar's mask.
 * "jump_forward": Text that the grammar forces is appended without the model.
 */
export type GrammarExecutionMode =
  | "constraint"
  | "jump_forward";

/** Switches for tests and measurements. */
export interface DebugConfig {
  /** Whether the answer goes on over the end-of-text token. Default: false. */
  ignore_eos?: boolean | null;
  /**
   * Whether the whole pages of the prompt stay in the prefix cache until the engine is reset.
   * Default: false.
   */
  pinned_system_prompt?: boolean | null;
  /** Asks for something else than an answer. */
  special_request?: SpecialRequest | null;
  /** How a grammar is followed. Default: `jump_forward`. */
  grammar_execution_mode?: GrammarExecutionMode | null;
}

/** A predicted text, whole or in parts. */
export type ChatCompletionPredictionText =
  | string
  | ChatCompletionContentPartText[];

/** A text that the answer probably resembles, such as a file before a small change. */
export interface ChatCompletionPrediction {
  /** The kind of prediction. */
  type: "content";
  /** The text. */
  content: ChatCompletionPredictionText;
}

/** A conversation, and how the model is to continue it. */
export interface ChatCompletionRequest {
  /** The conversation so far, oldest first. Items: at least 1. */
  messages: ChatCompletionMessage[];
  /** The model to answer. Absent: the engine's own. */
  model?: string | null;
  /** Whether the answer comes in chunks while it is generated. Default: false. */
  stream?: boolean | null;
  /** Options of the stream. */
  stream_options?: StreamOptions | null;
  /**
   * The longest answer. Absent: 4,096. The end of the context may come first. Range: at least 1.
   * Unit: tokens.
   */
  max_tokens?: number | null;
  /**
   * The newer name of `max_tokens`; it wins when both are given. Absent: `max_tokens`. Range: at
   * least 1. Unit: tokens.
   */
  max_completion_tokens?: number | null;
  /**
   * How many answers are generated, each on its own. Range: at least 1 and at most 128. Default: 1.
   */
  n?: number | null;
  /**
   * How far the choice of tokens strays from the likeliest; 0 always takes the likeliest. Absent:
   * the model's own default, else 1. Range: at least 0 and at most 2.
   */
  temperature?: number | null;
  /**
   * Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest alone.
   * Absent: the model's own default, else 1. Range: at least 0 and at most 1.
   */
  top_p?: number | null;
  /**
   * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
   * else 0. Range: at least -1. Unit: tokens.
   */
  top_k?: number | null;
  /**
   * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
   * default, else 0. Range: at least 0 and at most 1.
   */
  min_p?: number | null;
  /**
   * Lowers a token's logit by this much for each time it occurs in the answer. Absent: the model's
   * own default, else 0. Range: at least -2 and at most 2.
   */
  frequency_penalty?: number | null;
  /**
   * Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
   * default, else 0. Range: at least -2 and at most 2.
   */
  presence_penalty?: number | null;
  /**
   * Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent: the
   * model's own default, else 1. Range: above 0 and at most 10.
   */
  repetition_penalty?: number | null;
  /**
   * Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or less
   * keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most 1000.
   */
  top_n_sigma?: number | null;
  /**
   * How often (of 1) the likeliest tokens are excluded, all but the last one that `xtc_threshold`
   * counts among them. Absent: the model's own default, else 0. Range: at least 0 and at most 1.
   */
  xtc_probability?: number | null;
  /**
   * From which probability on `xtc_probability` counts a token among the likeliest; over 0.5 there
   * is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and at most 1.
   */
  xtc_threshold?: number | null;
  /**
   * Lowers the logit of a token that would go on with a repetition, in prompt and answer: by this
   * much times `dry_base` to the power of what the repetition is longer than `dry_allowed_length`.
   * Absent: the model's own default, else 0. Range: at least 0 and at most 100.
   */
  dry_multiplier?: number | null;
  /**
   * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else 1.75.
   * Range: at least 1 and at most 100.
   */
  dry_base?: number | null;
  /**
   * `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else 2.
   * Range: at least 1. Unit: tokens.
   */
  dry_allowed_length?: number | null;
  /**
   * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
   * Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
   */
  dry_penalty_last_n?: number | null;
  /**
   * A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as a
   * special token does. Absent: a line's end, a colon, a quotation mark and an asterisk. Length: at
   * least 1. Items: at most 64.
   */
  dry_sequence_breakers?: string[] | null;
  /** Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100. */
  logit_bias?: Record<number, number> | null;
  /**
   * Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
   * random one.
   */
  seed?: number | null;
  /** Whether the chosen tokens' log probabilities are returned. Default: false. */
  logprobs?: boolean | null;
  /**
   * How many of the likeliest tokens are returned at each position; needs `logprobs`. Absent: 0.
   * Range: at least 0 and at most 20. Unit: tokens.
   */
  top_logprobs?: number | null;
  /** Texts at which the answer ends, before them. */
  stop?: Stop | null;
  /** The tools that the model may call. Items: at most 128. */
  tools?: ChatCompletionTool[] | null;
  /** Which tools are called. Absent: `auto` with tools, `none` without. */
  tool_choice?: ToolChoice | null;
  /** Whether one answer may hold several tool calls. Default: true. */
  parallel_tool_calls?: boolean | null;
  /** The shape that the answer must have. Absent: any text. */
  response_format?: ResponseFormat | null;
  /** How long a reasoning model thinks before it answers. */
  reasoning_effort?: ReasoningEffort | null;
  /**
   * The longest that a reasoning model thinks; at the limit its thoughts are ended and the answer
   * goes on. Absent: no limit. An extension of this engine. Range: at least 0 and at most
   * 2147483647. Unit: tokens.
   */
  reasoning_budget?: number | null;
  /** Further variables for the model's chat template, such as `enable_thinking`. */
  chat_template_kwargs?: JSONObject | null;
  /**
   * The name of a logit processor that the program has registered with the engine: a function that
   * changes the logits before each token. Absent: none. An extension of this engine.
   */
  logit_processor?: string | null;
  /**
   * The adapters that change the model for this request. Absent: none. An extension of this engine.
   */
  lora?: Lora | null;
  /** A label of the end user; it has no effect on the answer. */
  user?: string | null;
  /**
   * Requests of higher priority are served first and may take the place of running ones of lower
   * priority. Each level is worth ten seconds of waiting, so that nobody waits for ever. Absent: 0.
   * An extension of this engine. Range: at least -100 and at most 100.
   */
  priority?: number | null;
  /**
   * The answer must be complete this long after the request came in; else it ends with the error
   * `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
   * most 2147483647. Unit: milliseconds.
   */
  timeout_ms?: number | null;
  /**
   * Whether `usage.extra` carries this request's measurements, such as `ttft_s`. Absent: it does in
   * a stream whose `include_usage` is set, as MLC-LLM's. An extension of this engine.
   */
  usage_extra?: boolean | null;
  /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
  timings_per_token?: boolean | null;
  /**
   * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have no
   * choices.
   */
  return_progress?: boolean | null;
  /** Switches for tests and measurements; a server takes them in debug mode only. */
  debug_config?: DebugConfig | null;
  /** Labels of the caller's own; they have no effect. */
  metadata?: Record<string, string> | null;
  /** Asks a service to keep the answer; this engine keeps none. */
  store?: boolean | null;
  /** A service's price class; it has no effect. */
  service_tier?: string | null;
  /** The kinds of output that are asked for; only `text` is offered. */
  modalities?: string[] | null;
  /** How spoken output sounds; spoken output is not offered. */
  audio?: unknown | null;
  /**
   * A text that the answer will resemble. It makes the answer faster where the two agree, and never
   * changes it.
   */
  prediction?: ChatCompletionPrediction | null;
  /** A search of the web; not offered. */
  web_search_options?: unknown | null;
  /** The older form of `tools`; use that. */
  functions?: unknown | null;
  /** The older form of `tool_choice`; use that. */
  function_call?: unknown | null;
}

/** One prompt of several, or one token of a prompt. */
export type PromptItem =
  | string
  | number
  | number[];

/** What is to be continued or embedded: a text, several texts, token ids, or lists of those. */
export type Prompt =
  | string
  | PromptItem[];

/** A text, and how the model is to continue it. */
export interface CompletionRequest {
  /** What is to be continued. */
  prompt: Prompt;
  /** The model to answer. Absent: the engine's own. */
  model?: string | null;
  /** The text that follows what is inserted. Absent: the text is only continued. */
  suffix?: string | null;
  /** Whether the answer begins with the prompt. Default: false. */
  echo?: boolean | null;
  /**
   * How many answers are generated to return the best `n`. Absent: `n`. Range: at least 1 and at
   * most 128.
   */
  best_of?: number | null;
  /** Whether the answer comes in chunks while it is generated. Default: false. */
  stream?: boolean | null;
  /** Options of the stream. */
  stream_options?: StreamOptions | null;
  /** The longest answer. Range: at least 0. Default: 16. Unit: tokens. */
  max_tokens?: number | null;
  /**
   * How many answers are generated, each on its own. Range: at least 1 and at most 128. Default: 1.
   */
  n?: number | null;
  /**
   * How far the choice of tokens strays from the likeliest; 0 always takes the likeliest. Absent:
   * the model's own default, else 1. Range: at least 0 and at most 2.
   */
  temperature?: number | null;
  /**
   * Keeps the likeliest tokens that together reach this probability; 0 keeps the likeliest alone.
   * Absent: the model's own default, else 1. Range: at least 0 and at most 1.
   */
  top_p?: number | null;
  /**
   * Keeps this many of the likeliest tokens; 0 or -1 keeps all. Absent: the model's own default,
   * else 0. Range: at least -1. Unit: tokens.
   */
  top_k?: number | null;
  /**
   * Keeps tokens at least this probable, relative to the likeliest. Absent: the model's own
   * default, else 0. Range: at least 0 and at most 1.
   */
  min_p?: number | null;
  /**
   * Lowers a token's logit by this much for each time it occurs in the answer. Absent: the model's
   * own default, else 0. Range: at least -2 and at most 2.
   */
  frequency_penalty?: number | null;
  /**
   * Lowers a token's logit by this much once it occurs in the answer. Absent: the model's own
   * default, else 0. Range: at least -2 and at most 2.
   */
  presence_penalty?: number | null;
  /**
   * Divides a positive logit, and multiplies a negative one, of tokens that occurred. Absent: the
   * model's own default, else 1. Range: above 0 and at most 10.
   */
  repetition_penalty?: number | null;
  /**
   * Keeps tokens whose logit is at most this many standard deviations below the largest; 0 or less
   * keeps all. Absent: the model's own default, else 0. Range: at least -1 and at most 1000.
   */
  top_n_sigma?: number | null;
  /**
   * How often (of 1) the likeliest tokens are excluded, all but the last one that `xtc_threshold`
   * counts among them. Absent: the model's own default, else 0. Range: at least 0 and at most 1.
   */
  xtc_probability?: number | null;
  /**
   * From which probability on `xtc_probability` counts a token among the likeliest; over 0.5 there
   * is no second one. Absent: the model's own default, else 0.1. Range: at least 0 and at most 1.
   */
  xtc_threshold?: number | null;
  /**
   * Lowers the logit of a token that would go on with a repetition, in prompt and answer: by this
   * much times `dry_base` to the power of what the repetition is longer than `dry_allowed_length`.
   * Absent: the model's own default, else 0. Range: at least 0 and at most 100.
   */
  dry_multiplier?: number | null;
  /**
   * How fast `dry_multiplier` grows with a repetition. Absent: the model's own default, else 1.75.
   * Range: at least 1 and at most 100.
   */
  dry_base?: number | null;
  /**
   * `dry_multiplier` begins at repetitions of this length. Absent: the model's own default, else 2.
   * Range: at least 1. Unit: tokens.
   */
  dry_allowed_length?: number | null;
  /**
   * Among how many of the last tokens `dry_multiplier` looks for repetitions; -1: all, 0: none.
   * Absent: the model's own default, else -1. Range: at least -1. Unit: tokens.
   */
  dry_penalty_last_n?: number | null;
  /**
   * A token that contains one of these texts ends repetitions that `dry_multiplier` counts, as a
   * special token does. Absent: a line's end, a colon, a quotation mark and an asterisk. Length: at
   * least 1. Items: at most 64.
   */
  dry_sequence_breakers?: string[] | null;
  /** Adds to the logits of tokens: from token id to bias. Range: at least -100 and at most 100. */
  logit_bias?: Record<number, number> | null;
  /**
   * Makes the answer repeatable: equal requests with equal seeds get equal answers. Absent: a
   * random one.
   */
  seed?: number | null;
  /**
   * How many of the likeliest tokens are returned at each position, beside the chosen one. Absent:
   * none. Range: at least 0 and at most 5. Unit: tokens.
   */
  logprobs?: number | null;
  /** Texts at which the answer ends, before them. */
  stop?: Stop | null;
  /** The shape that the answer must have. Absent: any text. */
  response_format?: ResponseFormat | null;
  /**
   * The name of a logit processor that the program has registered with the engine: a function that
   * changes the logits before each token. Absent: none. An extension of this engine.
   */
  logit_processor?: string | null;
  /**
   * The adapters that change the model for this request. Absent: none. An extension of this engine.
   */
  lora?: Lora | null;
  /** A label of the end user; it has no effect on the answer. */
  user?: string | null;
  /**
   * Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
   * engine. Range: at least -100 and at most 100.
   */
  priority?: number | null;
  /**
   * The answer must be complete this long after the request came in; else it ends with the error
   * `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
   * most 2147483647. Unit: milliseconds.
   */
  timeout_ms?: number | null;
  /** Whether the answer carries `timings`, and in a stream every chunk, as llama.cpp's. */
  timings_per_token?: boolean | null;
  /**
   * Whether a stream begins with chunks that carry `prompt_progress`, as llama.cpp's. They have no
   * choices.
   */
  return_progress?: boolean | null;
  /** Switches for tests and measurements; a server takes them in debug mode only. */
  debug_config?: DebugConfig | null;
}

/**
 * How a vector is written.
 *
 * "float": As a list of numbers.
 * "base64": As the base64 of its numbers, little-endian float32.
 */
export type EmbeddingEncoding =
  | "float"
  | "base64";

/** Texts of which vectors are wanted. */
export interface EmbeddingRequest {
  /** A text, several texts, or their token ids. */
  input: Prompt;
  /** The model to use. Absent: the engine's own. */
  model?: string | null;
  /** How the vectors are written. Default: `float`. */
  encoding_format?: EmbeddingEncoding | null;
  /**
   * How many numbers of each vector are kept. Absent: all that the model gives. Range: at least 1.
   */
  dimensions?: number | null;
  /** A label of the end user; it has no effect. */
  user?: string | null;
  /**
   * Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
   * engine. Range: at least -100 and at most 100.
   */
  priority?: number | null;
  /**
   * The answer must be complete this long after the request came in; else it ends with the error
   * `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
   * most 2147483647. Unit: milliseconds.
   */
  timeout_ms?: number | null;
}

/** A document as an object. */
export interface RerankDocument {
  /** The document's text. */
  text: string;
}

/** A document to be judged: its text, or an object with the text. */
export type RerankInput =
  | string
  | RerankDocument;

/** A query, and the documents of which the best ones are wanted. */
export interface RerankRequest {
  /** What the documents are judged by. Length: at least 1. */
  query: string;
  /** The documents: texts, or objects with a text. Items: at least 1 and at most 10000. */
  documents: RerankInput[];
  /** The model to use. Absent: the engine's own. */
  model?: string | null;
  /**
   * How many results are returned, the best first. Absent: one for each document. Range: at least
   * 1.
   */
  top_n?: number | null;
  /** Whether each result holds its document. Default: false. */
  return_documents?: boolean | null;
  /**
   * How many tokens of each document are read at most. Absent: as many as fit beside the query.
   * Range: at least 1. Unit: tokens.
   */
  max_tokens_per_doc?: number | null;
  /**
   * Whether the end of a document is left out that does not fit beside the query. False: such a
   * request is refused. An extension of this engine. Default: true.
   */
  truncate?: boolean | null;
  /**
   * Whether scores are the model's own numbers, of any size, instead of numbers from 0 to 1. An
   * extension of this engine. Default: false.
   */
  raw_scores?: boolean | null;
  /**
   * Requests of higher priority are served first, as in chats. Absent: 0. An extension of this
   * engine. Range: at least -100 and at most 100.
   */
  priority?: number | null;
  /**
   * The answer must be complete this long after the request came in; else it ends with the error
   * `deadline_exceeded`. Absent: no limit. An extension of this engine. Range: at least 1 and at
   * most 2147483647. Unit: milliseconds.
   */
  timeout_ms?: number | null;
}

/** A text of which the tokens are wanted. */
export interface TokenizeRequest {
  /** The text. */
  text: string;
  /** Whether the tokens are added that the model expects around a whole text. Default: false. */
  add_special_tokens?: boolean | null;
}

/** Tokens of which the text is wanted. */
export interface DetokenizeRequest {
  /** The token ids. Range: at least 0. */
  tokens: number[];
  /** Whether special tokens leave no text. Default: true. */
  skip_special_tokens?: boolean | null;
}

/** A conversation whose state is to be saved: `messages` or `prompt_tokens`. */
export interface KVSaveRequest {
  /** The file to write, on the engine's machine; an older one is replaced. Length: at least 1. */
  path: string;
  /**
   * The conversation, as a request would send it. Absent: `prompt_tokens` is given. Items: at least
   * 1.
   */
  messages?: ChatCompletionMessage[] | null;
  /** Further variables for the model's chat template, as the request would send them. */
  chat_template_kwargs?: JSONObject | null;
  /**
   * The prompt's token ids. Absent: `messages` is given. Range: at least 0. Items: at least 1.
   * Unit: tokens.
   */
  prompt_tokens?: number[] | null;
}

/** A saved state that requests are to find. */
export interface KVLoadRequest {
  /** The file to read, on the engine's machine. Length: at least 1. */
  path: string;
}

/**
 * A request whose prompts are looked up in the prefix cache: `chat` or `completion`. Nothing is
 * computed.
 */
export interface KVHeldRequest {
  /** A chat, as it would be sent. Absent: `completion` is given. */
  chat?: ChatCompletionRequest | null;
  /** A text to continue, as it would be sent. Absent: `chat` is given. */
  completion?: CompletionRequest | null;
}

/**
 * How much memory is given back; each level includes those before it.
 *
 * "caches": What only the prefix cache holds.
 * "pages": Also the memory of KV pages that no running answer uses.
 * "all": Also the pages of running answers, which are computed again later and stay the same, and
 * weights that can be read from their files again.
 */
export type TrimLevel =
  | "caches"
  | "pages"
  | "all";

/** How much memory the engine gives back. */
export interface TrimRequest {
  /** How much. Default: `caches`. */
  level?: TrimLevel | null;
}

/** What is made ready before the first request. */
export interface PrewarmRequest {
  /** Whether a step of one token is computed; its result is thrown away. Default: true. */
  step?: boolean | null;
}

/**
 * How hot a device is, by iOS's names. Answers stay the same in every state.
 *
 * "nominal": Cool: no limits. Android's none and light.
 * "fair": Smaller chunks of prompts. Android's moderate.
 * "serious": Half of the threads and of the answers at a time. Android's severe.
 * "critical": One thread, one answer at a time. Android's critical and higher.
 */
export type ThermalState =
  | "nominal"
  | "fair"
  | "serious"
  | "critical";

/** How hot the device is. */
export interface ThermalHint {
  /** The state. */
  state: ThermalState;
}

/** An adapter that requests may choose from now on. */
export interface AdapterLoadRequest {
  /**
   * The name that requests use. One that is loaded already is replaced; its requests go on with it.
   * Length: at least 1 and at most 256.
   */
  name: string;
  /**
   * The adapter's file, on the engine's machine; `mlc_llm convert_adapter` makes it of other
   * formats. Length: at least 1.
   */
  path: string;
}

/** An adapter that no new request may choose; its requests go on with it. */
export interface AdapterUnloadRequest {
  /** Its name. Length: at least 1. */
  name: string;
}

/** Which adapters are asked for. */
export interface AdapterListRequest {
  /** The adapter of this name alone. Absent: all. Length: at least 1. */
  name?: string | null;
}

/** The folders that a program gives to the engine, for the whole process. */
export interface Directories {
  /**
   * For files that are kept, such as compiled GPU programs. Absent: `MLC_LLM_HOME`, or `mlc_llm` in
   * the user's cache folder. Length: at least 1.
   */
  cache?: string | null;
  /**
   * For files that are removed again. Absent: `cache` if it is given, else the system's folder for
   * temporary files. Length: at least 1.
   */
  temporary?: string | null;
  /**
   * Where model libraries and device backends also are. Absent: nowhere else. Length: at least 1.
   */
  libraries?: string[] | null;
}

/** Which model an engine loads. */
export interface ModelLoadRequest {
  /** The model's folder, which holds `mlc-chat-config.json`, weights and tokenizer. */
  model: string;
  /**
   * The compiled library: a file, or the name of one among the app's libraries or linked into the
   * program. Absent: the one in the folder `lib` of the model's folder.
   */
  model_lib?: string | null;
  /**
   * Where the model runs, such as `cpu:0`; `auto` takes the first device there is. Default: `auto`.
   */
  device?: string | null;
  /** The model's name in answers. Absent: the folder's. */
  name?: string | null;
}

/**
 * What the engine is for, which sets its other defaults.
 *
 * "local": At most 16 sequences (4 with recurrent states), 8192 tokens of KV cache.
 * "interactive": One conversation: 1 sequence, as long as the context window.
 * "server": Many requests: as many sequences as the model and the memory allow.
 */
export type EngineMode =
  | "local"
  | "interactive"
  | "server";

/**
 * The precision of cached keys and values.
 *
 * "f32": Floats of 32 bits.
 * "f16": Floats of 16 bits.
 * "bf16": Floats of 16 bits with the range of 32 bits.
 * "q8": Integers of 8 bits, and a scale for each key and each value of a head.
 */
export type KVCacheDType =
  | "f32"
  | "f16"
  | "bf16"
  | "q8";

/**
 * How prompts are taken in beside running answers.
 *
 * "hybrid": A chunk of a prompt and the running answers share a step.
 * "chunked": A step takes in chunks of prompts, or continues answers.
 */
export type PrefillMode =
  | "hybrid"
  | "chunked";

/**
 * Which hidden states of a text make its vector.
 *
 * "mean": The mean of those of all its tokens.
 * "last": That of its last token.
 * "cls": That of its first token, which many encoders call [CLS].
 */
export type EmbeddingPooling =
  | "mean"
  | "last"
  | "cls";

/**
 * Whether what was computed is kept for requests that begin alike.
 *
 * "radix": Kept in a radix tree of token ids.
 * "disable": Not kept.
 */
export type PrefixCacheMode =
  | "radix"
  | "disable";

/**
 * How tokens are drafted ahead of the model.
 *
 * "disable": Not at all.
 * "small_draft": By a smaller model, the one in `additional_models`.
 * "prompt_lookup": By what followed the last tokens when they came before.
 * "mtp": By the layer for further tokens in the model's own checkpoint, or by Gemma 4's assistant.
 * "eagle": By an EAGLE head on the model's hidden states.
 * "medusa": By Medusa heads on the model's hidden states.
 */
export type SpeculativeMode =
  | "disable"
  | "small_draft"
  | "prompt_lookup"
  | "mtp"
  | "eagle"
  | "medusa";

/** How an engine runs a model; what is absent follows from the mode, model and memory. */
export interface EngineConfig {
  /** What the engine is for. Absent: `local`. */
  mode?: EngineMode | null;
  /** How many sequences are generated at the same time. Absent: by the mode. Range: at least 1. */
  max_num_sequence?: number | null;
  /**
   * The capacity of the KV cache, all sequences together. Absent: by the mode. Range: at least 1.
   * Unit: tokens.
   */
  max_total_seq_length?: number | null;
  /**
   * The capacity of the KV cache, said in memory. Absent: by the mode. Range: at least 1. Unit:
   * bytes.
   */
  kv_cache_bytes?: number | null;
  /**
   * The precision of cached keys and values. It is compiled into the model library, so a library
   * that is given must have the same. Absent: the library's own.
   */
  kv_cache_dtype?: KVCacheDType | null;
  /**
   * The most that weights, KV cache and temporaries may take. Absent: what is free. Range: at least
   * 1. Unit: bytes.
   */
  memory_limit_bytes?: number | null;
  /**
   * The share of the device's memory that may be used. Absent: 0.85. Range: above 0 and at most 1.
   */
  gpu_memory_utilization?: number | null;
  /** The longest sequence. Absent: the model's own. Range: at least 1. Unit: tokens. */
  context_window_size?: number | null;
  /**
   * How far back attention reaches; -1 is all the way. Absent: the model's own. Range: at least -1.
   * Unit: tokens.
   */
  sliding_window_size?: number | null;
  /**
   * How many first tokens stay in reach of a sliding window. Absent: the model's own. Range: at
   * least 0. Unit: tokens.
   */
  attention_sink_size?: number | null;
  /**
   * The most tokens of prompts that one step takes in; it takes fewer where that many would last
   * long. Absent: the model's own, and at most 512 on a CPU for a model without pictures. Range: at
   * least 1. Unit: tokens.
   */
  prefill_chunk_size?: number | null;
  /** How prompts are taken in beside running answers. Absent: `hybrid`. */
  prefill_mode?: PrefillMode | null;
  /**
   * How many requests may wait for their turn; more are refused with the error `queue_full`.
   * Absent: 1024. Range: at least 1 and at most 1000000.
   */
  max_queued_requests?: number | null;
  /**
   * Whether the engine records what it does for the route `trace`, in Chrome's trace format.
   * Absent: false.
   */
  enable_tracing?: boolean | null;
  /**
   * Which hidden states make the vectors of the route `embeddings`. Absent: what the model's mlc-
   * chat-config.json says under the same name, else `mean`.
   */
  embedding_pooling?: EmbeddingPooling | null;
  /**
   * Whether the last chunk of a chat's answer has an empty `delta`, as OpenAI's own has. Absent:
   * false; its `content` is then an empty text, as MLC-LLM's is.
   */
  openai_last_chunk?: boolean | null;
  /**
   * Whether a request with a member that no field has is refused, with its path; for programs that
   * write their JSON by hand, as in C. Absent: false; such members are ignored.
   */
  refuse_unknown_fields?: boolean | null;
  /** How many states a recurrent model keeps to roll back to. Absent: 1. Range: at least 1. */
  max_history_size?: number | null;
  /** Whether what was computed is kept for requests that begin alike. Absent: `radix`. */
  prefix_cache_mode?: PrefixCacheMode | null;
  /**
   * How many finished sequences are kept; -1 is as many as the pages hold. Absent: -1. Range: at
   * least -1.
   */
  prefix_cache_max_num_recycling_seqs?: number | null;
  /**
   * A folder in which the prefix cache is kept in files too, so that it is there after a restart;
   * processes may share it. Its files tell what the prompts were. Without effect for encoders and
   * with `prefix_cache_mode` `disable`; refused in browsers. Absent: none.
   */
  prefix_cache_dir?: string | null;
  /**
   * Of a GPU's engine, the most of the host's memory that keeps what the prefix cache on the device
   * has to drop, and gives it back when a prompt begins alike; 0 is none. Refused on CPUs, whose KV
   * cache is in that memory, and in browsers. Absent: twice the KV cache and at most a quarter of
   * what the host has free, on devices with a memory of their own; else 0. Range: at least 0. Unit:
   * bytes.
   */
  prefix_cache_ram_bytes?: number | null;
  /**
   * The most that these files may take; the ones that were not used for the longest time go first.
   * Absent: 8 GiB. Range: at least 1. Unit: bytes.
   */
  prefix_cache_dir_bytes?: number | null;
  /**
   * After how many days without use a file is removed. Absent: 30. Range: at least 1 and at most
   * 36500. Unit: days.
   */
  prefix_cache_dir_days?: number | null;
  /**
   * How tokens are drafted ahead; the answers are the same with and without. Each mode but
   * `disable` also looks up what followed the last tokens earlier, and drafts what is better.
   * Absent: on CPUs, by the model's own MTP layer, Eagle layer, Medusa heads or Gemma 4's
   * assistant, if it has one, texts keep most of their memory, and `mode` is not `server`; else
   * `disable`.
   */
  speculative_mode?: SpeculativeMode | null;
  /**
   * The draft model of `small_draft`, which must have the same vocabulary: `MODEL` or
   * `MODEL,LIBRARY`.
   */
  additional_models?: string[] | null;
  /**
   * The GGUF file with the tower of a GGUF model, as llama.cpp's `--mmproj`; `none` is the text
   * alone. For the Python package, which converts such models; refused elsewhere. Absent: the one
   * beside the model.
   */
  mmproj?: string | null;
  /**
   * How many tokens are drafted a step; 0 adapts to how many are accepted. It needs a
   * `speculative_mode`, or a part that drafts without one. Absent: 0. Range: at least 0. Unit:
   * tokens.
   */
  spec_draft_length?: number | null;
  /**
   * Whether text that a grammar forces is computed ahead. The answers are the same with and
   * without. Absent: true.
   */
  jump_forward?: boolean | null;
  /**
   * Over 1, drafts form a tree that is verified in one step: at most so many at each depth,
   * `spec_draft_length` deep, 63 in all. The answers are the same. Over 1 it needs a
   * `speculative_mode`, or a part that drafts without one. Absent: 1. Range: at least 1 and at most
   * 16.
   */
  spec_tree_width?: number | null;
  /**
   * Among how many shards each layer is divided: groups of CPU threads, or GPUs. Absent: the
   * model's own. Range: at least 1.
   */
  tensor_parallel_shards?: number | null;
  /**
   * Over how many groups of devices the layers are spread. Absent: the model's own. Range: at least
   * 1.
   */
  pipeline_parallel_stages?: number | null;
  /**
   * Room for the adapters that requests choose, in ranks: four adapters of rank 16 take 64. A
   * library that is given must be compiled with `--lora`. Absent: 0, which is no room. Range: at
   * least 0 and at most 65536.
   */
  lora_ranks?: number | null;
  /**
   * The most memory that this room may take; an engine whose `lora_ranks` take more is refused, and
   * the error says how many fit. Absent: what the ranks take. Range: at least 1. Unit: bytes.
   */
  lora_bytes?: number | null;
  /**
   * How many adapters may be loaded at the same time. Absent: as many as the ranks hold. Range: at
   * least 1 and at most 65536.
   */
  max_loras?: number | null;
  /**
   * Worker threads on the CPU. Absent: the physical cores that are free. Range: at least 1 and at
   * most 1024.
   */
  num_threads?: number | null;
}

/** The model's answer. */
export interface ChatCompletionResponseMessage {
  /** Always the assistant. */
  role: "assistant";
  /** The answer's text; null when it consists of tool calls. */
  content: string | null;
  /** Why the model refused to answer. */
  refusal: string | null;
  /** What the model thought before it answered. */
  reasoning_content?: string;
  /** The tools that the model calls. */
  tool_calls?: ChatCompletionMessageToolCall[];
}

/** One of the likeliest tokens at a position. */
export interface TopLogprob {
  /** The token's text. */
  token: string;
  /** Its log probability; -9999 when it is too small to tell. */
  logprob: number;
  /** The UTF-8 bytes of the token, which may be a part of a character. */
  bytes: number[] | null;
}

/** A token of the answer and the likeliest ones in its place. */
export interface ChatCompletionTokenLogprob {
  /** The token's text. */
  token: string;
  /** Its log probability; -9999 when it is too small to tell. */
  logprob: number;
  /** The UTF-8 bytes of the token, which may be a part of a character. */
  bytes: number[] | null;
  /** The likeliest tokens here, likeliest first. */
  top_logprobs: TopLogprob[];
}

/** The log probabilities of an answer. */
export interface ChoiceLogprobs {
  /** One entry for each token of the content. */
  content: ChatCompletionTokenLogprob[] | null;
  /** One entry for each token of a refusal. */
  refusal: ChatCompletionTokenLogprob[] | null;
}

/**
 * Why an answer ended.
 *
 * "stop": The model ended it, or a stop text was reached.
 * "length": `max_tokens`, its default or the context's end was reached.
 * "tool_calls": The model called tools and waits for their answers.
 * "content_filter": A filter held back the rest.
 * "error": The engine failed; the error follows.
 */
export type FinishReason =
  | "stop"
  | "length"
  | "tool_calls"
  | "content_filter"
  | "error"
  | (string & {});

/** One of the answers. */
export interface ChatCompletionChoice {
  /** Which of the `n` answers this is, from 0. Range: at least 0. */
  index: number;
  /** The answer. */
  message: ChatCompletionResponseMessage;
  /** The log probabilities, when they were asked for. */
  logprobs: ChoiceLogprobs | null;
  /** Why the answer ended. */
  finish_reason: FinishReason;
  /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
  stop_reason?: string;
}

/** What the prompt's tokens were. */
export interface PromptTokensDetails {
  /** How many were found in the prefix cache. Range: at least 0. Unit: tokens. */
  cached_tokens?: number;
}

/** What the answer's tokens were. */
export interface CompletionTokensDetails {
  /** How many the model spent thinking. Range: at least 0. Unit: tokens. */
  reasoning_tokens?: number;
  /**
   * How many came from the request's `prediction`. Absent without one. Range: at least 0. Unit:
   * tokens.
   */
  accepted_prediction_tokens?: number;
  /**
   * How many of the `prediction` were tried and differ from the answer. Absent without one. Range:
   * at least 0. Unit: tokens.
   */
  rejected_prediction_tokens?: number;
}

/** Measurements of a request, under MLC-LLM's names. */
export interface CompletionUsageExtra {
  /** The length of the prompt. Range: at least 0. Unit: tokens. */
  prompt_tokens?: number;
  /** The length of the answers. Range: at least 0. Unit: tokens. */
  completion_tokens?: number;
  /**
   * How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
   */
  prefill_tokens?: number;
  /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
  decode_tokens?: number;
  /** The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens. */
  jump_forward_tokens?: number;
  /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
  prefill_tokens_per_s?: number;
  /** How fast the answer was generated. Range: at least 0. Unit: tokens per second. */
  decode_tokens_per_s?: number;
  /** From the request to its first token. Range: at least 0. Unit: seconds. */
  ttft_s?: number;
  /** The mean time from token to token. Range: at least 0. Unit: seconds. */
  inter_token_latency_s?: number;
  /** From the request to its last token. Range: at least 0. Unit: seconds. */
  end_to_end_latency_s?: number;
  /**
   * The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range: at
   * least 0. Unit: tokens.
   */
  drafted_tokens?: number;
  /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
  accepted_draft_tokens?: number;
  /**
   * How many times as fast the answer was generated as it would have been without drafts, by the
   * measured times of steps. Range: at least 0.
   */
  draft_gain?: number;
}

/** What a request cost. */
export interface CompletionUsage {
  /** The length of the prompt. Range: at least 0. Unit: tokens. */
  prompt_tokens: number;
  /** The length of all the answers together. Range: at least 0. Unit: tokens. */
  completion_tokens: number;
  /** The sum of the two. Range: at least 0. Unit: tokens. */
  total_tokens: number;
  /** What the prompt's tokens were. */
  prompt_tokens_details?: PromptTokensDetails;
  /** What the answer's tokens were. */
  completion_tokens_details?: CompletionTokensDetails;
  /** Measurements of this request, when they were asked for. */
  extra?: CompletionUsageExtra;
}

/** Where the time of a request went so far, under llama.cpp's names. */
export interface Timings {
  /** How much of the prompt was cached. Range: at least 0. Unit: tokens. */
  cache_n: number;
  /** How much of the prompt the model read. Range: at least 0. Unit: tokens. */
  prompt_n: number;
  /** How long that took. Range: at least 0. Unit: milliseconds. */
  prompt_ms: number;
  /** The same for each token. Range: at least 0. Unit: milliseconds. */
  prompt_per_token_ms: number;
  /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
  prompt_per_second: number;
  /** The tokens that were generated. Range: at least 0. Unit: tokens. */
  predicted_n: number;
  /** From the first of them to the last. Range: at least 0. Unit: milliseconds. */
  predicted_ms: number;
  /** The mean time from token to token. Range: at least 0. Unit: milliseconds. */
  predicted_per_token_ms: number;
  /** How fast they were generated. Range: at least 0. Unit: tokens per second. */
  predicted_per_second: number;
  /** The tokens that were guessed ahead, if any. Range: at least 0. Unit: tokens. */
  draft_n?: number;
  /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
  draft_n_accepted?: number;
}

/** What a schema says and the answer was not held to. */
export interface SchemaWarning {
  /** The field of the request that holds the schema. */
  param: string;
  /** The JSON pointer of the keyword in the schema. */
  path: string;
  /** Why it is left out. */
  message: string;
}

/** The answers to a request. */
export interface ChatCompletion {
  /** The request's id. */
  id: string;
  /** The kind of object. */
  object: "chat.completion";
  /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
  created: number;
  /** The model that answered. */
  model: string;
  /** The `n` answers. */
  choices: ChatCompletionChoice[];
  /** What the request cost. */
  usage?: CompletionUsage;
  /** Where the time went so far, when `timings_per_token` asks for it. */
  timings?: Timings;
  /** What schemas of the request say and the answer was not held to. */
  warnings?: SchemaWarning[];
  /** Names the configuration that answered; equal ones answer a seed equally. */
  system_fingerprint?: string;
}

/**
 * The kind of a tool.
 *
 * "function": A function.
 */
export type ToolType =
  | "function"
  | (string & {});

/** A piece of a function call. */
export interface ChoiceDeltaFunctionCall {
  /** The function's name, in the call's first piece. */
  name?: string;
  /** The next piece of the arguments' JSON text. */
  arguments?: string;
}

/** A piece of a tool call. */
export interface ChoiceDeltaToolCall {
  /** Which of the message's calls this piece belongs to. Range: at least 0. */
  index: number;
  /** The call's id, in its first piece. */
  id?: string;
  /** The kind of tool, in the call's first piece. */
  type?: ToolType;
  /** The function's piece. */
  function?: ChoiceDeltaFunctionCall;
}

/** What a chunk adds to an answer. */
export interface ChatCompletionChunkDelta {
  /** Who speaks, in an answer's first chunk. */
  role?: ChatCompletionRole;
  /**
   * The next piece of the text; whole characters only. Never absent in an answer's last chunk,
   * where it may be empty, unless the engine's `openai_last_chunk` is set.
   */
  content?: string;
  /** The next piece of what the model thinks. */
  reasoning_content?: string;
  /** The next piece of a refusal. */
  refusal?: string;
  /** The next pieces of tool calls. */
  tool_calls?: ChoiceDeltaToolCall[];
}

/** A piece of one of the answers. */
export interface ChatCompletionChunkChoice {
  /** Which of the `n` answers this belongs to, from 0. Range: at least 0. */
  index: number;
  /** What is added. */
  delta: ChatCompletionChunkDelta;
  /** The log probabilities of the tokens that are added. */
  logprobs: ChoiceLogprobs | null;
  /** Why the answer ended; null until its last chunk. */
  finish_reason: FinishReason | null;
  /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
  stop_reason?: string;
}

/** How much of a prompt was read so far, under llama.cpp's names. */
export interface PromptProgress {
  /** The length of the prompt. Range: at least 0. Unit: tokens. */
  total: number;
  /** How much of it was cached. Range: at least 0. Unit: tokens. */
  cache: number;
  /** How much of it is done, with what was cached. Range: at least 0. Unit: tokens. */
  processed: number;
  /** How long it took so far. Range: at least 0. Unit: milliseconds. */
  time_ms: number;
}

/** A piece of the answers to a request. */
export interface ChatCompletionChunk {
  /** The request's id, the same in all its chunks. */
  id: string;
  /** The kind of object. */
  object: "chat.completion.chunk";
  /**
   * When the request began; the same in all chunks. Range: at least 0. Unit: seconds since 1970,
   * UTC.
   */
  created: number;
  /** The model that answers. */
  model: string;
  /** Pieces of the answers; empty in the chunk that carries the usage. */
  choices: ChatCompletionChunkChoice[];
  /** What the request cost, in the last chunk, when `include_usage` asks for it. */
  usage?: CompletionUsage;
  /** Where the time went so far, when `timings_per_token` asks for it. */
  timings?: Timings;
  /**
   * How much of the prompt was read, in the chunks before the answer, when `return_progress` asks
   * for it.
   */
  prompt_progress?: PromptProgress;
  /** What schemas of the request say and the answer is not held to; in the first chunk. */
  warnings?: SchemaWarning[];
  /** Names the configuration that answers; equal ones answer a seed equally. */
  system_fingerprint?: string;
}

/** The log probabilities of an answer; the lists run side by side. */
export interface CompletionLogprobs {
  /** The tokens' texts. */
  tokens?: string[];
  /** Their log probabilities. */
  token_logprobs?: number[];
  /** At each position from text to log probability, for the likeliest tokens. */
  top_logprobs?: Record<string, number>[];
  /** Where each token begins in the text. Unit: code points. */
  text_offset?: number[];
}

/** One of the answers, or a piece of it. */
export interface CompletionChoice {
  /** Which of the answers this is, from 0. Range: at least 0. */
  index: number;
  /** The text, or its next piece. */
  text: string;
  /** The log probabilities, when they were asked for. */
  logprobs: CompletionLogprobs | null;
  /** Why the answer ended; null until its last chunk. */
  finish_reason: FinishReason | null;
  /** The stop text that ended the answer, as vLLM gives it; absent if none did. */
  stop_reason?: string;
}

/** The continuations of a prompt; a chunk of a stream has the same form. */
export interface Completion {
  /** The request's id, the same in all its chunks. */
  id: string;
  /** The kind of object. */
  object: "text_completion";
  /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
  created: number;
  /** The model that answered. */
  model: string;
  /** The answers; empty in the chunk that carries the usage. */
  choices: CompletionChoice[];
  /** What the request cost; in a stream in the last chunk, when it is asked for. */
  usage?: CompletionUsage;
  /** Where the time went so far, when `timings_per_token` asks for it. */
  timings?: Timings;
  /**
   * How much of the prompt was read, in the chunks before the answer, when `return_progress` asks
   * for it.
   */
  prompt_progress?: PromptProgress;
  /**
   * What the schema of the request says and the answer is not held to; in the first chunk of a
   * stream.
   */
  warnings?: SchemaWarning[];
  /** Names the configuration that answered; equal ones answer a seed equally. */
  system_fingerprint?: string;
}

/** A vector: its numbers, or their base64. */
export type EmbeddingVector =
  | number[]
  | string;

/** The vector of one text. */
export interface Embedding {
  /** Which of the texts this belongs to, from 0. Range: at least 0. */
  index: number;
  /** The kind of object. */
  object: "embedding";
  /** The vector. */
  embedding: EmbeddingVector;
}

/** What a request for embeddings cost. */
export interface EmbeddingUsage {
  /** The length of all texts together. Range: at least 0. Unit: tokens. */
  prompt_tokens: number;
  /** The same. Range: at least 0. Unit: tokens. */
  total_tokens: number;
}

/** The vectors of the texts, in their order. */
export interface EmbeddingResponse {
  /** The kind of object. */
  object: "list";
  /** The vectors. */
  data: Embedding[];
  /** The model that made them. */
  model: string;
  /** What the request cost. */
  usage: EmbeddingUsage;
}

/** How well one document answers the query. */
export interface RerankResult {
  /** Which of the documents it is, from 0. Range: at least 0. */
  index: number;
  /** The score; a larger one is better. */
  relevance_score: number;
  /** The document. Absent: it was not asked for by `return_documents`. */
  document?: RerankDocument;
}

/** The documents in the order of their scores, the best first. */
export interface RerankResponse {
  /** The answer's id. */
  id: string;
  /** The kind of object. */
  object: "list";
  /** The model that judged. */
  model: string;
  /** The results, the best first. */
  results: RerankResult[];
  /** What the request cost. */
  usage: EmbeddingUsage;
}

/** The tokens of a text. */
export interface TokenizeResponse {
  /** The token ids. Range: at least 0. */
  tokens: number[];
  /** How many there are. Range: at least 0. Unit: tokens. */
  count: number;
}

/** The text of tokens. */
export interface DetokenizeResponse {
  /** The text; bytes that are no UTF-8 are replaced by U+FFFD. */
  text: string;
}

/** The length of a conversation as the model would read it. */
export interface InputTokensResponse {
  /** The length of the prompt. Range: at least 0. Unit: tokens. */
  input_tokens: number;
}

/** A conversation as the model's chat template writes it. */
export interface RenderResponse {
  /** The text that the model continues. */
  prompt: string;
}

/** What was saved. */
export interface KVSaveResponse {
  /** How many tokens the state is of. Range: at least 0. Unit: tokens. */
  tokens: number;
  /** The file's size. Range: at least 0. Unit: bytes. */
  bytes: number;
}

/** What was loaded. */
export interface KVLoadResponse {
  /**
   * How many tokens a request that begins like the saved one finds. Range: at least 0. Unit:
   * tokens.
   */
  tokens: number;
}

/** A prompt, and how much of it the prefix cache holds. */
export interface KVHeldPrompt {
  /** The prompt's token ids. Range: at least 0. */
  tokens: number[];
  /** How many of the first ones are held. Range: at least 0. Unit: tokens. */
  held: number;
}

/** The prompts of a request that a state of `kv.save` can stand for. */
export interface KVHeldResponse {
  /**
   * Those that consist of tokens alone, in their order: prompts with pictures are left out, and so
   * are requests that choose an adapter or want the prompt's `logprobs`.
   */
  prompts: KVHeldPrompt[];
}

/** What was given back. */
export interface TrimResponse {
  /** KV pages whose memory went back to the system. Range: at least 0. */
  pages: number;
  /** The memory of them; 0 on devices that keep their memory. Range: at least 0. Unit: bytes. */
  page_bytes: number;
  /** Weights that the system may drop and read again. Range: at least 0. Unit: bytes. */
  weight_bytes: number;
}

/** What was made ready. */
export interface PrewarmResponse {
  /** Weights that were read into memory from their files. Range: at least 0. Unit: bytes. */
  weight_bytes: number;
}

/** The limits that hold now. */
export interface ThermalLimits {
  /** Threads that compute. Range: at least 1. */
  num_threads: number;
  /** Answers that are generated at the same time. Range: at least 1. */
  max_num_sequence: number;
  /** Tokens of one step. Range: at least 1. Unit: tokens. */
  prefill_chunk_size: number;
}

/** An adapter that requests may choose. */
export interface AdapterInfo {
  /** Its name. */
  name: string;
  /** The rank of its matrices. Range: at least 1. */
  rank: number;
  /** What identifies its content. */
  hash: string;
}

/** The adapters that requests may choose. */
export interface AdapterList {
  /** In the order of their names. */
  adapters: AdapterInfo[];
  /** How many ranks have room, those of all adapters together. Range: at least 0. */
  ranks: number;
  /** How many of them are free; an adapter takes a multiple of 8. Range: at least 0. */
  free_ranks: number;
}

/**
 * Whether a server has a model in memory.
 *
 * "unloaded": It is known, and a request loads it.
 * "loading": It is being loaded.
 * "loaded": It answers at once.
 * "sleeping": It is loaded, and gave back what can be computed or read again.
 * "leaving": It ends its last requests, and leaves.
 * "failed": Its last load failed; it is tried again after some time.
 */
export type ModelStatus =
  | "unloaded"
  | "loading"
  | "loaded"
  | "sleeping"
  | "leaving"
  | "failed"
  | (string & {});

/**
 * What a model reads.
 *
 * "text": Texts.
 * "image": Pictures: parts `image_url` of messages.
 */
export type InputModality =
  | "text"
  | "image"
  | (string & {});

/** A model that can answer. */
export interface ModelObject {
  /** The model's name, as requests give it in `model`. */
  id: string;
  /** The kind of object. */
  object: "model";
  /** When it was made. Range: at least 0. Unit: seconds since 1970, UTC. */
  created: number;
  /** Who offers it. */
  owned_by: string;
  /** Whether it is in memory. Absent: nobody says. */
  status?: ModelStatus;
  /** How far its load is. Range: at least 0 and at most 1. */
  progress?: number;
  /** What it reads. Absent: that is known once it is loaded. */
  input_modalities?: InputModality[];
  /** Of an adapter: its model. Absent: it is a model. */
  parent?: string;
  /** Of an adapter: where it was loaded from. Absent: nobody says. */
  root?: string;
}

/** The models that can answer. */
export interface ModelList {
  /** The kind of object. */
  object: "list";
  /** The models. */
  data: ModelObject[];
}

/** A kind of device, and whether this machine has it. */
export interface DeviceProbe {
  /** The device, such as `cuda:0`. */
  name: string;
  /** Whether it can be used. */
  found: boolean;
  /** Why it cannot be used; empty when it can. */
  reason: string;
  /** What its driver calls it. Absent: nobody says. */
  description?: string;
  /** The size of its memory; of the CPU: what is free now. Range: at least 0. Unit: bytes. */
  memory_bytes?: number;
  /** The largest tensor it can hold. Range: at least 0. Unit: bytes. */
  max_buffer_bytes?: number;
  /** Memory that a work-group shares. Range: at least 0. Unit: bytes. */
  local_memory_bytes?: number;
  /** Work-items of a work-group at most. Range: at least 0. */
  max_group_size?: number;
  /** Whether it computes with 16-bit floats. */
  f16?: boolean;
  /** Whether it is the CPU, driven as another device; `auto` passes over it. */
  is_processor?: boolean;
}

/** Measurements of one request; `usage.extra` has the same. */
export interface RequestMetrics {
  /** The length of the prompt. Range: at least 0. Unit: tokens. */
  prompt_tokens?: number;
  /** The length of the answers. Range: at least 0. Unit: tokens. */
  completion_tokens?: number;
  /**
   * How much of the prompt the model read; the rest was cached. Range: at least 0. Unit: tokens.
   */
  prefill_tokens?: number;
  /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
  decode_tokens?: number;
  /** The tokens that a grammar forced, without the model. Range: at least 0. Unit: tokens. */
  jump_forward_tokens?: number;
  /** How fast the prompt was read. Range: at least 0. Unit: tokens per second. */
  prefill_tokens_per_s?: number;
  /** How fast the answer was generated. Range: at least 0. Unit: tokens per second. */
  decode_tokens_per_s?: number;
  /** From the request to its first token. Range: at least 0. Unit: seconds. */
  ttft_s?: number;
  /** The mean time from token to token. Range: at least 0. Unit: seconds. */
  inter_token_latency_s?: number;
  /** From the request to its last token. Range: at least 0. Unit: seconds. */
  end_to_end_latency_s?: number;
  /**
   * The tokens that were guessed ahead, by any kind of draft. Absent if there was none. Range: at
   * least 0. Unit: tokens.
   */
  drafted_tokens?: number;
  /** Of them those that are in the answer. Range: at least 0. Unit: tokens. */
  accepted_draft_tokens?: number;
  /**
   * How many times as fast the answer was generated as it would have been without drafts, by the
   * measured times of steps. Range: at least 0.
   */
  draft_gain?: number;
}

/** How often a text that was known ahead saved a step. */
export interface KnownTextMetrics {
  /** Tokens of such text that were computed ahead. Range: at least 0. */
  draft_count: number;
  /** Of them those that the model chose: each saved a step. Range: at least 0. */
  accept_count: number;
}

/** How speculative decoding fares; each list has one number for each drafted position. */
export interface SpecDecodeMetrics {
  /** How many tokens were drafted. Unit: tokens. */
  draft_count?: number[];
  /** How many were accepted. Unit: tokens. */
  accept_count?: number[];
  /** The share of drafts accepted at each position, by `step=i`. */
  accept_prob?: JSONObject;
  /** The share of accepted among those whose predecessor was, by `step=i`. */
  accept_rate?: JSONObject;
  /** The mean number of tokens accepted up to each position, by `step=i`. */
  accept_len?: JSONObject;
}

/** Counters since the model was loaded or the engine was reset. */
export interface EngineMetrics {
  /** The model's time on prompts. Range: at least 0. Unit: seconds. */
  engine_prefill_time_sum?: number;
  /** The model's time on answers. Range: at least 0. Unit: seconds. */
  engine_decode_time_sum?: number;
  /** The time spent on text that grammars forced. Range: at least 0. Unit: seconds. */
  engine_jump_forward_time_sum?: number;
  /** The length of all prompts. Range: at least 0. Unit: tokens. */
  prompt_tokens_sum?: number;
  /** How much of the prompts the model read. Range: at least 0. Unit: tokens. */
  prefill_tokens_sum?: number;
  /** The tokens that were generated one by one. Range: at least 0. Unit: tokens. */
  decode_tokens_sum?: number;
  /** The tokens that grammars forced. Range: at least 0. Unit: tokens. */
  jump_forward_tokens_sum?: number;
  /** The length of all answers. Range: at least 0. Unit: tokens. */
  completion_tokens_sum?: number;
  /** How fast prompts are read. Range: at least 0. Unit: tokens per second. */
  prefill_tokens_per_s?: number;
  /** How fast answers are generated. Range: at least 0. Unit: tokens per second. */
  decode_tokens_per_s?: number;
  /** The pages of the KV cache. Range: at least 0. Unit: pages. */
  kv_pages_total?: number;
  /** The pages that no sequence holds now. Range: at least 0. Unit: pages. */
  kv_pages_free?: number;
  /** The sequences that are generated at the moment. Range: at least 0. */
  num_running_sequences?: number;
  /** The sequences that wait for their turn or for pages. Range: at least 0. */
  num_waiting_sequences?: number;
  /** The requests that no step has taken in yet. Range: at least 0. */
  num_queued_requests?: number;
  /** How often the model ran. Range: at least 0. */
  num_steps?: number;
  /** How often a sequence had to give back its pages and begin again. Range: at least 0. */
  num_preemptions?: number;
  /**
   * What the prefix cache got from the host's memory (`prefix_cache_ram_bytes`) and from files of
   * `prefix_cache_dir`. Range: at least 0. Unit: tokens.
   */
  restored_tokens_sum?: number;
  /** The files that were written to `prefix_cache_dir`. Range: at least 0. Unit: files. */
  written_blocks_sum?: number;
  /**
   * The host's memory that keeps what the prefix cache on the device may have to drop. Range: at
   * least 0. Unit: bytes.
   */
  prefix_cache_ram_bytes?: number;
  /** What came back from the device: tokens, or rows of logits. Range: at least 0. Unit: bytes. */
  device_read_bytes_sum?: number;
  /** Pictures of which the vision tower made rows. Range: at least 0. Unit: pictures. */
  encoded_pictures_sum?: number;
  /** The time of the vision tower. Range: at least 0. Unit: seconds. */
  engine_encode_time_sum?: number;
  /** Pictures whose rows were kept from an earlier request. Range: at least 0. Unit: pictures. */
  picture_cache_hits_sum?: number;
  /** The rows of pictures that are kept. Range: at least 0. Unit: bytes. */
  picture_cache_bytes?: number;
  /** Requests that ended well. Range: at least 0. */
  num_finished_requests?: number;
  /** Requests that ended with an error or were cancelled. Range: at least 0. */
  num_failed_requests?: number;
  /** Measurements of the request that ended last. */
  last_finished_request?: RequestMetrics;
  /** How often text that a grammar forces saved a step. */
  jump_forward?: KnownTextMetrics;
  /** How often a request's `prediction` saved a step. */
  prediction?: KnownTextMetrics;
  /** How often text that came earlier saved a step. `spec_decode` contains it. */
  prompt_lookup?: KnownTextMetrics;
  /** The tokens that were guessed ahead, by any kind of draft. Range: at least 0. Unit: tokens. */
  drafted_tokens_sum?: number;
  /** Of them those that are in the answers. Range: at least 0. Unit: tokens. */
  accepted_draft_tokens_sum?: number;
  /**
   * How many times as fast answers were generated as they would have been without drafts, by the
   * measured times of steps. Absent until steps with drafts and without were measured. Range: at
   * least 0.
   */
  draft_gain?: number;
  /** How speculative decoding fares. */
  spec_decode?: SpecDecodeMetrics;
  /** The time of a decode step by the number of sequences in it. Unit: seconds. */
  decode_time_by_batch_size?: JSONObject;
  /** The time of a draft by the number of sequences in it. Unit: seconds. */
  draft_time_by_batch_size?: JSONObject;
  /** The time of a verification by the number of sequences in it. Unit: seconds. */
  verify_time_by_batch_size?: JSONObject;
}

/** What an engine would allocate for a model in a mode, and whether that fits. */
export interface Plan {
  /** The model's name. */
  model: string;
  /** The model's family, such as `llama`. */
  model_type: string;
  /** The scheme of its weights, such as `q4f32_1`. */
  quantization: string;
  /** The device, such as `cpu:0`. */
  device: string;
  /** The engine's mode. */
  mode: string;
  /** How many sequences are generated at the same time. Range: at least 0. */
  max_num_sequence: number;
  /** The capacity of the KV cache, all sequences together. Range: at least 0. Unit: tokens. */
  max_total_seq_length: number;
  /** The longest sequence. Range: at least 0. Unit: tokens. */
  context_window_size: number;
  /** What would allow a longer sequence. Missing: nothing would, the model ends there. */
  context_limit?: string;
  /** The most tokens of prompts that one step takes in. Range: at least 0. Unit: tokens. */
  prefill_chunk_size: number;
  /** Keys and values of one token. Range: at least 0. Unit: bytes. */
  kv_bytes_per_token: number;
  /** The precision of cached keys and values, such as `q8`. */
  kv_cache_dtype: string;
  /** The weights, without `table_bytes`. Range: at least 0. Unit: bytes. */
  parameter_bytes: number;
  /**
   * Tables of which a token reads single rows, as embeddings. On a CPU they stay in the model's
   * files; no sum counts them, since the system keeps of them what fits. Range: at least 0. Unit:
   * bytes.
   */
  table_bytes: number;
  /** The KV cache. Range: at least 0. Unit: bytes. */
  kv_cache_bytes: number;
  /** The room for adapters that requests choose, in ranks. Range: at least 0. Unit: ranks. */
  lora_ranks: number;
  /** That room. Range: at least 0. Unit: bytes. */
  adapter_bytes: number;
  /** The largest step's temporaries. Range: at least 0. Unit: bytes. */
  temporary_bytes: number;
  /** All of it. Range: at least 0. Unit: bytes. */
  total_bytes: number;
  /**
   * The most of the host's memory that keeps what the prefix cache on the device has to drop; no
   * sum counts it. Range: at least 0. Unit: bytes.
   */
  prefix_cache_ram_bytes: number;
  /**
   * What the device has free now, and at most `memory_limit_bytes`. Range: at least 0. Unit: bytes.
   */
  available_bytes: number;
  /** What the model reads. */
  input_modalities: InputModality[];
  /** Whether the engine would load. */
  fits: boolean;
  /** Why it would not. */
  reason?: string;
  /** The same for people, a line an item. */
  summary: string[];
}

/**
 * The class of an error. Their order is their number in the C header; append only.
 *
 * "invalid_argument": The caller's request or option is wrong.
 * "not_found": A file, model or function that was named does not exist.
 * "corrupt": A file exists but does not hold what it must.
 * "unsupported": The request is understood, but not offered.
 * "resource_exhausted": Memory, disk, pages or the queue are full.
 * "cancelled": The caller aborted it.
 * "unavailable": Not possible now, but perhaps later.
 * "deadline_exceeded": A time limit has passed.
 * "internal": A mistake of the engine or of this package.
 */
export type ErrorStatus =
  | "invalid_argument"
  | "not_found"
  | "corrupt"
  | "unsupported"
  | "resource_exhausted"
  | "cancelled"
  | "unavailable"
  | "deadline_exceeded"
  | "internal"
  | (string & {});

/** What went wrong. */
export interface ErrorObject {
  /** What went wrong and what to do about it. */
  message: string;
  /** The class of the error, such as `invalid_request_error`. */
  type: string;
  /** The path of the field at fault, such as `messages[2].content`. */
  param: string | null;
  /** A short machine-readable reason, such as `context_length_exceeded`. */
  code: string | null;
  /** The class of the reason: what a program does that does not know the reason. */
  status?: ErrorStatus;
}

/** The answer to a request that failed. */
export interface ErrorResponse {
  /** What went wrong. */
  error: ErrorObject;
}
