// Server-sent events: pieces of a stream become the data of its events.

// Feed it pieces as they come; it returns the data that is complete.
export class EventReader {
  constructor() {
    this.rest = "";
    this.data = [];
  }

  // The data of the events that end in this piece.
  take(piece) {
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop();
    const events = [];
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "" && this.data.length > 0) events.push(this.data.splice(0).join("\n"));
      else if (line.startsWith("data:")) this.data.push(line.slice(line[5] === " " ? 6 : 5));
    }
    return events;
  }
}
