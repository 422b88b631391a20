// The page's GPU for the core: what core/src/runtime/device/browser/page_gpu.h declares.
//
// Kernels are recorded and submitted in groups. Reading submits the rest and waits. Pipelines are
// compiled asynchronously; until all are ready, commands wait in a list.

import type { GpuCounters, GpuHandle } from "./core.ts";
import { errorOf } from "./errors.ts";
import { browserGpu } from "./features.ts";
import {
  COMPUTE,
  COPY_DST,
  COPY_SRC,
  type GpuBuffer,
  type GpuDevice,
  type GpuEncoder,
  type GpuPass,
  MAP_READ,
  MODE_READ,
  STORAGE,
  UNIFORM,
} from "./webgpu_types.ts";

const MOST_MEMORY = 4095 * 2 ** 20; // the core's sizes have 32 bits
const LIMITS = [
  "maxBufferSize",
  "maxStorageBufferBindingSize",
  "maxComputeWorkgroupStorageSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeInvocationsPerWorkgroup",
];

/** Opens the browser's GPU with all that it offers. Rejects with a CoreError if there is none. */
export async function openGpu(
  options: { powerPreference?: "high-performance" | "low-power"; memoryBytes?: number } = {},
): Promise<GpuHandle> {
  const power = options.powerPreference ?? "high-performance";
  const adapter = await browserGpu()?.requestAdapter({ powerPreference: power });
  if (!adapter) {
    throw errorOf(
      "unsupported_browser",
      'this browser has no WebGPU adapter; use the device "cpu"',
      "device",
    );
  }
  const f16 = adapter.features.has("shader-f16");
  const device = await adapter.requestDevice({
    requiredFeatures: f16 ? ["shader-f16"] : [],
    requiredLimits: Object.fromEntries(LIMITS.map((name) => [name, adapter.limits[name]])),
  });
  const { info } = adapter;
  const names = [info?.vendor, info?.architecture, info?.device, info?.description];
  const gigabytes = (globalThis.navigator as { deviceMemory?: number }).deviceMemory ?? 8;
  return {
    device,
    description: names.filter((name) => name).join(" ") || "a browser's GPU",
    f16,
    memoryBytes: Math.min(options.memoryBytes ?? gigabytes * 2 ** 29, MOST_MEMORY),
    lost: device.lost.then((why) => why.message || why.reason || "no reason given"),
  };
}

interface Pipeline {
  readonly layout: object;
  pipeline?: object;
}
interface Binding {
  readonly handle: number;
  readonly buffer: GpuBuffer;
  readonly offset: number;
  readonly size: number;
}

const SLOT = 256; // the alignment of a dynamic offset
const SLOTS = 256; // kernels in one submission

/** The commands of one GPU. Handles of buffers and pipelines are different in each of them. */
export class GpuCommands {
  static nextHandle = 1;
  lost: string | null = null;
  private readonly device: GpuDevice;
  private readonly buffers = new Map<number, GpuBuffer>();
  private readonly pipelines = new Map<number, Pipeline>();
  private readonly handles = new Map<string, number>(); // of pipelines, by their source
  private groups = new Map<string, object>();
  private compiling = new Set<Promise<void>>();
  private waiting: (() => void)[] = [];
  private readonly numbers: GpuBuffer;
  private readonly words = new Uint32Array(SLOT * SLOTS / 4);
  private used = 0;
  private landing: { buffer: GpuBuffer; size: number } | null = null;
  private encoder: GpuEncoder | null = null;
  private pass: GpuPass | null = null;
  private dropped: GpuBuffer[] = [];
  private error: string | null = null;

  constructor(readonly handle: GpuHandle, private readonly counters: GpuCounters) {
    this.device = handle.device as GpuDevice;
    this.numbers = this.device.createBuffer({ size: SLOT * SLOTS, usage: UNIFORM | COPY_DST });
    this.device.addEventListener("uncapturederror", (event) => {
      this.error ??= event.error.message;
    });
    handle.lost.then((reason) => {
      this.lost = reason;
    });
  }

