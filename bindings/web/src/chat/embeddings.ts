/** `engine.embeddings`: the form of the vectors follows from the request. */

import type { RequestOptions } from "../engine/channel.ts";
import { Embeddings } from "../protocol/routes.gen.ts";
import type * as types from "../protocol/types.gen.ts";
import type { CreateEmbeddingResponse } from "../webllm/names.ts";

export class HelpedEmbeddings extends Embeddings {
  override create(
    request: types.EmbeddingRequest & { encoding_format?: "float" | null },
    options?: RequestOptions,
  ): Promise<CreateEmbeddingResponse>;
  override create(
    request: types.EmbeddingRequest,
    options?: RequestOptions,
  ): Promise<types.EmbeddingResponse>;
  override create(
    request: types.EmbeddingRequest,
    options?: RequestOptions,
  ): Promise<types.EmbeddingResponse> {
    return super.create(request, options);
  }
}
