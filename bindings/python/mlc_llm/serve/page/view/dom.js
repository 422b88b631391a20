// Makes elements. Text always becomes text nodes, so nothing in it can become HTML.

// h("button", {class: "main", onclick: act, "aria-label": name}, "text", element, ...)
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const byId = (id) => document.getElementById(id);

// A small button of a message or a list.
export function smallButton(text, act, properties = {}) {
  return h("button", { type: "button", class: "small", onclick: act, ...properties }, text);
}

// Copies a text. Browsers offer no clipboard to pages that come over plain HTTP from another
// machine; there the older command does it.
export async function copyText(text) {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch { // not allowed: the older way may be
    }
  }
  const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  const focused = document.activeElement;
  area.select();
  document.execCommand("copy");
  area.remove();
  focused?.focus();
}

// Saves a text as a file of the user's.
export function saveFile(name, text, type) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const anchor = h("a", { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Says a text to screen readers.
export function announce(text) {
  byId("announcer").textContent = text;
}
