/** `--name value` options of the program. */

const NAMES = [
  "model",
  "lib",
  "device",
  "prompt",
  "request",
  "adapter",
  "seed",
  "max-tokens",
  "ignore-eos",
  "tokens",
  "temperature",
  "streams",
  "repeats",
];

export class Options {
  readonly folder: string;
  private readonly values = new Map<string, string>();

  constructor(words: string[]) {
    this.folder = words[0]?.startsWith("--") ? "" : words.shift() ?? "";
    for (let i = 0; i < words.length; i += 2) {
      const name = words[i]?.replace(/^--/, "") ?? "", value = words[i + 1];
      if (!NAMES.includes(name) || value === undefined) throw new Error(`wrong: ${words[i]}`);
      this.values.set(name, value);
    }
  }

  text(name: string): string {
    const value = this.values.get(name);
    if (value === undefined) throw new Error(`--${name} is missing`);
    return value;
  }

  number(name: string): number | undefined {
    const value = this.values.get(name);
    return value === undefined ? undefined : Number(value);
  }

  modelSpec(): object {
    const lib = this.values.get("lib");
    const spec = { model: this.text("model"), device: this.text("device") };
    return lib === undefined ? spec : { ...spec, model_lib: lib };
  }
}
