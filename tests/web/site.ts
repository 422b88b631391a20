/** A folder on the loopback interface: `deno run ... site.ts FOLDER` runs the cases over it. */

import assert from "node:assert/strict";

const folder = Deno.args[0] ?? "", needsCore = Deno.args[1] === "core";
const asked: string[] = [];
const server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => {} },
  async (request) => {
    const path = decodeURIComponent(new URL(request.url).pathname);
    asked.push(path);
    try {
      const bytes = await Deno.readFile(folder + (path.endsWith("/") ? `${path}index.html` : path));
      const isScript = path.endsWith(".js");
      return new Response(bytes, {
        headers: isScript ? { "content-type": "text/javascript" } : {},
      });
    } catch {
      return new Response("none", { status: 404 });
    }
  },
);
const base = `http://127.0.0.1:${server.addr.port}/`;

// deno-lint-ignore no-explicit-any -- events of a service worker
type Listener = (event: any) => void;

/** The page's service worker in this thread. */
async function startServiceWorker(): Promise<Map<string, Listener>> {
  const listeners = new Map<string, Listener>();
  const scope = {
    location: new URL(`${base}service_worker.js`),
    addEventListener: (name: string, listen: Listener) => void listeners.set(name, listen),
    skipWaiting: () => {},
    clients: { claim: () => Promise.resolve() },
  };
  const source = await (await fetch(scope.location)).text();
  new Function("self", source)(scope);
  for (const name of ["install", "activate"]) {
    let work: Promise<unknown> = Promise.resolve();
    listeners.get(name)?.({ waitUntil: (promise: Promise<unknown>) => work = promise });
    await work;
  }
  return listeners;
}

async function offline(): Promise<void> {
  const listeners = await startServiceWorker();
  const { files } = JSON.parse(await Deno.readTextFile(`${folder}/files.json`));
  asked.length = 0;
  for (const name of ["", "?x=1", ...files]) {
    let answer: Promise<Response> | undefined;
    const request = new Request(base + name);
    listeners.get("fetch")?.({
      request,
      respondWith: (given: Promise<Response>) => answer = given,
    });
    const response = await answer;
    assert.equal(response?.status, 200, name);
    const file = name === "" || name === "?x=1" ? "index.html" : name;
    assert.equal(await response?.text(), await Deno.readTextFile(`${folder}/${file}`));
  }
  assert.deepEqual(asked, []);
}

async function chat(): Promise<void> {
  const { Server } = await import(`${base}page/io/server.js`);
  const page = new Server({});
  let info = await page.info();
  for (let i = 0; i < 6000 && info.loading !== null; i++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    info = await page.info();
  }
  assert.deepEqual(info.models.map((model: { id: string }) => model.id), ["one"]);
  const body = { messages: [{ role: "user", content: "Hi" }], max_tokens: 8, seed: 1 };
  let text = "";
  const request = { ...body, debug_config: { ignore_eos: true } };
  for await (const chunk of page.stream(request, new AbortController().signal)) {
    text += chunk.choices[0]?.delta.content ?? "";
  }
  assert.ok(text);
  assert.ok(await page.countTokens("one", "a few words") > 0);
  const stop = new AbortController();
  const read = async () => {
    for await (const _ of page.stream({ ...request, max_tokens: 4000 }, stop.signal)) stop.abort();
  };
  await assert.rejects(read(), { name: "AbortError" });
  const wrong = page.stream({ ...body, temperature: -1 }, stop.signal).next();
  await assert.rejects(wrong, { name: "AbortError" });
  const refused = page.stream({ ...body, temperature: -1 }, new AbortController().signal).next();
  await assert.rejects(refused, (fault: { key?: string }) => fault.key === "fault.refused");
}

if (needsCore) await chat();
else await offline();
console.log("all cases hold");
Deno.exit(0);
