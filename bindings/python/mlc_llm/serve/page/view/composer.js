// The box in which the user writes, with its pictures and its button.

import { number, t } from "../io/texts.js";
import * as chosen from "../logic/pictures.js";
import { byId, h, smallButton } from "./dom.js";

export class Composer {
  // `send(text, pictures)` returns whether it took them; `stop()`.
  constructor({ send, stop }) {
    this.pictures = chosen.NO_PICTURES;
    this.takes = null;
    this.isRunning = false;
    this.field = byId("prompt");
    const act = () => {
      if (this.isRunning) return stop();
      const text = this.field.value.trim();
      const { sent, left } = chosen.send(this.pictures, this.takes);
      if (!text && sent.length === 0) return this.setPictures(left);
      if (!send(text, sent)) return;
      this.field.value = "";
      this.setPictures(left);
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
    this.field.addEventListener("paste", (event) => this.takePictures(event, event.clipboardData));
    document.addEventListener("dragover", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); // it may be dropped
    });
    document.addEventListener("drop", (event) => {
      if (event.dataTransfer?.types.includes("Files")) event.preventDefault(); // the page stays
      this.takePictures(event, event.dataTransfer);
    });
  }

  showRunning(isRunning) {
    this.isRunning = isRunning;
    byId("send").textContent = t(isRunning ? "stop" : "send");
    byId("send").dataset.state = isRunning ? "stop" : "send";
  }

  // The picture button is there only where the model takes pictures. Null: there is no model.
  showPictureButton(takes) {
    this.takes = takes;
    byId("attach").hidden = takes !== true;
    const next = chosen.forModel(this.pictures, takes);
    if (next !== this.pictures) this.setPictures(next); // a list that stays keeps the focus
  }

  // Of what is pasted or dropped; the rest is the browser's.
  takePictures(event, data) {
    const files = [...data?.files ?? []].filter(({ type }) => type.startsWith("image/"));
    if (files.length === 0) return;
    event.preventDefault();
    this.addFiles(files);
  }

  async addFiles(files) {
    const urls = await Promise.all(files.map(dataUrl));
    const add = (pictures, url) => chosen.choose(pictures, url, this.takes);
    this.setPictures(urls.reduce(add, this.pictures));
    byId("files").value = "";
  }

  setPictures(pictures) {
    this.pictures = pictures;
    this.showPictures();
  }

  showPictures() {
    const { urls, leftOut } = this.pictures;
    byId("left-out").hidden = leftOut === 0;
    byId("left-out").textContent = t("pictures.left_out", { number: number(leftOut) });
    byId("pictures").hidden = urls.length === 0;
    byId("pictures").replaceChildren(...urls.map((url, at) => {
      const name = t("pictures.one", { number: at + 1 });
      const remove = () => this.setPictures(chosen.takeBack(this.pictures, at));
      const label = { "aria-label": `${t("pictures.remove")}: ${name}` };
      return h("li", {}, h("img", { src: url, alt: name }), smallButton("✕", remove, label));
    }));
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
