// The page: makes its parts and connects them.

import { titleOf } from "./logic/chats.js";
import { limitOf } from "./logic/context.js";
import { Connection } from "./io/connection.js";
import { faultOf } from "./io/faults.js";
import { Preferences } from "./io/preferences.js";
import { Server } from "./io/server.js";
import { Storage } from "./io/storage.js";
import { counted, loadTexts, number, t } from "./io/texts.js";
import { KEYS, setUpShortcuts } from "./shortcuts.js";
import { Library } from "./state/library.js";
import { Models } from "./state/models.js";
import { Session } from "./state/session.js";
import { TokenCounts } from "./state/token_counts.js";
import { Composer } from "./view/composer.js";
import { showShortcuts } from "./view/dialogs.js";
import { announce, byId, h } from "./view/dom.js";
import { ModelsDialog } from "./view/models_dialog.js";
import { Notice } from "./view/notice.js";
import { Panels } from "./view/panels.js";
import { SettingsPanel, setUpPageSettings } from "./view/settings_panel.js";
import { Sidebar } from "./view/sidebar.js";
import { ThreadView } from "./thread/thread_view.js";

const POLL_MS = 1000; // while the server loads its models

class App {
  constructor(preferences, storage) {
    this.preferences = preferences;
    this.notice = new Notice();
    this.panels = new Panels(preferences);
    this.server = new Server(preferences);
    this.connection = new Connection(this.server, (isLost) => this.showConnection(isLost));
    this.models = new Models(this.server, preferences, () => this.showModels());
    this.library = new Library(
      storage,
      (error) => this.notice.show(t("fault.storage"), error.message),
    );
    this.session = new Session({
      server: this.server,
      models: this.models,
      library: this.library,
      counts: new TokenCounts(this.server),
      view: this,
    });
    this.makeViews();
  }

  makeViews() {
    this.thread = new ThreadView({
      edit: (message, text) => text && this.run(() => this.session.edit(this.chat, message, text)),
      retry: (message) => this.run(() => this.session.retry(this.chat, message)),
      decide: (call, isAllowed) => this.run(() => this.session.decide(this.chat, call, isAllowed)),
      example: (text) => this.send(text, []),
    }, () => this.session.isRunning);
    this.composer = new Composer({
      send: (text, pictures) => this.send(text, pictures),
      stop: () => this.session.stop(),
    });
    this.sidebar = new Sidebar(this.library, {
      open: (chat) => this.open(chat),
      remove: (chat) => this.remove(chat),
    });
    this.settings = new SettingsPanel((settings) => {
      this.chat.settings = settings;
      this.library.save(this.chat);
      this.showMeter();
    });
    byId("new").addEventListener("click", () => this.openNew());
    byId("model").addEventListener("change", () => this.models.choose(byId("model").value));
    byId("models").addEventListener("click", () => new ModelsDialog(this.models).open());
    byId("keys").addEventListener("click", () => this.showKeys());
  }

  async start() {
    setUpPageSettings(this.preferences, {
      onLanguage: () => this.changeLanguage(),
      onKey: () => this.refreshModels(),
    });
    setUpShortcuts({
      stop: () => this.stopOrClose(),
      new: () => this.openNew(),
      search: () => this.panels.openChats(),
      settings: () => this.panels.toggleSettings(),
      prompt: () => this.composer.focus(),
      help: () => this.showKeys(),
    });
    await this.library.read();
    if (!this.library.storage.isKept) this.notice.show(t("fault.not_kept"));
    this.open(this.library.all[0] ?? this.library.make({}));
    this.composer.showRunning(false);
    await this.refreshModels();
  }

  async refreshModels() {
    try {
      await this.models.refresh();
      this.notice.hide("models");
      if (this.models.loading !== null) setTimeout(() => this.refreshModels(), POLL_MS);
    } catch (error) {
      const retry = [t("again"), () => this.refreshModels()];
      const fault = faultOf(error);
      this.notice.show(t(fault.key, fault.values), fault.detail, [retry], "models");
      if (fault.key === "fault.invalid_api_key") this.panels.openSettings("key");
    }
  }

  // Opens a chat; an answer that is being generated goes on in its own chat.
  open(chat) {
    this.chat = chat;
    this.notice.hide();
    this.settings.show(chat.settings);
    this.showChat();
    const { running } = this.session;
    if (running?.chat === chat && running.message) this.thread.begin(running.message);
    this.panels.closeOverlays();
    if (!this.panels.isNarrow) this.composer.focus(); // a phone would open its keyboard
  }

  openNew() {
    this.open(this.library.make(this.chat.settings));
  }

