/** Answers as values of a schema. */

import { UnfinishedAnswerError } from "../errors.ts";
import type {
  ChatCompletion,
  ChatCompletionChoice,
  ChatCompletionRequest,
  ChatCompletionResponseMessage,
  ResponseFormat,
} from "../protocol/types.gen.ts";
import { fit, type FromSchema, type JSONSchema } from "./schema.ts";

/** A request of `parse`: the schema stands in place of `response_format`. */
export type ParseRequest<S extends JSONSchema> =
  & Omit<ChatCompletionRequest, "response_format" | "stream" | "stream_options">
  & {
    /** The schema of the answer; written as a literal, it gives the answer its type. */
    schema: S;
    /** The schema's name, which some models read. */
    schema_name?: string;
  };

export interface ParsedMessage<T> extends ChatCompletionResponseMessage {
  /** The value; null if the message calls tools instead. */
  parsed: T | null;
}

export interface ParsedChoice<T> extends ChatCompletionChoice {
  message: ParsedMessage<T>;
}

/** The answers to a request, with their values. */
export interface ParsedChatCompletion<T> extends ChatCompletion {
  choices: ParsedChoice<T>[];
}

/** A `response_format` that restricts an answer to a schema. */
export function formatOf(schema: JSONSchema, name = "answer"): ResponseFormat {
  return {
    type: "json_schema",
    json_schema: { name, schema: schema as Record<string, unknown>, strict: true },
  };
}

/** An answer with the values of its choices. */
export function parsed<S extends JSONSchema>(
  answer: ChatCompletion,
  schema: S,
): ParsedChatCompletion<FromSchema<S>> {
  const choices = answer.choices.map((choice) => {
    const { content, tool_calls } = choice.message;
    const isValue = content !== null && !tool_calls?.length;
    const value = isValue ? valueOf<S>(choice, content, schema) : null;
    return { ...choice, message: { ...choice.message, parsed: value } };
  });
  return { ...answer, choices };
}

function valueOf<S extends JSONSchema>(
  choice: ChatCompletionChoice,
  content: string,
  schema: S,
): FromSchema<S> {
  try {
    return fit(schema, JSON.parse(content)) as FromSchema<S>;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnfinishedAnswerError(
      `answer ${choice.index} (finish_reason ${choice.finish_reason}) is no whole value: ${why}; ` +
        "give it more tokens",
      { param: `choices[${choice.index}]` },
    );
  }
}
