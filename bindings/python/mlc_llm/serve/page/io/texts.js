// The page's texts in the user's language, from `texts/LANGUAGE.json`.

export const LANGUAGES = { en: "English", de: "Deutsch", zh: "中文", ar: "العربية" };
const RIGHT_TO_LEFT = new Set(["ar"]);

const texts = { language: "en", words: {} };

// Loads a language: the chosen one, or the first of the browser's that there is.
export async function loadTexts(chosen) {
  const wanted = [chosen, ...navigator.languages.map((tag) => tag.split("-")[0]), "en"];
  texts.language = wanted.find((language) => Object.hasOwn(LANGUAGES, language));
  const answer = await fetch(`page/texts/${texts.language}.json`);
  texts.words = await answer.json();
  document.documentElement.lang = texts.language;
  document.documentElement.dir = RIGHT_TO_LEFT.has(texts.language) ? "rtl" : "ltr";
  translate(document);
}

export const language = () => texts.language;

export const hasText = (key) => Object.hasOwn(texts.words, key);

// The text of a key; {name} in it is replaced by a value.
export function t(key, values = {}) {
  const text = texts.words[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

// The text for so many: some languages have other words for 1, or for a few. `values` are shown.
export function counted(key, count, values) {
  const form = `${key}#${new Intl.PluralRules(texts.language).select(count)}`;
  return t(hasText(form) ? form : key, values);
}

// A number in the user's language.
export function number(value, digits = 0) {
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(texts.language, options).format(value);
}

// Fills elements by their attributes: data-text (the text), data-label (the accessible name and the
// tooltip), data-hint (the placeholder; data-touch-hint where there is no keyboard).
export function translate(root) {
  for (const element of root.querySelectorAll("[data-text]")) {
    element.textContent = t(element.dataset.text);
  }
  for (const element of root.querySelectorAll("[data-label]")) {
    element.setAttribute("aria-label", t(element.dataset.label));
    if (element.tagName === "BUTTON") element.title = t(element.dataset.label);
  }
  const hasKeys = !matchMedia("(pointer: coarse)").matches; // a phone has no Shift+Enter
  for (const element of root.querySelectorAll("[data-hint]")) {
    const { hint, touchHint } = element.dataset;
    element.placeholder = t(hasKeys ? hint : touchHint ?? hint);
  }
}
