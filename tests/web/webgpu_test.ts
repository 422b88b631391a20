/** GpuCommands over a device in memory: what a GPU shows only if pipelines are slow. */

import assert from "node:assert/strict";
import { GpuCommands } from "../../bindings/web/runtime/webgpu.ts";

/** Writes down what reaches the GPU. Its pipelines are compiled when `compiled` is called. */
class FakeDevice {
  readonly done: string[] = [];
  readonly lost = new Promise<never>(() => {});
  compiled: () => void = () => {};
  private numBuffers = 0;
  readonly queue = {
    writeBuffer: (to: { name: string }) => void this.done.push(`write ${to.name}`),
    submit: () => void this.done.push("submit"),
  };
  createBuffer = () => {
    const name = `b${this.numBuffers++}`;
    return { name, destroy: () => void this.done.push(`destroy ${name}`) };
  };
  createComputePipelineAsync = () =>
    new Promise<object>((go) => {
      this.compiled = () => go({});
    });
  createBindGroup = (what: { entries: { resource: { buffer: { name: string } } }[] }) =>
    what.entries.slice(0, -1).map((entry) => entry.resource.buffer.name).join("+");
  createCommandEncoder = () => ({
    beginComputePass: () => ({
      setPipeline: () => {},
      setBindGroup: (_: number, group: string) => void this.done.push(`launch ${group}`),
      dispatchWorkgroups: () => {},
      end: () => {},
    }),
    finish: () => ({}),
  });
  createShaderModule = () => ({});
  createBindGroupLayout = () => ({});
  createPipelineLayout = () => ({});
  addEventListener = () => {};
}

function open(): { device: FakeDevice; commands: GpuCommands } {
  const device = new FakeDevice();
  const handle = {
    device,
    description: "",
    f16: false,
    memoryBytes: 0,
    lost: new Promise<never>(() => {}),
  };
  const counters = { reads: 0, readBytes: 0, submits: 0, launches: 0, pipelines: 0 };
  return { device, commands: new GpuCommands(handle, counters) };
}

Deno.test("a kernel that waits for its pipeline keeps the memory that is freed meanwhile", async () => {
  const { device, commands } = open();
  const kernel = commands.pipeline("k", "", new Uint8Array([1, 0]));
  const kept = commands.create(16), freed = commands.create(16);
  commands.launch(kernel, Uint32Array.of(kept, 0, 16, freed, 0, 16), Uint32Array.of(0), [1, 1, 1]);
  commands.write(kept, 0, new ArrayBuffer(16), 0, 16);
  commands.launch(kernel, Uint32Array.of(freed, 0, 16, kept, 0, 16), Uint32Array.of(0), [1, 1, 1]);
  commands.destroy(freed);
  assert.deepEqual(device.done, []);
  device.compiled();
  await commands.ready();
  const begin = ["launch b1+b2", "write b0", "submit", "write b1", "launch b2+b1"];
  assert.deepEqual(device.done, begin);
  commands.write(kept, 0, new ArrayBuffer(16), 0, 16);
  assert.deepEqual(device.done.slice(begin.length), [
    "write b0",
    "submit",
    "destroy b2",
    "write b1",
  ]);
});

Deno.test("a device has its own buffers only, and none when it is lost", () => {
  const one = open().commands, other = open().commands;
  const buffer = one.create(16);
  assert.ok(one.has(buffer) && !other.has(buffer));
  one.lost = "gone";
  assert.ok(!one.has(buffer));
});
