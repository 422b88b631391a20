// Links model libraries into the running core: relocatable wasm modules, as `wasm-ld -shared` makes
// them (WebAssembly's tool conventions, "Dynamic Linking"). dlopen of the core calls it.

const MOST_ALIGNMENT = 16; // the power of two: a page of wasm memory

/** What the core's module exports and a library imports. */
export interface LinkTarget {
  readonly memory: WebAssembly.Memory;
  readonly __indirect_function_table: WebAssembly.Table;
  readonly __stack_pointer: WebAssembly.Global;
  malloc(bytes: number): number;
  free(address: number): void;
}

interface Needs {
  bytes: number;
  alignment: number;
  slots: number;
}

interface Library {
  readonly exports: WebAssembly.Exports;
  readonly allocated: number;
  readonly base: number;
  readonly slots: number[]; // of the table
  readonly symbols: Map<string, number>;
}

/** What the first section says about memory and table. */
function readNeeds(bytes: Uint8Array): Needs {
  let at = 8;
  const number = () => {
    let value = 0;
    for (let shift = 0;; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 28) throw new Error("the library is cut off");
      value |= (byte & 127) << shift;
      if (byte < 128) return value >>> 0;
    }
  };
  const kind = bytes[at++];
  const end = number() + at;
  const length = number();
  const name = new TextDecoder().decode(bytes.subarray(at, at + length));
  if (kind !== 0 || name !== "dylink.0") throw new Error("it is no relocatable wasm module");
  at += length;
  while (at < end) {
    const part = bytes[at++];
    const size = number();
    if (part === 1) {
      const bytes = number(), power = number(), slots = number();
      if (power > MOST_ALIGNMENT) throw new Error(`it wants memory aligned to 2^${power} bytes`);
      return { bytes, alignment: 1 << power, slots };
    }
    at += size;
  }
  throw new Error("it does not say how much memory it needs");
}

/** Takes places of the table, and gives them back. */
class TableSlots {
  private readonly free = new Map<number, number[]>(); // first slots, by the size of the range
  constructor(private readonly table: WebAssembly.Table) {}
  take(count: number): number {
    const known = this.free.get(count)?.pop();
    if (known !== undefined || count === 0) return known ?? this.table.length;
    return this.table.grow(count);
  }
  giveBack(first: number, count: number): void {
    if (count === 0) return;
    for (let slot = first; slot < first + count; slot++) this.table.set(slot, null);
    this.free.set(count, [...(this.free.get(count) ?? []), first]);
  }
}

export class Libraries {
  private readonly open = new Map<number, Library & { first: number; count: number }>();
  private readonly slots: TableSlots;
  private next = 1;

  constructor(private readonly target: LinkTarget & WebAssembly.Exports) {
    this.slots = new TableSlots(target.__indirect_function_table);
  }

  /** Links a compiled module. Throws an Error with the reason. */
  link(module: WebAssembly.Module, bytes: Uint8Array): number {
    const needs = readNeeds(bytes);
    const { target } = this;
    const first = this.slots.take(needs.slots);
    const allocated = target.malloc(needs.bytes + needs.alignment) >>> 0;
    const base = Math.ceil(allocated / needs.alignment) * needs.alignment;
    try {
      if (allocated === 0) throw new Error("there is no memory for it");
      new Uint8Array(target.memory.buffer, base, needs.bytes).fill(0);
      const library = this.instantiate(module, base, first);
      const handle = this.next++;
      this.open.set(handle, { ...library, allocated, first, count: needs.slots });
      return handle;
    } catch (error) {
      this.slots.giveBack(first, needs.slots);
      target.free(allocated);
      throw error;
    }
  }

  /** The address of an exported function or object; 0: there is none. */
  symbol(handle: number, name: string): number {
    const library = this.open.get(handle);
    const found = library?.exports[name];
    if (library === undefined || found === undefined) return 0;
    if (found instanceof WebAssembly.Global) return library.base + (found.value as number);
    const known = library.symbols.get(name);
    if (known !== undefined) return known;
    const slot = this.functionSlot(found as CallableFunction, library.slots);
    library.symbols.set(name, slot);
    return slot;
  }

  close(handle: number): void {
    const library = this.open.get(handle);
    if (library === undefined) return;
    this.open.delete(handle);
    for (const slot of library.slots) this.slots.giveBack(slot, 1);
    this.slots.giveBack(library.first, library.count);
    this.target.free(library.allocated);
  }

  private functionSlot(found: CallableFunction, taken: number[]): number {
    const slot = this.slots.take(1);
    this.target.__indirect_function_table.set(slot, found);
    taken.push(slot);
    return slot;
  }

  private instantiate(module: WebAssembly.Module, base: number, first: number) {
    const { target } = this;
    const global = (value: number, mutable: boolean) =>
      new WebAssembly.Global({ value: "i32", mutable }, value);
    const env: WebAssembly.ModuleImports = {
      memory: target.memory,
      __indirect_function_table: target.__indirect_function_table,
      __stack_pointer: target.__stack_pointer,
      __memory_base: global(base, false),
      __table_base: global(first, false),
    };
    const got: Record<string, Record<string, WebAssembly.Global>> = {
      "GOT.mem": {},
      "GOT.func": {},
    };
    for (const { module: from, name } of WebAssembly.Module.imports(module)) {
      if (from in got) got[from][name] = global(0, true);
      else if (!(name in env)) env[name] = this.imported(name);
    }
    const { exports } = new WebAssembly.Instance(module, { env, ...got });
    const slots: number[] = [];
    for (const [name, place] of Object.entries(got["GOT.mem"])) {
      const object = exports[name] as WebAssembly.Global | undefined;
      place.value = object === undefined ? 0 : base + (object.value as number);
    }
    for (const [name, place] of Object.entries(got["GOT.func"])) {
      const found = exports[name] ?? target[name];
      place.value = found === undefined ? 0 : this.functionSlot(found as CallableFunction, slots);
    }
    (exports.__wasm_apply_data_relocs as (() => void) | undefined)?.();
    (exports.__wasm_call_ctors as (() => void) | undefined)?.();
    return { exports, base, slots, symbols: new Map<string, number>() };
  }

  private imported(name: string): WebAssembly.ImportValue {
    // TVM registers what it compiles for this machine under global names. dlsym finds it, too, and
    // two libraries may have the same names.
    if (name === "TVMFFIEnvModRegisterSystemLibSymbol") return () => 0;
    const found = this.target[name];
    if (found === undefined) {
      throw new Error(`it needs '${name}', which this version of the engine does not have`);
    }
    return found as WebAssembly.ImportValue;
  }
}
