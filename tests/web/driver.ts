// Runs a script of steps on the engine in WebAssembly and prints what came out, as JSON: a list with
// one entry for each step. Errors of the core are {"error": {...}}.
//
//   deno run -A driver.ts SCRIPT.json     (test_web_engine.py writes the scripts)

import {
  type Core,
  type CoreEngine,
  CoreError,
  type CoreEvent,
  loadCore,
  memorySource,
  openGpu,
} from "../../bindings/web/runtime/core.ts";

interface Ask {
  route?: string;
  request: Record<string, unknown>;
  abort_after?: number; // chunks
}
interface Spec {
  model: string;
  model_lib?: string;
  device: string;
}
type Step =
  | { op: "mount"; folder: string; path: string; later?: boolean }
  | { op: "engine"; config: unknown }
  | { op: "load" | "plan"; spec: Spec }
  | { op: "ask"; together: Ask[] }
  | { op: "damage"; file: string; places: number[]; spec: Spec }
  | { op: "metrics" | "counters" | "heap" | "unload" | "devices" | "lose" | "gpu" | "version" };

interface Script {
  wasm: string;
  gpu?: boolean;
  jspi?: boolean; // false: as in a browser that has none
  steps: Step[];
}

interface Answer {
  text: string;
  chunks: number;
  ends: number; // events that are the last one; exactly one is right
  error?: unknown;
  result?: unknown;
}

const script: Script = JSON.parse(Deno.readTextFileSync(Deno.args[0]));
if (script.jspi === false) {
  for (const name of ["Suspending", "promising"]) Reflect.deleteProperty(WebAssembly, name);
}
let gpu = script.gpu ? await openGpu() : null;
const core: Core = await loadCore({ wasm: Deno.readFileSync(script.wasm), gpu });
let engine: CoreEngine = core.createEngine({});
const mounted = new Map<string, Map<string, Uint8Array>>();

function mount(folder: string, path: string, later: boolean): number {
  const files = new Map<string, Uint8Array>();
  const info = Deno.statSync(path);
  const names = info.isDirectory
    ? [...Deno.readDirSync(path)].filter((f) => f.isFile).map((f) => f.name)
    : [];
  for (const name of names) files.set(name, Deno.readFileSync(`${path}/${name}`));
  if (info.isFile) files.set(path.split("/").pop()!, Deno.readFileSync(path));
  mounted.set(folder, files);
  const source = memorySource(files);
  core.mount(folder, {
    size: source.size,
    read: later
      ? async (...range) => {
        await new Promise((go) => setTimeout(go, 0));
        return source.read(...range);
      }
      : source.read,
  });
  return files.size;
}

function ask({ route, request, abort_after }: Ask): Promise<Answer> {
  const answer: Answer = { text: "", chunks: 0, ends: 0 };
  return new Promise((done) => {
    let id = 0;
    const onEvent = (event: CoreEvent) => {
      if (event.kind === "chunk") {
        const chunk = JSON.parse(event.json);
        answer.chunks++;
        answer.text += chunk.choices[0]?.delta?.content ?? chunk.choices[0]?.text ?? "";
        if (answer.chunks === abort_after) engine.abort(id);
        return;
      }
      answer.ends++;
      if (event.kind === "error") answer.error = event.error;
      if (event.kind === "result") answer.result = JSON.parse(event.json);
      done(answer);
    };
    try {
      id = engine.submit(route ?? "chat.completions", request, onEvent);
    } catch (error) {
      answer.error = error instanceof CoreError ? error.body : String(error);
      done(answer);
    }
  });
}

/** Loads with one byte of a file changed, for each place. */
async function damage(file: string, places: number[], spec: Parameters<CoreEngine["load"]>[0]) {
  const [, folder, name] = /^(.*)\/([^/]*)$/.exec(file)!;
  const files = mounted.get(folder)!;
  const whole = files.get(name)!;
  const found: unknown[] = [];
  for (const place of places) {
    const copy = whole.slice(0, place < 0 ? whole.length + place : whole.length);
    if (place >= 0) copy[place % copy.length] ^= 0x55;
    files.set(name, copy);
    found.push(await caught(() => engine.load(spec)));
  }
  files.set(name, whole);
  return found;
}

async function caught(act: () => unknown): Promise<unknown> {
  try {
    return (await act()) ?? null;
  } catch (error) {
    return { error: error instanceof CoreError ? error.body : String(error) };
  }
}

async function run(step: Step): Promise<unknown> {
  switch (step.op) {
    case "mount":
      return mount(step.folder, step.path, step.later ?? false);
    case "engine": {
      const next = core.createEngine(step.config);
      await engine.destroy();
      engine = next;
      return null;
    }
    case "load":
      return await engine.load(step.spec);
    case "plan":
      return await engine.plan(step.spec);
    case "ask":
      return await Promise.all(step.together.map(ask));
    case "damage":
      return await damage(step.file, step.places, step.spec);
    case "lose": // the page's GPU ends
      (gpu!.device as { destroy(): void }).destroy();
      await gpu!.lost;
      return null;
    case "gpu": // it opens another one
      gpu = await openGpu();
      core.setGpu(gpu);
      return null;
    case "unload":
      return await engine.unload();
    case "metrics":
      return engine.metrics();
    case "counters":
      return core.gpuCounters();
    case "heap":
      return core.heapBytes();
    case "devices":
      return core.listDevices();
    case "version":
      return { abi: core.abiVersion, schema: core.schemaHash, version: core.version };
  }
}

const results: unknown[] = [];
for (const step of script.steps) {
  const begin = performance.now();
  results.push(await caught(() => run(step)));
  if (Deno.env.has("MLC_WEB_TIMES")) {
    console.error(step.op, Math.round(performance.now() - begin), "ms");
  }
}
console.log(JSON.stringify(results));
Deno.exit(0);
