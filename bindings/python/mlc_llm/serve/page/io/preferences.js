// What the user chose for this browser: language, theme, model, panels. The API key is kept only as
// long as the tab.

const NAME = "mlc_llm.preferences";
const KEY_NAME = "mlc_llm.key";

export class Preferences {
  constructor() {
    this.values = { language: "", theme: "auto", model: "", settings: false, known: [] };
    try {
      Object.assign(this.values, JSON.parse(localStorage.getItem(NAME) ?? "{}"));
      this.secret = sessionStorage.getItem(KEY_NAME) ?? "";
    } catch { // storage is forbidden, or its text is broken
      this.secret = "";
    }
  }

  get(name) {
    return this.values[name];
  }

  set(name, value) {
    this.values[name] = value;
    keep(() => localStorage.setItem(NAME, JSON.stringify(this.values)));
  }

  get key() {
    return this.secret;
  }

  set key(key) {
    this.secret = key;
    keep(() => sessionStorage.setItem(KEY_NAME, key));
  }
}

// Without storage the page works on, but forgets at a reload.
function keep(write) {
  try {
    write();
  } catch (error) {
    console.warn("cannot be kept:", error.message);
  }
}
