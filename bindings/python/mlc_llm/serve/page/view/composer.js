// The box in which the user writes, with its pictures and its button.

import { t } from "../io/texts.js";
import { byId, h, smallButton } from "./dom.js";

export class Composer {
  // `send(text, pictures)` returns whether it took them; `stop()`.
  constructor({ send, stop }) {
    this.pictures = [];
    this.isRunning = false;
    this.field = byId("prompt");
    const act = () => {
      if (this.isRunning) return stop();
      const text = this.field.value.trim();
      if ((text || this.pictures.length > 0) && send(text, this.pictures)) this.clear();
    };
    byId("form").addEventListener("submit", (event) => {
      event.preventDefault();
      act();
    });
    this.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      if (!this.isRunning) act();
    });
    byId("attach").addEventListener("click", () => byId("files").click());
    byId("files").addEventListener("change", () => this.addFiles([...byId("files").files]));
  }

  showRunning(isRunning) {
    this.isRunning = isRunning;
    byId("send").textContent = t(isRunning ? "stop" : "send");
    byId("send").dataset.state = isRunning ? "stop" : "send";
  }

  // The picture button is there only where the model takes pictures.
  showPictureButton(isShown) {
    byId("attach").hidden = !isShown;
    if (!isShown) this.setPictures([]);
  }

  async addFiles(files) {
    const urls = await Promise.all(files.map(dataUrl));
    this.setPictures([...this.pictures, ...urls]);
    byId("files").value = "";
  }

  setPictures(pictures) {
    this.pictures = pictures;
    byId("pictures").hidden = pictures.length === 0;
    byId("pictures").replaceChildren(...pictures.map((url, at) => {
      const name = t("pictures.one", { number: at + 1 });
      const remove = () => this.setPictures(this.pictures.filter((_, other) => other !== at));
      const label = { "aria-label": `${t("pictures.remove")}: ${name}` };
      return h("li", {}, h("img", { src: url, alt: name }), smallButton("✕", remove, label));
    }));
  }

  clear() {
    this.field.value = "";
    this.setPictures([]);
  }

  focus() {
    this.field.focus();
  }
}

function dataUrl(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
