// The parts of WebGPU's types that are used here. TypeScript's own library has none of them.

export interface GpuBuffer {
  mapAsync(mode: number, offset: number, size: number): Promise<undefined>;
  getMappedRange(offset: number, size: number): ArrayBuffer;
  unmap(): void;
  destroy(): void;
}
export interface GpuPass {
  setPipeline(pipeline: object): void;
  setBindGroup(index: number, group: object, offsets: number[]): void;
  dispatchWorkgroups(x: number, y: number, z: number): void;
  end(): void;
}
export interface GpuEncoder {
  beginComputePass(): GpuPass;
  copyBufferToBuffer(from: GpuBuffer, at: number, to: GpuBuffer, toAt: number, size: number): void;
  finish(): object;
}
export interface GpuDevice {
  readonly lost: Promise<{ message: string; reason?: string }>;
  readonly limits: Record<string, number>;
  readonly queue: {
    writeBuffer(to: GpuBuffer, at: number, data: ArrayBufferLike, from: number, size: number): void;
    submit(commands: object[]): void;
  };
  createBuffer(what: { size: number; usage: number }): GpuBuffer;
  createShaderModule(what: { code: string }): object;
  createBindGroupLayout(what: object): object;
  createPipelineLayout(what: object): object;
  createBindGroup(what: object): object;
  createComputePipelineAsync(what: object): Promise<object>;
  createCommandEncoder(): GpuEncoder;
  addEventListener(name: string, act: (event: { error: { message: string } }) => void): void;
  destroy(): void;
}
export interface GpuAdapter {
  readonly features: { has(name: string): boolean };
  readonly limits: Record<string, number>;
  readonly info?: { vendor?: string; architecture?: string; device?: string; description?: string };
  requestDevice(what: object): Promise<GpuDevice>;
}
export interface Gpu {
  requestAdapter(options?: { powerPreference?: string }): Promise<GpuAdapter | null>;
}

// GPUBufferUsage and GPUShaderStage, as the specification numbers them.
export const MAP_READ = 1, COPY_SRC = 4, COPY_DST = 8, UNIFORM = 64, STORAGE = 128;
export const COMPUTE = 4, MODE_READ = 1;
