// The tokens of texts, as the model's tokenizer counts them. The server is asked only for a chat
// that could be near its limit: a text never has more tokens than UTF-8 bytes.

import { countedText, promptTokens } from "../logic/context.js";

const encoder = new TextEncoder();

export class TokenCounts {
  constructor(server) {
    this.server = server;
    this.counts = new Map();
  }

  // A function that gives the tokens of each text of a chat.
  async of(chat, model, limit) {
    const bytes = (text) => encoder.encode(text).length;
    if (limit === null || promptTokens(chat, bytes) * 2 < limit) return bytes;
    const texts = [chat.settings.system.trim(), ...chat.messages.map(countedText)];
    for (const text of new Set(texts)) await this.ask(model, text);
    return (text) => this.counts.get(`${model}\n${text}`) ?? bytes(text);
  }

  async ask(model, text) {
    const name = `${model}\n${text}`;
    if (!this.counts.has(name)) {
      this.counts.set(name, text ? await this.server.countTokens(model, text) : 0);
    }
  }
}
