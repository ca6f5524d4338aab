// Browsers allow no worker for a page that was opened from the disk. There the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.early = [];
      this.inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inside.importScripts = () => {};
      const script = frame.contentDocument.createElement("script");
      script.onload = () => {
        this.early.forEach((data) => this.hand(data));
        this.early = null;
      };
      script.src = url;
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.early) this.early.push(data);
      else this.hand(data);
    }

    hand(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {}
  };
}
