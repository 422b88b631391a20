// The chats in the browser's IndexedDB, one record for each.

import { readChat } from "../logic/chats.js";

const NAME = "mlc_llm";
const STORE = "chats";

export class Storage {
  // `isKept`: whether chats survive a reload. A browser may forbid it, for example in a private
  // window.
  static async open() {
    try {
      return new Storage(await openDatabase());
    } catch (error) {
      console.warn("chats cannot be kept:", error?.message);
      return new Storage(null);
    }
  }

  constructor(database) {
    this.database = database;
    this.isKept = database !== null;
  }

  // All chats, the last changed one first.
  async all() {
    if (!this.isKept) return [];
    const stored = await this.run("readonly", (store) => store.getAll());
    return stored.map(readChat).filter(Boolean).sort((a, b) => b.updated - a.updated);
  }

  async put(chat) {
    if (this.isKept) await this.run("readwrite", (store) => store.put(structuredClone(chat)));
  }

  async remove(id) {
    if (this.isKept) await this.run("readwrite", (store) => store.delete(id));
  }

  run(mode, act) {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
  }
}

function openDatabase() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: "id" });
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });
}
