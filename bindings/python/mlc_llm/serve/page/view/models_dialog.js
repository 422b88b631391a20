// The dialog that loads and unloads models, if the server lets clients do that.

import { faultOf } from "../io/faults.js";
import { number, t } from "../io/texts.js";
import { h, smallButton } from "./dom.js";
import { openDialog } from "./dialogs.js";

export class ModelsDialog {
  // `models`: the `Models` of the page.
  constructor(models) {
    this.models = models;
    this.list = h("ul", { id: "model-list" });
    this.status = h("p", { id: "model-status", role: "status", tabindex: "-1" });
  }

  open() {
    const close = h("button", { value: "" }, t("close"));
    const parts = this.models.canLoad ? this.loadParts() : [h("p", {}, t("models.fixed"))];
    this.showList();
    openDialog(t("models"), this.list, ...parts, this.status, close);
  }

  showList() {
    this.list.replaceChildren(...this.models.all.map((model) => {
      const window = model.context_window_size;
      const note = window ? t("models.window", { tokens: number(window) }) : "";
      const unload = () => this.run(t("models.unloading"), () => this.models.unload(model.id));
      return h(
        "li",
        {},
        h(
          "span",
          {},
          h("strong", { dir: "auto" }, model.id),
          " ",
          h("span", { class: "quiet" }, note),
        ),
        this.models.canLoad
          ? smallButton(t("models.unload"), unload, {
            "aria-label": t("models.unload_one", { model: model.id }),
          })
          : null,
      );
    }));
  }

  loadParts() {
    const known = h(
      "datalist",
      { id: "known-models" },
      ...this.models.known().map((name) => h("option", { value: name })),
    );
    const field = h("input", {
      id: "model-path",
      list: "known-models",
      dir: "ltr",
      placeholder: "HF://org/repo",
      autocomplete: "off",
    });
    const act = () => {
      const name = field.value.trim();
      if (name) this.run(t("models.loading"), () => this.models.load(name));
    };
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      act();
    });
    const load = h(
      "button",
      { type: "button", id: "load-model", class: "main", onclick: act },
      t("models.load"),
    );
    const label = h("label", {}, h("span", {}, t("models.path")), field);
    return [label, known, load];
  }

  // Shows how long an act takes, and what it ends with.
  async run(words, act) {
    if (this.isBusy) return;
    this.isBusy = true;
    const begin = Date.now();
    const tell = () => {
      const seconds = Math.round((Date.now() - begin) / 1000);
      this.status.textContent = `${words} ${t("seconds", { seconds: number(seconds) })}`;
    };
    tell();
    const timer = setInterval(tell, 1000);
    let end = t("models.done");
    try {
      await act();
    } catch (error) {
      const fault = faultOf(error);
      end = [t(fault.key, fault.values), fault.detail].filter(Boolean).join(" ");
    }
    clearInterval(timer);
    this.isBusy = false;
    this.showList();
    this.status.textContent = end;
    this.status.focus();
  }
}
