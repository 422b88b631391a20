// The list of chats: search, open, rename, export, delete.

import { matches, titleOf } from "../logic/chats.js";
import { fileName, toJson, toMarkdown } from "../logic/export.js";
import { t } from "../io/texts.js";
import { ask, choose, confirm } from "./dialogs.js";
import { byId, h, saveFile } from "./dom.js";

export class Sidebar {
  // `library`: the chats. `open(chat)`, `remove(chat)`: what the page does then.
  constructor(library, { open, remove }) {
    this.library = library;
    this.open = open;
    this.remove = remove;
    byId("search").addEventListener("input", () => this.show(this.current));
    byId("export-all").addEventListener("click", () => {
      saveFile("chats.json", toJson(this.library.all), "application/json");
    });
  }

  show(current) {
    this.current = current;
    const search = byId("search").value;
    const found = this.library.all.filter((chat) => matches(chat, search));
    byId("chat-list").replaceChildren(...found.map((chat) => this.row(chat)));
    byId("no-chats").hidden = found.length > 0;
    byId("no-chats").textContent = t(search ? "chats.not_found" : "chats.none");
    byId("export-all").hidden = this.library.all.length === 0;
  }

  row(chat) {
    const title = titleOf(chat) || t("chats.untitled");
    const isCurrent = chat.id === this.current?.id;
    const open = h("button", {
      type: "button",
      class: "open",
      dir: "auto",
      title,
      "aria-current": isCurrent ? "true" : null,
      onclick: () => this.open(chat),
    }, title);
    const more = h("button", {
      type: "button",
      class: "more",
      "aria-haspopup": "dialog",
      "aria-label": t("chats.more", { title }),
      onclick: () => this.menu(chat, title),
    }, "⋯");
    return h("li", { class: isCurrent ? "current" : "" }, open, more);
  }

  async menu(chat, title) {
    const chosen = await choose(title, [
      ["rename", t("chats.rename")],
      ["markdown", t("chats.markdown")],
      ["json", t("chats.json")],
      ["delete", t("chats.delete")],
    ]);
    if (chosen === "rename") await this.rename(chat);
    if (chosen === "markdown") {
      saveFile(fileName(chat, "md"), toMarkdown(chat, exportWords()), "text/markdown");
    }
    if (chosen === "json") saveFile(fileName(chat, "json"), toJson([chat]), "application/json");
    if (chosen === "delete" && (await confirm(t("chats.delete_this", { title }), t("delete")))) {
      await this.remove(chat);
    }
  }

  async rename(chat) {
    const title = await ask(t("chats.rename"), titleOf(chat));
    if (title === null) return;
    chat.title = title;
    await this.library.save(chat);
    this.show(this.current);
  }
}

function exportWords() {
  const roles = ["user", "assistant", "tool"].map((role) => [role, t(`role.${role}`)]);
  const words = { system: t("settings.system"), reasoning: t("reasoning") };
  return { ...Object.fromEntries(roles), ...words, picture: t("pictures.add") };
}
