// Notices when the server is gone, and when it is back.

const PAUSE_MS = 1000;

export class Connection {
  // `onChange(isLost)` is called at each change.
  constructor(server, onChange) {
    this.server = server;
    this.onChange = onChange;
    this.isLost = false;
    server.onLost = () => this.lose();
    addEventListener("offline", () => this.check());
  }

  async check() {
    if (!(await this.server.isAlive())) this.lose();
  }

  async lose() {
    if (this.isLost) return;
    this.isLost = true;
    this.onChange(true);
    while (!(await this.server.isAlive())) {
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    this.isLost = false;
    this.onChange(false);
  }
}
