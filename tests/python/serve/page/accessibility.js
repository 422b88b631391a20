// Checks like axe's: names of controls, landmarks, contrast, ids, focus. `problems()` returns texts.

const CONTROLS = "button, input, select, textarea, a[href], summary, [tabindex='0']";

function isShown(element) {
  return element.checkVisibility({ visibilityProperty: true }) &&
    !element.closest("[hidden], .unseen, .skip");
}

// The accessible name, in the order in which browsers look for it.
function nameOf(element) {
  const labelledBy = element.getAttribute("aria-labelledby");
  const byId = labelledBy && document.getElementById(labelledBy)?.textContent;
  const labels = [...(element.labels ?? [])].map((label) => label.textContent).join(" ");
  const content = element.matches("input, select, textarea") ? "" : element.textContent;
  return (element.getAttribute("aria-label") || byId || labels || content || "").trim();
}

function rgba(text) {
  const numbers = text.match(/[\d.]+/g).map(Number);
  return [...numbers.slice(0, 3), numbers[3] ?? 1];
}

function background(element) {
  for (let at = element; at; at = at.parentElement) {
    const colour = rgba(getComputedStyle(at).backgroundColor);
    if (colour[3] === 1) return colour;
  }
  return [255, 255, 255, 1];
}

function luminance([red, green, blue]) {
  const parts = [red, green, blue].map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
}

function contrast(one, other) {
  const [high, low] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}

const what = (element) => element.outerHTML.slice(0, 90);

function* namelessControls() {
  for (const element of document.querySelectorAll(CONTROLS)) {
    if (isShown(element) && !nameOf(element)) yield `no name: ${what(element)}`;
  }
  for (const image of document.querySelectorAll("img:not([alt])")) yield `no alt: ${what(image)}`;
}

function* lowContrast() {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || !isShown(element) || element.matches(":disabled, option")) continue;
    const ratio = contrast(rgba(getComputedStyle(element).color), background(element));
    if (ratio < 4.5) yield `contrast ${ratio.toFixed(2)}: ${what(element)}`;
  }
}

function* missingLandmarks() {
  for (const tag of ["header", "main", "nav", "h1"]) {
    const count = document.querySelectorAll(tag).length;
    if (count !== 1) yield `${count} elements ${tag}`;
  }
  if (!document.documentElement.lang) yield "the document has no language";
  if (!document.title) yield "the document has no title";
  for (const element of document.querySelectorAll("nav, aside, main, dialog, section")) {
    if (!nameOf(element)) yield `a landmark without a name: ${what(element)}`;
  }
}

function* sharedIds() {
  const seen = new Set();
  for (const { id } of document.querySelectorAll("[id]")) {
    if (seen.has(id)) yield `two elements with the id ${id}`;
    seen.add(id);
  }
}

// Every control can have the focus, and then shows it. What the focus cannot reach while a dialog
// is open is left out.
function* hiddenFocus() {
  const inside = document.querySelector("dialog[open]") ?? document;
  const before = document.activeElement;
  for (const element of inside.querySelectorAll(CONTROLS)) {
    if (!isShown(element) || element.disabled) continue;
    document.activeElement?.blur();
    element.focus({ focusVisible: true, preventScroll: true });
    const { outlineStyle, outlineWidth } = getComputedStyle(element);
    const isVisible = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
    if (document.activeElement !== element) yield `cannot have the focus: ${what(element)}`;
    else if (!isVisible) yield `the focus does not show: ${what(element)}`;
    if (element.tabIndex > 0) yield `an own focus order: ${what(element)}`;
  }
  before?.focus({ preventScroll: true });
}

function* smallTargets() {
  for (const element of document.querySelectorAll("button, select")) {
    const { width, height } = element.getBoundingClientRect();
    if (isShown(element) && (width < 24 || height < 24)) yield `too small: ${what(element)}`;
  }
}

function problems() {
  const checks = [
    namelessControls,
    lowContrast,
    missingLandmarks,
    sharedIds,
    hiddenFocus,
    smallTargets,
  ];
  return checks.flatMap((check) => [...check()]);
}
