import assert from "node:assert/strict";
import * as embeddings from "../../examples/web/embeddings.ts";
import * as functionCalling from "../../examples/web/function_calling.ts";
import * as getStarted from "../../examples/web/get_started.ts";
import * as jsonSchema from "../../examples/web/json_schema.ts";
import * as multiModels from "../../examples/web/multi_models.ts";
import * as streaming from "../../examples/web/streaming.ts";
import * as webWorker from "../../examples/web/web_worker.ts";
import { config, isBuilt } from "./wasm.ts";

/** What each program must print. */
const EXPECTED: [string, typeof getStarted.main, RegExp[]][] = [
  ["get started", getStarted.main, [/^Downloading/, /^Loaded$/, /tokens; prefill: .*decoding/]],
  ["streaming", streaming.main, [/^usage: \d+ tokens/, /^the same: true/, /^interrupted after 3 /]],
  ["json schema", jsonSchema.main, [/^members: name size harbour$/, /^size: (small|large)$/]],
  ["function calling", functionCalling.main, [
    /^switch_light room on$/,
    /^1 calls in \d messages$/,
  ]],
  ["embeddings", embeddings.main, [/^3 vectors of \d+ numbers/, /^the nearest: /]],
  ["multi models", (...args) => multiModels.main(...args, "two"), [
    /^one: /,
    /^two: /,
    /true true/,
  ]],
  ["web worker", webWorker.main, [/^from the worker: ./]],
];

for (const [name, main, lines] of EXPECTED) {
  Deno.test({
    name: `WebLLM's program "${name}" runs`,
    ignore: !isBuilt,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const printed: string[] = [];
      await main("one", config, (line) => printed.push(line));
      for (const line of lines) {
        assert.ok(printed.some((text) => line.test(text)), `${line} in:\n${printed.join("\n")}`);
      }
    },
  });
}
