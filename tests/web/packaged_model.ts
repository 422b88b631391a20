// The SDK over a folder of `mlc_llm package --device web`, on a server of this machine. Prints the
// answers to the prompts, one after another, the engine's metrics, and the bytes of WebAssembly's
// memory without the model and with it, as JSON.
//
//   deno run -A packaged_model.ts DIST WASM REQUESTS.json    (test_web_model.py)

import { type Core, loadCore, openGpu } from "../../bindings/web/runtime/core.ts";
import {
  type ChatCompletionRequestStreaming,
  CreateMLCEngine,
  fetchAppConfig,
} from "../../bindings/web/src/mod.ts";

const [dist, wasm, requests] = Deno.args as [string, string, string];
const server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => {} },
  async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    try {
      return new Response((await Deno.open(path === "/wasm" ? wasm : dist + path)).readable);
    } catch {
      return new Response("none", { status: 404 });
    }
  },
);
const base = `http://127.0.0.1:${server.addr.port}/`;
const appConfig = await fetchAppConfig(`${base}lib/web/mlc-app-config.json`);
appConfig.cacheBackend = "memory";
const config = {
  appConfig,
  wasm: `${base}wasm`,
  engineConfig: { max_num_sequence: 2, max_total_seq_length: 512 },
};
let core: Core | undefined, empty = 0;
const engine = await CreateMLCEngine(appConfig.model_list[0]!.model_id, config, undefined, {
  loadCore: async (options) => {
    core = await loadCore(options);
    empty = core.heapBytes();
    return core;
  },
  openGpu,
});
const texts: string[] = [];
for (const request of JSON.parse(Deno.readTextFileSync(requests))) {
  let text = "";
  const asked: ChatCompletionRequestStreaming = { ...request, stream: true };
  for await (const chunk of await engine.chat.completions.create(asked)) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  texts.push(text);
}
const heap = { empty, used: core!.heapBytes() };
console.log(JSON.stringify({ texts, metrics: await engine.metrics(), heap }));
Deno.exit(0);
