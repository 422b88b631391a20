// The search of the site runs in a worker, and browsers start no worker for a page of file://. There this worker is a
// hidden frame, which reads its scripts one after another. The theme looks for the name `IFrameWorker`; the idea is
// that of the npm package iframe-worker.
if (location.protocol === "file:") {
  const SHIM = `
    postMessage = parent.postMessage.bind(parent);
    const loaded = (address) => new Promise((done, fail) => {
      const script = document.createElement("script");
      script.onload = done;
      script.onerror = fail;
      script.src = address;
      document.body.append(script);
    });
    importScripts = (...addresses) =>
      addresses.reduce((before, address) => before.then(() => loaded(address)), Promise.resolve());`;

  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const page = frame.contentDocument;
      page.open();
      page.write(`<body><script>${SHIM}</scr` + `ipt><script src="${address}"></scr` + `ipt></body>`);
      this.ready = new Promise((done) => { frame.onload = done; });
      page.close();
      this.frame = frame;
      addEventListener("message", (event) => {
        if (event.source !== frame.contentWindow && event.source !== window) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        this.onmessage?.(message);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
