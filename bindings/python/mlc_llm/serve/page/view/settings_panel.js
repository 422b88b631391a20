// The settings of a chat, and those of the page.

import { DEFAULT_SETTINGS } from "../logic/chats.js";
import { TOOLS } from "../logic/tools.js";
import { language, LANGUAGES, number, t } from "../io/texts.js";
import { byId, h } from "./dom.js";

const TEXTS = ["system", "schema", "extra"];
const NUMBERS = ["temperature", "top_p", "max_tokens", "context", "seed"];

// Calls `onChange(settings)` when the user changes a setting of the chat.
export class SettingsPanel {
  constructor(onChange) {
    const changed = () => onChange(this.read());
    for (const id of [...TEXTS, ...NUMBERS]) byId(id).addEventListener("input", changed);
    for (const name of Object.keys(TOOLS)) byId(`tool-${name}`).addEventListener("change", changed);
  }

  show(settings) {
    for (const id of TEXTS) byId(id).value = settings[id];
    for (const id of NUMBERS) byId(id).value = settings[id] ?? "";
    for (const name of Object.keys(TOOLS)) {
      byId(`tool-${name}`).checked = settings.tools.includes(name);
    }
  }

  // What a setting without a value means, by the settings' names.
  showDefaults(defaults) {
    for (const id of NUMBERS) {
      byId(id).placeholder = Object.hasOwn(defaults, id) && defaults[id] !== null
        ? t("settings.default", { value: number(defaults[id], decimalsOf(defaults[id])) })
        : "";
    }
  }

  read() {
    const settings = { ...DEFAULT_SETTINGS };
    for (const id of TEXTS) settings[id] = byId(id).value;
    for (const id of NUMBERS) settings[id] = byId(id).value === "" ? null : Number(byId(id).value);
    settings.tools = Object.keys(TOOLS).filter((name) => byId(`tool-${name}`).checked);
    return settings;
  }
}

const decimalsOf = (value) => Math.min(String(value).split(".")[1]?.length ?? 0, 3);

// Language, colours and the API key.
export function setUpPageSettings(preferences, { onLanguage, onKey }) {
  const options = Object.entries(LANGUAGES).map(([tag, name]) => (
    h("option", { value: tag, lang: tag }, name)
  ));
  byId("language").append(...options);
  byId("language").value = language();
  byId("language").addEventListener("change", () => {
    preferences.set("language", byId("language").value);
    onLanguage();
  });
  const showTheme = () => (document.documentElement.dataset.theme = preferences.get("theme"));
  byId("theme").value = preferences.get("theme");
  byId("theme").addEventListener("change", () => {
    preferences.set("theme", byId("theme").value);
    showTheme();
  });
  showTheme();
  byId("key").value = preferences.key;
  byId("key").addEventListener("change", () => {
    preferences.key = byId("key").value.trim();
    onKey();
  });
}
