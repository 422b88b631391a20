/**
 * The files of a model: which there are, that they are kept, and their bytes for the core.
 *
 * A folder made by `mlc_llm package --device web` has a manifest with the size and the checksum of
 * every file. Any other -MLC folder is read by its own indexes.
 */

import type { ByteSource } from "../../runtime/core.ts";
import { CorruptFileError, InvalidRequestError, NotFoundError } from "../errors.ts";
import { alone, type DownloadOptions, ensureFile, type RemoteFile } from "./download.ts";
import type { FileStore } from "./file_store.ts";
import { requireRoom, type StorageEstimator } from "./quota.ts";

export interface ModelIntegrity {
  config?: string;
  model_lib?: string;
  /** Of the library for browsers without WebGPU; WebLLM has no such member. */
  model_lib_cpu?: string;
  tokenizer?: Record<string, string>;
  /** By their names, as in `tensor-cache.json`; WebLLM has no such member. */
  weights?: Record<string, string>;
  onFailure?: "error" | "warn";
}

/** What is needed to find a model's files. */
export interface ModelPlace {
  /** The URL of the folder, with a `/` at its end. */
  readonly folder: string;
  /** The URL of the library; undefined for the device `fake`. */
  readonly library?: string | undefined;
  /** The manifest's name and checksum, where there is one. */
  readonly manifest?: string | undefined;
  readonly manifestIntegrity?: string | undefined;
  readonly integrity?: ModelIntegrity | undefined;
}

/** The name by which the core finds the library. */
export const LIBRARY = "library.wasm";
const CONFIG = "mlc-chat-config.json";
const INDEXES = ["tensor-cache.json", "ndarray-cache.json"];

/** A file of the model that is here. */
interface HeldFile {
  readonly size: number;
  read(offset: number, length: number): Promise<Uint8Array>;
}

interface NamedFile extends RemoteFile {
  readonly name: string;
}

export interface LoadFilesOptions extends DownloadOptions {
  storage?: StorageEstimator | undefined;
  locks?: Pick<LockManager, "request"> | undefined;
  /** `total` is 0 until it is known. */
  onProgress?: (loaded: number, total: number, name: string) => void;
}

export class ModelFiles {
  private constructor(private readonly files: ReadonlyMap<string, HeldFile>) {}

  /** Downloads what is missing. Another tab that wants the same model waits for this one. */
  static load(
    store: FileStore,
    place: ModelPlace,
    options: LoadFilesOptions = {},
  ): Promise<ModelFiles> {
    return alone(place.folder, () => load(store, place, options), options.locks)
      .then((files) => new ModelFiles(files));
  }

  /**
   * The files of a folder that the user chose. Nothing is copied: the core reads their parts when it
   * needs them. The library is one of them, by the name `library`, or comes from its URL.
   */
  static async ofChosen(
    store: FileStore,
    chosen: readonly File[],
    library: string | undefined,
    options: LoadFilesOptions & { integrity?: string | undefined } = {},
  ): Promise<ModelFiles> {
    const files = new Map(chosen.map((file) => [nameIn(file), heldFile(file)]));
    if (!files.has(CONFIG)) {
      throw new NotFoundError(
        `files: there is no ${CONFIG} among the ${chosen.length} files; choose a model's folder`,
        { param: "files" },
      );
    }
    const own = library === undefined ? undefined : files.get(library);
    if (own) files.set(LIBRARY, own);
    else if (library !== undefined) {
      const url = libraryUrl(library);
      const remote = { url, integrity: options.integrity };
      await alone(url, () => ensureFile(store, remote, options), options.locks);
      files.set(LIBRARY, await keptFile(store, url));
    }
    return new ModelFiles(files);
  }

  /** Whether everything is kept: asks no server. */
  static async areKept(store: FileStore, place: ModelPlace): Promise<boolean> {
    try {
      const offline = () => Promise.reject(new TypeError("offline"));
      for (const file of await listFiles(store, place, { fetch: offline, retries: 0 })) {
        if (!(await store.stat(file.url))?.done) return false;
      }
      return true;
    } catch {
      return false;
    }
  }

  /** A file's text. */
  async text(name: string): Promise<string> {
    const file = this.files.get(name);
    if (!file) throw new NotFoundError(`the model has no file ${name}`, { param: name });
    return new TextDecoder().decode(await file.read(0, file.size));
  }

  /**
   * The bytes for the core. Small files come at once, as do all of them if `inMemory`: a promise
   * needs a browser in which WebAssembly can wait. `replaced` stands in place of files.
   */
  async source(
    replaced: Readonly<Record<string, Uint8Array>> = {},
    inMemory = false,
  ): Promise<ByteSource> {
    const { files } = this;
    const held = new Map<string, Uint8Array>(Object.entries(replaced));
    for (const [name, file] of files) {
      if (held.has(name) || !(inMemory || name.endsWith(".json"))) continue;
      held.set(name, await file.read(0, file.size));
    }
    return {
      size: (name) => held.get(name)?.length ?? files.get(name)?.size,
      read(name, offset, length) {
        const bytes = held.get(name), file = files.get(name);
        if (bytes) return bytes.subarray(offset, offset + length);
        return file ? file.read(offset, length) : new Uint8Array();
      },
    };
  }
}

function libraryUrl(library: string): string {
  try {
    return new URL(library, globalThis.location?.href).href;
  } catch (error) {
    throw new InvalidRequestError(
      `model_lib: ${library} is neither one of the chosen files nor a URL`,
      { param: "model_lib", cause: error },
    );
  }
}

/** A chosen file's path below the folder that was chosen. */
function nameIn(file: File): string {
  return file.webkitRelativePath?.split("/").slice(1).join("/") || file.name;
}