  async remove(chat) {
    if (this.session.running?.chat === chat) this.session.stop();
    await this.library.remove(chat);
    if (chat === this.chat) this.open(this.library.all[0] ?? this.library.make({}));
    else this.sidebar.show(this.chat);
  }

  showChat() {
    this.thread.show(this.chat);
    this.sidebar.show(this.chat);
    byId("title").textContent = titleOf(this.chat) || "mlc_llm";
    this.showMeter();
  }

  send(text, pictures) {
    if (this.session.isRunning) return false;
    this.run(() => this.session.send(this.chat, text, pictures));
    return true;
  }

  async run(act) {
    this.notice.hide();
    await act();
  }

  // ---- What the session reports ----

  started(chat, message) {
    this.session.running.message = message;
    this.composer.showRunning(true);
    announce(t("answering"));
    if (chat !== this.chat) return;
    this.showChat();
    this.thread.begin(message);
  }

  grew(live) {
    if (this.session.running.chat !== this.chat) return;
    this.thread.update();
    const speed = live.speed === null ? "" : t("stats.speed", { speed: number(live.speed, 1) });
    byId("meter").textContent = speed;
  }

  ended(chat) {
    this.composer.showRunning(this.session.isRunning);
    announce(t("answered"));
    this.thread.finish();
    if (chat === this.chat) this.showChat();
    else this.sidebar.show(this.chat);
  }

  failed(chat, fault) {
    if (chat !== this.chat) return;
    const isFull = ["fault.context_full", "fault.context_length_exceeded", "fault.context_reached"]
      .includes(fault.key);
    const retry = [t("again"), () => this.run(() => this.session.retry(chat))];
    const drop = [t("context.drop"), () => this.run(() => this.session.dropOldest(chat))];
    const values = Object.entries(fault.values).map(([name, value]) => [name, number(value)]);
    const text = t(fault.key, Object.fromEntries(values));
    const actions = fault.key === "fault.context_reached"
      ? [drop]
      : isFull
      ? [drop, retry]
      : [retry];
    this.notice.show(text, fault.detail, actions);
  }

  // ---- What else is shown ----

  showModels() {
    const { all, chosen, loading } = this.models;
    byId("model").replaceChildren(...all.map(({ id }) => h("option", { value: id }, id)));
    if (chosen) byId("model").value = chosen.id;
    byId("model").disabled = all.length === 0;
    this.composer.showPictureButton(chosen?.takes_pictures ?? null);
    this.showBanner(
      loading === null ? "" : t("models.server_loads", { percent: number(loading * 100) }),
      loading,
    );
    this.settings.showDefaults(chosen?.defaults ?? {});
    this.showMeter();
  }

  showMeter() {
    const stats = this.chat.messages.findLast((message) => message.stats)?.stats;
    const used = stats && stats.prompt !== null ? stats.prompt + stats.tokens : 0;
    const limit = limitOf(this.chat, this.models.chosen);
    const values = { used: number(used), limit: limit === null ? "" : number(limit) };
    const key = limit === null ? "meter.used" : "meter.of";
    byId("meter").textContent = used > 0 || limit !== null ? counted(key, used, values) : "";
  }

  // `progress`: from 0 to 1 while something is awaited; null for what is wrong.
  showBanner(text, progress = null) {
    const banner = byId("banner"), isFault = progress === null;
    banner.hidden = text === "";
    banner.className = isFault ? "fault" : "";
    banner.setAttribute("role", isFault ? "alert" : "status");
    const bar = isFault ? [] : [h("progress", { max: 1, value: progress, "aria-hidden": "true" })];
    banner.replaceChildren(h("span", {}, text), ...bar);
  }

  showConnection(isLost) {
    this.showBanner(isLost ? t("fault.lost_waiting") : "");
    if (!isLost) this.refreshModels();
  }

  showKeys() {
    return showShortcuts(Object.entries(KEYS).map(([name, keys]) => [keys, t(`keys.${name}`)]));
  }

  stopOrClose() {
    if (this.panels.closeOverlays()) return true;
    if (!this.session.isRunning) return false;
    this.session.stop();
    return true;
  }

  async changeLanguage() {
    await loadTexts(this.preferences.get("language"));
    this.showModels();
    this.composer.showPictures();
    this.composer.showRunning(this.session.isRunning);
    this.thread.clear();
    this.open(this.chat);
  }
}

const preferences = new Preferences();
await loadTexts(preferences.get("language"));
const app = new App(preferences, await Storage.open());
await app.start();
document.documentElement.dataset.ready = "true";
