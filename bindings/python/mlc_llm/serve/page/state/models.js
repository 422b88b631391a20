// The server's models, and which one the user chose.

const MAX_KNOWN = 12; // remembered places of models

export class Models {
  // `onChange()` is called when the list or the choice changes.
  constructor(server, preferences, onChange) {
    this.server = server;
    this.preferences = preferences;
    this.onChange = onChange;
    this.all = [];
    this.canLoad = false;
    this.loading = null; // from 0 to 1 while the server loads the models of its command line
  }

  // The chosen model, or the server's first one. Undefined if there is none.
  get chosen() {
    const name = this.preferences.get("model");
    return this.all.find((model) => model.id === name) ?? this.all[0];
  }

  choose(name) {
    this.preferences.set("model", name);
    this.onChange();
  }

  // Asks the server.
  async refresh() {
    const info = await this.server.info();
    this.all = info.models;
    this.canLoad = info.can_load;
    this.loading = info.loading;
    this.onChange();
  }

  known() {
    return this.preferences.get("known");
  }

  async load(name) {
    const { id } = await this.server.load(name);
    const known = [name, ...this.known().filter((other) => other !== name)];
    this.preferences.set("known", known.slice(0, MAX_KNOWN));
    this.preferences.set("model", id);
    await this.refresh();
  }

  async unload(name) {
    await this.server.unload(name);
    await this.refresh();
  }
}