function heldFile(file: File): HeldFile {
  return {
    size: file.size,
    async read(offset, length) {
      try {
        return new Uint8Array(await file.slice(offset, offset + length).arrayBuffer());
      } catch (error) { // the browser gives no file that changed since it was chosen
        throw new CorruptFileError(`${nameIn(file)}: cannot be read; choose the folder again`, {
          param: "files",
          cause: error,
        });
      }
    },
  };
}

async function keptFile(store: FileStore, url: string): Promise<HeldFile> {
  const size = (await store.stat(url))?.size ?? 0;
  return { size, read: (offset, length) => store.read(url, offset, length) };
}

async function load(store: FileStore, place: ModelPlace, options: LoadFilesOptions) {
  const files = await listFiles(store, place, options);
  const total = files.reduce((sum, file) => sum + (file.size ?? 0), 0);
  await requireRoom(await missingBytes(store, files), options.storage);
  let loaded = 0;
  const found = new Map<string, HeldFile>();
  for (const file of files) {
    const onBytes = (count: number) => {
      loaded += count;
      options.onProgress?.(loaded, Math.max(total, loaded), file.name);
    };
    await ensureFile(store, file, { ...options, onBytes });
    found.set(file.name, await keptFile(store, file.url));
  }
  return found;
}

async function missingBytes(store: FileStore, files: readonly RemoteFile[]): Promise<number> {
  let sum = 0;
  for (const { url, size } of files) sum += (size ?? 0) - ((await store.stat(url))?.size ?? 0);
  return Math.max(sum, 0);
}

/** The files of a model; fetches what names them, unless it is kept. */
async function listFiles(
  store: FileStore,
  place: ModelPlace,
  options: DownloadOptions,
): Promise<NamedFile[]> {
  const { integrity = {} } = place;
  const library = place.library === undefined
    ? []
    : [named(LIBRARY, place.library, integrity.model_lib, integrity)];
  const listed = place.manifest === undefined
    ? await listFolder(store, place, options)
    : await listManifest(store, place, place.manifest, options);
  return [...listed.filter((file) => file.url !== place.library), ...library].map((file) => {
    const announced = listed.find((other) => other.url === file.url);
    return { ...announced, ...file, integrity: file.integrity ?? announced?.integrity };
  });
}

async function listManifest(
  store: FileStore,
  { folder, manifestIntegrity }: ModelPlace,
  manifest: string,
  options: DownloadOptions,
): Promise<NamedFile[]> {
  const file = { url: new URL(manifest, folder).href, integrity: manifestIntegrity };
  const { files } = await readJson(store, file, options) as { files?: unknown };
  if (!Array.isArray(files)) throw corrupt(file.url, "it has no list `files`");
  return files.map(({ name, size, integrity }, i) => {
    if (typeof name !== "string" || !Number.isInteger(size) || typeof integrity !== "string") {
      throw corrupt(file.url, `files[${i}] has no name, size and integrity`);
    }
    return { name, url: new URL(name, folder).href, size, integrity };
  });
}

async function listFolder(
  store: FileStore,
  { folder, library, integrity = {} }: ModelPlace,
  options: DownloadOptions,
): Promise<NamedFile[]> {
  const config = named(CONFIG, `${folder}${CONFIG}`, integrity.config, integrity);
  const { tokenizer_files = [] } = await readJson(store, config, options) as {
    tokenizer_files?: string[];
  };
  const tokenizer = tokenizer_files.map((name) =>
    named(name, `${folder}${name}`, integrity.tokenizer?.[name], integrity)
  );
  if (library === undefined) return [config, ...tokenizer];
  const index = await findIndex(store, folder, options);
  const { records } = await readJson(store, index, options) as { records?: unknown };
  if (!Array.isArray(records)) throw corrupt(index.url, "it has no list `records`");
  const weights = records.map(({ dataPath, nbytes }) => ({
    ...named(dataPath, `${folder}${dataPath}`, integrity.weights?.[dataPath], integrity),
    size: nbytes,
  }));
  return [config, ...tokenizer, index, ...weights];
}

/** The index of the weights, by its newer name or its older one. */
async function findIndex(
  store: FileStore,
  folder: string,
  options: DownloadOptions,
): Promise<NamedFile> {
  for (const name of INDEXES) {
    if ((await store.stat(`${folder}${name}`))?.done) return named(name, `${folder}${name}`);
  }
  for (const name of INDEXES) {
    const file = named(name, `${folder}${name}`);
    try {
      await ensureFile(store, file, { ...options, onBytes: () => {} });
      return file;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }
  throw new NotFoundError(`${folder} has neither ${INDEXES.join(" nor ")}`, { param: folder });
}

function named(
  name: string,
  url: string,
  integrity?: string,
  { onFailure }: ModelIntegrity = {},
): NamedFile {
  return { name, url, integrity, onFailure };
}

async function readJson(
  store: FileStore,
  file: RemoteFile,
  options: DownloadOptions,
): Promise<object> {
  await ensureFile(store, file, { ...options, onBytes: () => {} });
  const size = (await store.stat(file.url))?.size ?? 0;
  try {
    const json: unknown = JSON.parse(
      new TextDecoder().decode(await store.read(file.url, 0, size)),
    );
    if (typeof json === "object" && json !== null) return json;
  } catch { /* said below */ }
  await store.remove(file.url);
  throw corrupt(file.url, "it is no JSON object");
}

function corrupt(url: string, why: string): CorruptFileError {
  return new CorruptFileError(`${url}: ${why}; the folder is no model folder, or is damaged`, {
    param: url,
  });
}
