/** All that can be asked of a loaded model. */

import { HelpedChatCompletions } from "../chat/completions.ts";
import { HelpedEmbeddings } from "../chat/embeddings.ts";
import { HelpedCompletions } from "../chat/text_completions.ts";
import { Calls, Rerank } from "../protocol/routes.gen.ts";
import type { AdapterList } from "../protocol/types.gen.ts";
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

  /**
   * Lets requests choose a LoRA adapter by its name in `lora`, from a file of
   * `mlc_llm convert_adapter`. One of the same name is replaced; its requests go on with it. The
   * model must be loaded with room for it (`lora_ranks`).
   */
  loadAdapter(name: string, path: string): Promise<AdapterList> {
    return this.adaptersLoad({ name, path });
  }

  /** Takes an adapter from new requests; its running requests go on with it. */
  unloadAdapter(name: string): Promise<AdapterList> {
    return this.adaptersUnload({ name });
  }

  /** The adapters that requests may choose, and how much room is left. */
  adapters(): Promise<AdapterList> {
    return this.adaptersList({});
  }
}
