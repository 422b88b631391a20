/** Pictures as parts of messages: of bytes, files, and what a page has drawn. */

import assert from "node:assert/strict";
import { type Drawable, picture } from "../../bindings/web/src/chat/picture.ts";

const FILE = Uint8Array.of(137, 80, 78, 71);

Deno.test("a picture is bytes, a file or a URL", async () => {
  const part = { type: "image_url", image_url: { url: FILE } };
  for (const source of [FILE, FILE.buffer, new Blob([FILE]), new File([FILE], "cat.png")]) {
    assert.deepEqual(await picture(source), part);
  }
  const low = { type: "image_url", image_url: { url: "data:;base64,AA==", detail: "low" } };
  assert.deepEqual(await picture("data:;base64,AA==", { detail: "low" }), low);
});

/** What a browser has: it writes the size of its content. */
class Canvas {
  drawn: unknown[] = [];
  constructor(readonly width: number, readonly height: number) {}
  getContext(kind: string) {
    assert.equal(kind, "2d");
    return { drawImage: (...words: unknown[]) => this.drawn.push(...words) };
  }
  convertToBlob() {
    const size = [this.width, this.height, this.drawn.length];
    return Promise.resolve(new Blob([Uint8Array.from(size)]));
  }
}

Deno.test("a picture is what a page has drawn", async () => {
  Object.assign(globalThis, { OffscreenCanvas: Canvas });
  const url = async (source: object) => {
    const { image_url } = await picture(source as Drawable);
    return (image_url as { url: Uint8Array }).url;
  };
  assert.deepEqual(await url(new Canvas(3, 2)), Uint8Array.of(3, 2, 0)); // as it is
  assert.deepEqual(await url({ width: 5, height: 4 }), Uint8Array.of(5, 4, 3)); // drawn at 0, 0
});
