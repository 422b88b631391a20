// Keyboard shortcuts. Control on all systems, or Command on a Mac.

export const KEYS = {
  send: "Enter",
  line: "Shift+Enter",
  stop: "Esc",
  new: "Ctrl+Shift+O",
  search: "Ctrl+K",
  settings: "Ctrl+,",
  prompt: "/",
  help: "?",
};

// `actions`: functions by the names in KEYS.
export function setUpShortcuts(actions) {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) {
      return;
    }
    const name = nameOf(event);
    if (name === null || actions[name]() === false) return;
    event.preventDefault();
  });
}

function nameOf(event) {
  if (event.key === "Escape") return "stop";
  if (event.ctrlKey || event.metaKey) {
    const key = event.key.toLowerCase();
    if (event.shiftKey) return key === "o" ? "new" : null;
    return { k: "search", ",": "settings" }[key] ?? null;
  }
  const isTyping = event.target.matches?.("input, textarea, select");
  if (isTyping || event.altKey) return null;
  return { "/": "prompt", "?": "help" }[event.key] ?? null;
}
