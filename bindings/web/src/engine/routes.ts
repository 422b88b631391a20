/** All that can be asked of a loaded model. */

import { HelpedChatCompletions } from "../chat/completions.ts";
import { HelpedEmbeddings } from "../chat/embeddings.ts";
import { HelpedCompletions } from "../chat/text_completions.ts";
import { Calls, Rerank } from "../protocol/routes.gen.ts";
import type { Channel } from "./channel.ts";

export class EngineRoutes extends Calls {
  readonly chat: { readonly completions: HelpedChatCompletions };
  readonly completions: HelpedCompletions;
  readonly embeddings: HelpedEmbeddings;
  readonly rerank: Rerank;

  constructor(channel: Channel) {
    super(channel);
    this.chat = { completions: new HelpedChatCompletions(channel) };
    this.completions = new HelpedCompletions(channel);
    this.embeddings = new HelpedEmbeddings(channel);
    this.rerank = new Rerank(channel);
  }
}