  facts(): Record<string, unknown> {
    const { limits } = this.device;
    return {
      found: this.lost === null,
      description: this.handle.description,
      f16: this.handle.f16,
      memory_bytes: this.handle.memoryBytes,
      max_buffer_bytes: Math.min(
        limits.maxStorageBufferBindingSize,
        limits.maxBufferSize,
        MOST_MEMORY,
      ),
      local_memory_bytes: limits.maxComputeWorkgroupStorageSize,
      max_group_size: limits.maxComputeInvocationsPerWorkgroup,
      offset_alignment: limits.minStorageBufferOffsetAlignment,
      max_groups: limits.maxComputeWorkgroupsPerDimension,
    };
  }

  takeError(): string {
    const { error } = this;
    this.error = null;
    return error ?? "";
  }

  create(size: number): number {
    const handle = GpuCommands.nextHandle++;
    const usage = STORAGE | COPY_SRC | COPY_DST;
    this.buffers.set(handle, this.device.createBuffer({ size, usage }));
    return handle;
  }

  /** Whether the buffer is one of this device, which is not lost. */
  has(handle: number): boolean {
    return this.lost === null && this.buffers.has(handle);
  }

  destroy(handle: number): void {
    const buffer = this.buffers.get(handle);
    if (buffer === undefined) return; // of a lost device
    this.buffers.delete(handle);
    this.groups.clear();
    this.dropped.push(buffer);
    if (this.encoder === null) this.destroyDropped();
  }

  write(handle: number, offset: number, data: ArrayBufferLike, from: number, size: number): void {
    const buffer = this.buffers.get(handle);
    if (buffer === undefined) return;
    if (this.waiting.length > 0) {
      const copy = data.slice(from, from + size);
      this.waiting.push(() => this.writeNow(buffer, offset, copy, 0, size));
    } else {
      this.writeNow(buffer, offset, data, from, size);
    }
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, size: number): void {
    const source = this.buffers.get(from), target = this.buffers.get(to);
    if (source === undefined || target === undefined) return;
    this.whenReady(() => {
      this.endPass();
      this.commands().copyBufferToBuffer(source, fromOffset, target, toOffset, size);
    });
  }

  /** The bytes. Null: the device is lost, or the buffer belongs to a lost one. */
  async read(handle: number, offset: number, size: number): Promise<Uint8Array | null> {
    await this.ready();
    const buffer = this.buffers.get(handle);
    if (buffer === undefined || this.lost !== null) return null;
    if (this.landing === null || this.landing.size < size) {
      this.landing?.buffer.destroy();
      const room = Math.max(size, 1 << 16);
      const landing = this.device.createBuffer({ size: room, usage: MAP_READ | COPY_DST });
      this.landing = { buffer: landing, size: room };
    }
    const landing = this.landing.buffer;
    this.endPass();
    this.commands().copyBufferToBuffer(buffer, offset, landing, 0, size);
    this.flush();
    this.counters.reads++;
    this.counters.readBytes += size;
    try {
      await landing.mapAsync(MODE_READ, 0, size);
    } catch {
      return null; // the device was lost meanwhile
    }
    const bytes = new Uint8Array(landing.getMappedRange(0, size)).slice();
    landing.unmap();
    return bytes;
  }

  /** `writes[i]`: the kernel writes to its buffer i. The same source gives the same handle. */
  pipeline(name: string, wgsl: string, writes: Uint8Array): number {
    const key = `${name}\n${wgsl}`;
    const known = this.handles.get(key);
    if (known !== undefined) return known;
    const entries: object[] = [...writes].map((written, binding) => ({
      binding,
      visibility: COMPUTE,
      buffer: { type: written ? "storage" : "read-only-storage" },
    }));
    entries.push({
      binding: writes.length,
      visibility: COMPUTE,
      buffer: { type: "uniform", hasDynamicOffset: true },
    });
    const layout = this.device.createBindGroupLayout({ entries });
    const made: Pipeline = { layout };
    const handle = GpuCommands.nextHandle++;
    this.pipelines.set(handle, made);
    this.handles.set(key, handle);
    this.compile(made, name, wgsl);
    return handle;
  }

