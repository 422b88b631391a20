// The panels at the sides: the chats and the settings. On narrow windows they lie over the
// conversation, and only one of them is open.

import { byId } from "./dom.js";

const NARROW = matchMedia("(max-width: 56rem)");

export class Panels {
  constructor(preferences) {
    this.preferences = preferences;
    this.panels = { chats: byId("chats"), settings: byId("settings") };
    byId("toggle-chats").addEventListener("click", () => this.set("chats", this.isHidden("chats")));
    byId("toggle-settings").addEventListener("click", () => this.toggleSettings());
    NARROW.addEventListener("change", () => this.reset());
    this.reset();
  }

  reset() {
    this.set("chats", !NARROW.matches, { isUsers: false });
    this.set("settings", !NARROW.matches && preferred(this.preferences), { isUsers: false });
  }

  get isNarrow() {
    return NARROW.matches;
  }

  isHidden(name) {
    return this.panels[name].hidden;
  }

  // Opens or closes a panel. `isUsers`: the user did it, so the focus follows.
  set(name, isOpen, { isUsers = true } = {}) {
    this.panels[name].hidden = !isOpen;
    byId(`toggle-${name}`).setAttribute("aria-expanded", String(isOpen));
    if (!isUsers) return;
    if (name === "settings" && !NARROW.matches) this.preferences.set("settings", isOpen);
    if (isOpen && NARROW.matches) {
      this.set(name === "chats" ? "settings" : "chats", false, { isUsers: false });
    }
    if (isOpen) this.panels[name].querySelector("input, textarea, button")?.focus();
    else byId(`toggle-${name}`).focus();
  }

  toggleSettings() {
    this.set("settings", this.isHidden("settings"));
  }

  openChats() {
    this.set("chats", true);
    byId("search").focus();
  }

  openSettings(field) {
    this.set("settings", true);
    byId(field).focus();
  }

  // Closes the panels that lie over the conversation. Returns whether there was one.
  closeOverlays() {
    if (!NARROW.matches) return false;
    const open = Object.keys(this.panels).filter((name) => !this.isHidden(name));
    for (const name of open) this.set(name, false);
    return open.length > 0;
  }
}

const preferred = (preferences) => preferences.get("settings") === true;
