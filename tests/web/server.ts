/** A model's folder behind `fetch`: with ranges, broken connections and a record of what is asked. */

export const ORIGIN = "https://models.test/";

export interface Asked {
  readonly url: string;
  readonly range: string | null;
  readonly ifRange: string | null;
}

export class FakeServer {
  readonly asked: Asked[] = [];
  readonly files = new Map<string, Uint8Array>();
  /** After so many bytes of a file's answer the connection breaks, once for each entry. */
  readonly breaks = new Map<string, number[]>();
  isOffline = false;
  version = "1";

  constructor(files: Record<string, string | Uint8Array>) {
    for (const [name, content] of Object.entries(files)) {
      const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
      this.files.set(ORIGIN + name, bytes);
    }
  }

  readonly fetch = (input: RequestInfo | URL, init?: RequestInit): Promise<Response> => {
    const url = String(input), headers = new Headers(init?.headers);
    const range = headers.get("range"), ifRange = headers.get("if-range");
    if (this.isOffline) return Promise.reject(new TypeError("offline"));
    this.asked.push({ url, range, ifRange });
    const bytes = this.files.get(url);
    if (!bytes) return Promise.resolve(new Response("no", { status: 404 }));
    const etag = `"${this.version}"`;
    const isSame = ifRange === null || ifRange === etag;
    const from = range && isSame ? Number(/\d+/.exec(range)?.[0]) : 0;
    const status = from > 0 ? 206 : 200;
    return Promise.resolve(
      new Response(this.body(url, bytes, from), { status, headers: { etag } }),
    );
  };

  private body(url: string, bytes: Uint8Array, from: number): ReadableStream<Uint8Array> {
    const limit = this.breaks.get(url)?.shift();
    const pieces = limit === undefined ? bytes.slice(from) : bytes.slice(from, from + limit);
    let isSent = false;
    return new ReadableStream({
      pull(controller) {
        if (!isSent) {
          isSent = true;
          if (pieces.length) return controller.enqueue(pieces);
        }
        if (limit === undefined) controller.close();
        else controller.error(new TypeError("connection reset"));
      },
    });
  }
}

/** A folder with weights in two shards and a library. */
export function modelFolder(name = "tiny/"): Record<string, string | Uint8Array> {
  const config = {
    model_type: "llama",
    context_window_size: 64,
    tokenizer_files: ["tokenizer.json"],
  };
  const shard = (i: number) => new Uint8Array(1000 + i).fill(i + 1);
  const records = [0, 1].map((i) => ({ dataPath: `params_shard_${i}.bin`, nbytes: 1000 + i }));
  return {
    [`${name}mlc-chat-config.json`]: JSON.stringify(config),
    [`${name}tokenizer.json`]: '{"model": {}}',
    [`${name}tensor-cache.json`]: JSON.stringify({ records }),
    [`${name}params_shard_0.bin`]: shard(0),
    [`${name}params_shard_1.bin`]: shard(1),
    [`${name}lib.wasm`]: new Uint8Array(77),
    "mlc_llm.wasm": new Uint8Array(9),
  };
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes.slice()));
  return `sha256-${btoa(String.fromCharCode(...digest))}`;
}