  launch(
    handle: number,
    bindings: Uint32Array,
    words: Uint32Array,
    groups: readonly [number, number, number],
  ): void {
    const list: Binding[] = [];
    for (let i = 0; i < bindings.length; i += 3) {
      const [handle, offset, size] = bindings.subarray(i, i + 3);
      // looked up now: the core may free it while the kernel waits for its pipeline
      const buffer = this.buffers.get(handle);
      if (buffer === undefined) return; // memory of a lost device
      list.push({ handle, buffer, offset, size });
    }
    const copy = words.slice();
    this.whenReady(() => this.launchNow(handle, list, copy, groups));
  }

  /** Waits until every pipeline is compiled, then records what waited for them. */
  async ready(): Promise<void> {
    while (this.compiling.size > 0) await Promise.all(this.compiling);
    for (const act of this.waiting) act();
    this.waiting = []; // only now: until then destroyDropped keeps the buffers that they use
  }

  private compile(made: Pipeline, name: string, code: string): void {
    const { device } = this;
    this.counters.pipelines++;
    const work = device.createComputePipelineAsync({
      layout: device.createPipelineLayout({ bindGroupLayouts: [made.layout] }),
      compute: { module: device.createShaderModule({ code }), entryPoint: name },
    }).then((pipeline) => {
      made.pipeline = pipeline;
    }, (error: Error) => {
      this.error ??= `the kernel ${name} does not compile: ${error.message}`;
    }).finally(() => {
      this.compiling.delete(work);
    });
    this.compiling.add(work);
  }

  private whenReady(act: () => void): void {
    if (this.compiling.size > 0 || this.waiting.length > 0) this.waiting.push(act);
    else act();
  }

  private writeNow(
    buffer: GpuBuffer,
    offset: number,
    data: ArrayBufferLike,
    from: number,
    size: number,
  ): void {
    this.flush();
    this.device.queue.writeBuffer(buffer, offset, data, from, size);
  }

  private launchNow(
    handle: number,
    list: readonly Binding[],
    words: Uint32Array,
    groups: readonly [number, number, number],
  ): void {
    const made = this.pipelines.get(handle);
    if (made?.pipeline === undefined) return; // the error is reported by the next read
    const group = this.groupOf(handle, made, list);
    if (this.used === SLOTS) this.flush();
    this.words.set(words, this.used * SLOT / 4);
    this.pass ??= this.commands().beginComputePass();
    this.pass.setPipeline(made.pipeline);
    this.pass.setBindGroup(0, group, [this.used * SLOT]);
    this.pass.dispatchWorkgroups(...groups);
    this.used++;
    this.counters.launches++;
  }

  // The same buffers give the same group: a step's temporaries come from a pool.
  private groupOf(handle: number, made: Pipeline, list: readonly Binding[]): object {
    const key = `${handle}:${list.map((one) => `${one.handle},${one.offset}`).join()}`;
    const known = this.groups.get(key);
    if (known !== undefined) return known;
    const entries: object[] = list.map(({ buffer, offset, size }, binding) => ({
      binding,
      resource: { buffer, offset, size },
    }));
    entries.push({
      binding: list.length,
      resource: { buffer: this.numbers, offset: 0, size: SLOT },
    });
    const group = this.device.createBindGroup({ layout: made.layout, entries });
    if (this.groups.size > 4096) this.groups.clear();
    this.groups.set(key, group);
    return group;
  }

  private commands(): GpuEncoder {
    this.encoder ??= this.device.createCommandEncoder();
    return this.encoder;
  }

  private endPass(): void {
    this.pass?.end();
    this.pass = null;
  }

  private flush(): void {
    if (this.encoder === null) return;
    this.endPass();
    if (this.used > 0) {
      this.device.queue.writeBuffer(this.numbers, 0, this.words.buffer, 0, this.used * SLOT);
    }
    this.device.queue.submit([this.encoder.finish()]);
    this.counters.submits++;
    this.encoder = null;
    this.used = 0;
    this.destroyDropped();
  }

  private destroyDropped(): void {
    if (this.waiting.length > 0) return;
    for (const buffer of this.dropped) buffer.destroy();
    this.dropped = [];
  }
}
