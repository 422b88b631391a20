// Keeps the page's own files, so that it opens without a network. The models are not among them:
// the SDK keeps those by itself.

const LIST = new URL("files.json", self.location);

// {version, files}: another version has another cache.
async function list(options) {
  return await (await fetch(LIST, options)).json();
}

async function install() {
  const { version, files } = await list({ cache: "no-store" });
  const cache = await caches.open(`web-chat-${version}`);
  for (const name of files) {
    const url = new URL(name, LIST);
    const answer = await fetch(url, { cache: "no-store" });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    await cache.put(url, answer);
  }
}

async function removeOthers() {
  const { version } = await list({ cache: "no-store" }).catch(() => ({}));
  if (version === undefined) return;
  for (const name of await caches.keys()) {
    if (name.startsWith("web-chat-") && name !== `web-chat-${version}`) await caches.delete(name);
  }
}

// The address of the page's folder is the page.
function fileOf(address) {
  const url = new URL(address);
  url.hash = url.search = "";
  if (url.pathname.endsWith("/")) url.pathname += "index.html";
  return url.href;
}

async function answer(request) {
  const kept = await caches.match(fileOf(request.url));
  return kept ?? await fetch(request);
}

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(install());
});
self.addEventListener("activate", (event) => {
  event.waitUntil(removeOthers().then(() => self.clients.claim()));
});
self.addEventListener("fetch", (event) => {
  const isOurs = new URL(event.request.url).origin === self.location.origin;
  if (event.request.method === "GET" && isOurs) event.respondWith(answer(event.request));
});
