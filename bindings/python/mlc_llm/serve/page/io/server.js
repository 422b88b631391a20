// The server's routes. Every error is a `Fault`.

import { EventReader } from "../logic/events.js";
import { Fault, faultOfServer } from "./faults.js";

export class Server {
  constructor(preferences) {
    this.preferences = preferences;
    this.onLost = () => {};
  }

  // {models: [{id, context_window_size, takes_pictures}], can_load, loading}; `loading` is null, or
  // how far the models of the command line are loaded.
  info() {
    return this.json("GET", "page-info");
  }

  load(model) {
    return this.json("POST", "admin/load", { model });
  }

  unload(model) {
    return this.json("POST", "admin/unload", { model });
  }

  async isAlive() {
    try {
      return (await fetch("health", { cache: "no-store" })).ok;
    } catch {
      return false;
    }
  }

  async countTokens(model, text) {
    return (await this.json("POST", "tokenize", { model: model || undefined, text })).count;
  }

  // The chunks of an answer. It ends after the server's [DONE]; a stream that ends before is a
  // lost connection.
  async *stream(body, signal) {
    const answer = await this.fetch("v1/chat/completions", { ...posted(body), signal });
    if (!answer.ok) throw await faultOfAnswer(answer);
    const events = new EventReader();
    const pieces = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await this.guarded(() => pieces.read());
      if (done) break;
      for (const data of events.take(value)) {
        if (data === "[DONE]") return;
        const chunk = JSON.parse(data);
        if (chunk.error) throw faultOfServer(chunk.error, chunk.code ?? 500);
        yield chunk;
      }
    }
    this.onLost();
    throw new Fault("fault.lost");
  }

  async json(method, path, body) {
    const answer = await this.fetch(path, body === undefined ? { method } : posted(body));
    if (!answer.ok) throw await faultOfAnswer(answer);
    return answer.json();
  }

  fetch(path, options) {
    const key = this.preferences.key;
    const headers = { ...options.headers, ...(key && { Authorization: `Bearer ${key}` }) };
    return this.guarded(() => fetch(path, { cache: "no-store", ...options, headers }));
  }

  // A failed fetch or read is a lost connection, unless the user stopped it.
  async guarded(act) {
    try {
      return await act();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      this.onLost();
      throw new Fault("fault.lost");
    }
  }
}

function posted(body) {
  const headers = { "Content-Type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

async function faultOfAnswer(answer) {
  const body = await answer.json().catch(() => ({}));
  return faultOfServer(body.error, answer.status);
}
