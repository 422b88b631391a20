/** `engine.chat.completions`: the route, and the helpers over it. */

import { InternalError } from "../errors.ts";
import type { RequestOptions } from "../engine/channel.ts";
import { ChatCompletions } from "../protocol/routes.gen.ts";
import type { ToolRun, ToolRunEvent } from "../protocol/tools.gen.ts";
import type { FromSchema, JSONSchema } from "./schema.ts";
import { formatOf, parsed, type ParsedChatCompletion, type ParseRequest } from "./structured.ts";
import { toolEvents, type ToolOptions, type ToolRequest } from "./tool_loop.ts";

export class HelpedChatCompletions extends ChatCompletions {
  /** The answer as a value of `request.schema`: `choices[0].message.parsed`. */
  async parse<const S extends JSONSchema>(
    request: ParseRequest<S>,
    options?: RequestOptions,
  ): Promise<ParsedChatCompletion<FromSchema<S>>> {
    const { schema, schema_name, ...rest } = request;
    const response_format = formatOf(schema, schema_name);
    return parsed(await this.create({ ...rest, response_format, stream: false }, options), schema);
  }

  /** Runs the model's tool calls until it answers with text. */
  async runTools(
    request: ToolRequest,
    options: ToolOptions & RequestOptions = {},
  ): Promise<ToolRun> {
    for await (const event of this.streamTools(request, options)) {
      if (event.type === "end") return event.run;
    }
    throw new InternalError("a loop of tool calls ended without its end");
  }

  /** The same, with an event for all that happens; leaving the loop ends it. */
  streamTools(
    request: ToolRequest,
    options: ToolOptions & RequestOptions = {},
  ): AsyncGenerator<ToolRunEvent, void, undefined> {
    const { signal } = options;
    const ask = (asked: object) => this.create({ ...asked, stream: true } as never, { signal });
    return toolEvents(ask as Parameters<typeof toolEvents>[0], request, options);
  }
}
