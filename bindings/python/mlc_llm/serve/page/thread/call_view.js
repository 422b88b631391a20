// A tool call: what the model wants to run, the two buttons of the user, and the result.

import { t } from "../io/texts.js";
import { h, smallButton } from "../view/dom.js";

// `result`: the text of the tool's message, or undefined. `decide(isAllowed)` is null when there
// is nothing to decide.
export function callView(call, result, decide) {
  const name = t(`tool.${call.name}`);
  const title = name.startsWith("tool.") ? call.name : name;
  const parts = [
    h("strong", {}, t("call.title", { tool: title })),
    h("pre", { dir: "ltr" }, pretty(call.arguments)),
  ];
  if (result !== undefined) {
    parts.push(h("span", { class: "quiet" }, t("call.result")));
    parts.push(h("pre", { dir: "ltr", class: "result" }, pretty(result)));
  } else if (decide !== null) {
    parts.push(
      h(
        "div",
        { class: "row" },
        smallButton(t("call.allow"), () => decide(true), { class: "small main allow" }),
        smallButton(t("call.refuse"), () => decide(false), { class: "small refuse" }),
      ),
    );
  }
  const label = t("call.title", { tool: title });
  return h("section", { class: "call", "aria-label": label, "data-call": call.id }, ...parts);
}

// JSON with line breaks; other text as it is.
export function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}
