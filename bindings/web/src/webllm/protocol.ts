/** What WebLLM's requests and answers have, and the protocol writes in another way. */

import { UnsupportedError } from "../errors.ts";
import type * as types from "../protocol/types.gen.ts";

/** WebLLM's own fields of a request. Others are sent as fields of the request itself. */
export interface ExtraBody {
  /** The same as `chat_template_kwargs.enable_thinking`. */
  enable_thinking?: boolean | null;
  [field: string]: unknown;
}

/** Text in which tagged stretches have a shape, in the form of a whole structural tag. */
export interface ResponseFormatWholeTag {
  type: "structural_tag";
  /** `{ type: "structural_tag", format: ... }` */
  structural_tag: { readonly format?: unknown; readonly [member: string]: unknown };
}

export type ResponseFormat = types.ResponseFormat | ResponseFormatWholeTag;

/** What a request of WebLLM has beside the protocol's fields. */
interface OwnFields {
  response_format?: ResponseFormat | null;
  extra_body?: ExtraBody | null;
  /** The same as `debug_config.ignore_eos`. */
  ignore_eos?: boolean | null;
}

export type ChatCompletionRequestBase =
  & Omit<types.ChatCompletionRequest, "response_format">
  & OwnFields;
export type ChatCompletionRequestStreaming = ChatCompletionRequestBase & { stream: true };
export type ChatCompletionRequestNonStreaming = ChatCompletionRequestBase & {
  stream?: false | null;
};
export type ChatCompletionRequest =
  | ChatCompletionRequestStreaming
  | ChatCompletionRequestNonStreaming;

/** `logprobs` may be WebLLM's `true`, with `top_logprobs` beside it. */
export type CompletionCreateParamsBase = Omit<types.CompletionRequest, "logprobs"> & {
  logprobs?: number | boolean | null;
  top_logprobs?: number | null;
  ignore_eos?: boolean | null;
};
export type CompletionCreateParamsStreaming = CompletionCreateParamsBase & { stream: true };
export type CompletionCreateParamsNonStreaming = CompletionCreateParamsBase & {
  stream?: false | null;
};
export type CompletionCreateParams =
  | CompletionCreateParamsStreaming
  | CompletionCreateParamsNonStreaming;

/** Measurements of a request, under the protocol's names and WebLLM's. */
export interface UsageExtra extends types.CompletionUsageExtra {
  prefill_tokens_per_s: number;
  decode_tokens_per_s: number;
  /** The same as `end_to_end_latency_s`. */
  e2e_latency_s: number;
  /** The same as `ttft_s`. */
  time_to_first_token_s: number;
  /** The same as `inter_token_latency_s`. */
  time_per_output_token_s: number;
}

export interface CompletionUsage extends types.CompletionUsage {
  extra: UsageExtra;
}

type WithUsage<T> = Omit<T, "usage"> & { usage?: CompletionUsage };
export type ChatCompletion = WithUsage<types.ChatCompletion>;
export type Completion = WithUsage<types.Completion>;
export type ChatCompletionChunk = WithUsage<types.ChatCompletionChunk>;

/** The request as the engine takes it. */
export function plainRequest(request: ChatCompletionRequestBase): types.ChatCompletionRequest {
  const { extra_body, ignore_eos, response_format: format, ...rest } = request;
  const { enable_thinking, enable_latency_breakdown, resumable, ...others } = extra_body ?? {};
  if (enable_latency_breakdown) refuse("enable_latency_breakdown");
  if (resumable) refuse("resumable");
  const thinking = enable_thinking === undefined || enable_thinking === null
    ? {}
    : { chat_template_kwargs: { ...rest.chat_template_kwargs, enable_thinking } };
  return {
    ...rest,
    ...others,
    ...thinking,
    ...(format ? { response_format: plainFormat(format) } : {}),
    ...(ignore_eos ? { debug_config: { ...rest.debug_config, ignore_eos } } : {}),
    usage_extra: rest.usage_extra ?? true,
  };
}

/** The same of a request without a chat. */
export function plainCompletion(request: CompletionCreateParamsBase): types.CompletionRequest {
  const { logprobs, top_logprobs, ignore_eos, ...rest } = request;
  const asked = logprobs === true ? top_logprobs ?? 0 : logprobs === false ? null : logprobs;
  return {
    ...rest,
    ...(asked === undefined || asked === null ? {} : { logprobs: asked }),
    ...(ignore_eos ? { debug_config: { ...rest.debug_config, ignore_eos } } : {}),
  };
}

function plainFormat(format: ResponseFormat): types.ResponseFormat {
  if (format.type !== "structural_tag" || !("structural_tag" in format)) return format;
  const { structural_tag: tag } = format as ResponseFormatWholeTag;
  return { type: "structural_tag", format: (tag.format ?? tag) as types.JSONObject };
}

function refuse(field: string): never {
  throw new UnsupportedError(
    `extra_body.${field}: is not there; usage.extra has the engine's own measurements, and ` +
      "kvSave keeps a conversation",
    { param: `extra_body.${field}` },
  );
}

/** The answer with WebLLM's names of its measurements. */
export function withNames<T extends { usage?: types.CompletionUsage | null }>(
  answer: T,
): WithUsage<T> {
  const { usage } = answer;
  if (!usage) return answer as WithUsage<T>;
  const extra = usage.extra ?? {};
  const named: UsageExtra = {
    ...extra,
    prefill_tokens_per_s: extra.prefill_tokens_per_s ?? 0,
    decode_tokens_per_s: extra.decode_tokens_per_s ?? 0,
    e2e_latency_s: extra.end_to_end_latency_s ?? 0,
    time_to_first_token_s: extra.ttft_s ?? 0,
    time_per_output_token_s: extra.inter_token_latency_s ?? 0,
  };
  return { ...answer, usage: { ...usage, extra: named } };
}
