// Generates answers: one at a time, with tool calls between them.

import { addChunk, Clock } from "../logic/answer.js";
import * as chats from "../logic/chats.js";
import { limitOf, oldestToDrop, overflows, promptTokens } from "../logic/context.js";
import { requestBody } from "../logic/request.js";
import { REFUSAL, runTool } from "../logic/tools.js";
import { Fault, faultOf } from "../io/faults.js";

const SAVE_MS = 2000; // while an answer grows it is stored so often
const BUSY_MS = 10; // after so much work the browser gets time for the user

export class Session {
  // `view`: {started(chat, message), grew(live), ended(chat), failed(chat, fault)}.
  constructor({ server, models, library, counts, view }) {
    Object.assign(this, { server, models, library, counts, view });
    this.running = null; // {chat, controller}
  }

  get isRunning() {
    return this.running !== null;
  }

  stop() {
    this.running?.controller.abort();
  }

  async send(chat, text, pictures = []) {
    for (const call of chats.openCalls(chat)) chat.messages.push(chats.toolMessage(call, REFUSAL));
    chat.messages.push(chats.userMessage(text, pictures));
    await this.answer(chat);
  }

  async edit(chat, message, text) {
    if (this.isRunning) return;
    chats.cutAt(chat, message.id);
    await this.send(chat, text, message.pictures);
  }

  async retry(chat, message = chat.messages.at(-1)) {
    if (this.isRunning || message === undefined) return;
    if (message.role === "assistant") chats.cutAnswer(chat, message.id);
    await this.answer(chat);
  }

  // The user's decision about a call of the last answer. After the last decision the answer goes on.
  async decide(chat, call, isAllowed) {
    if (this.isRunning) return;
    const result = isAllowed ? runTool(call.name, call.arguments) : REFUSAL;
    chat.messages.push(chats.toolMessage(call, result));
    await this.library.save(chat, { changed: true });
    if (chats.openCalls(chat).length === 0) await this.answer(chat);
    else this.view.ended(chat);
  }

  // Drops the oldest turns, and answers if an answer is missing.
  async dropOldest(chat) {
    const limit = limitOf(chat, this.models.chosen);
    const count = await this.counts.of(chat, this.models.chosen?.id, limit ?? 0);
    const dropped = oldestToDrop(chat, limit ?? promptTokens(chat, count) * 0.9, count);
    if (dropped === null) return this.view.failed(chat, new Fault("fault.context_one"));
    chat.dropped = dropped;
    await this.library.save(chat, { changed: true });
    if (chat.messages.at(-1).role === "assistant") this.view.ended(chat);
    else await this.answer(chat);
  }

  async answer(chat) {
    if (this.isRunning) return;
    const message = chats.assistantMessage();
    this.running = { chat, controller: new AbortController() };
    const saved = this.library.save(chat, { changed: true });
    this.view.started(chat, message);
    await saved;
    const clock = new Clock(performance.now());
    const fault = await this.generate(chat, message, clock);
    this.finish(chat, message, clock);
    await this.library.save(chat, { changed: true });
    this.running = null;
    this.view.ended(chat);
    if (fault !== null) this.view.failed(chat, fault);
    else if (this.isFull(chat, message)) this.view.failed(chat, new Fault("fault.context_reached"));
  }

  // Reads the answer into the message. Returns what went wrong, or null.
  async generate(chat, message, clock) {
    try {
      const body = requestBody(chat, this.models.chosen?.id);
      message.structured = body.response_format !== undefined;
      await this.checkContext(chat);
      chat.messages.push(message);
      await this.read(chat, message, clock, body);
      return null;
    } catch (error) {
      if (error.name === "AbortError") {
        message.finish = "stopped";
        message.calls = [];
        return null;
      }
      message.finish = "failed";
      message.calls = [];
      return faultOf(error);
    }
  }

  async read(chat, message, clock, body) {
    let saved = clock.begin;
    let rested = clock.begin;
    for await (const chunk of this.server.stream(body, this.running.controller.signal)) {
      if (!addChunk(message, chunk)) continue;
      const now = performance.now();
      clock.take(now);
      this.view.grew(clock.live(now));
      if (now - rested > BUSY_MS) {
        await rest();
        rested = performance.now();
      }
      if (now - saved < SAVE_MS) continue;
      saved = now;
      this.library.save(chat);
    }
  }

  async checkContext(chat) {
    const model = this.models.chosen;
    const limit = limitOf(chat, model);
    const count = await this.counts.of(chat, model?.id, limit);
    if (!overflows(chat, limit, count)) return;
    const used = promptTokens(chat, count);
    throw new Fault("fault.context_full", { values: { used, limit } });
  }

  // An empty answer leaves nothing; others keep their statistics.
  finish(chat, message, clock) {
    const { usage } = message;
    delete message.usage;
    message.calls = message.calls.filter(Boolean);
    for (const call of message.calls) call.id ||= chats.newId();
    if (message.content || message.reasoning || message.calls.length > 0) {
      message.stats = clock.stats(usage, performance.now());
    } else if (chat.messages.at(-1) === message && message.finish !== "stop") {
      chat.messages.pop();
    } else {
      message.stats = clock.stats(usage, performance.now());
    }
  }

  isFull(chat, { finish, stats }) {
    const limit = limitOf(chat, this.models.chosen);
    const used = stats ? stats.prompt + stats.tokens : 0;
    return finish === "length" && limit !== null && used >= limit;
  }
}

// Lets the browser do what waits. A timer would do it too, but is slow where the page is not seen.
function rest() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
