/** Pictures as parts of messages. */

import type { ChatCompletionContentPartImage, ImageDetail } from "../protocol/types.gen.ts";

/** What has pixels, and a canvas can draw. A picture that is still decoded has none. */
export type Drawable = ImageBitmap | HTMLCanvasElement | OffscreenCanvas;

/**
 * A picture within a message: the bytes of its file, a `Blob` or `File` that the user chose, what a
 * page has drawn, or a `data:` URL.
 *
 *     const parts = [await picture(file), { type: "text", text: "What is this?" }];
 *     await engine.chat.completions.create({ messages: [{ role: "user", content: parts }] });
 */
export async function picture(
  source: Uint8Array | ArrayBuffer | Blob | Drawable | string,
  options: { detail?: ImageDetail } = {},
): Promise<ChatCompletionContentPartImage> {
  return { type: "image_url", image_url: { url: await urlOf(source), ...options } };
}

async function urlOf(source: Parameters<typeof picture>[0]): Promise<string | Uint8Array> {
  if (typeof source === "string" || source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const file = source instanceof Blob ? source : await draw(source).convertToBlob();
  return new Uint8Array(await file.arrayBuffer());
}

/** A canvas of its own, which writes a PNG on the page and in workers alike. */
function draw(source: Drawable): OffscreenCanvas {
  if ("convertToBlob" in source) return source;
  const canvas = new OffscreenCanvas(source.width, source.height);
  canvas.getContext("2d")!.drawImage(source, 0, 0);
  return canvas;
}
