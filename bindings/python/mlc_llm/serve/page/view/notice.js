// The line above the message box that says what went wrong, and what can be done.

import { byId, h, smallButton } from "./dom.js";

export class Notice {
  constructor() {
    this.element = byId("notice");
    this.topic = "";
  }

  // `detail`: the server's own words. `actions`: [text, function]. `topic`: see `hide`.
  show(text, detail = "", actions = [], topic = "") {
    this.topic = topic;
    const buttons = actions.map(([name, act]) => smallButton(name, act));
    const said = detail ? h("span", { class: "detail", dir: "auto" }, detail) : null;
    this.element.replaceChildren(
      ...[h("span", { dir: "auto" }, text), said, ...buttons].filter(Boolean),
    );
    this.element.hidden = false;
  }

  // Hides it; with a topic only if it was shown for that topic.
  hide(topic) {
    if (topic !== undefined && topic !== this.topic) return;
    this.element.hidden = true;
    this.element.replaceChildren();
  }
}
