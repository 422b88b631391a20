// What this browser can do, asked before anything is downloaded.

import { type CoreError, errorOf } from "./errors.ts";
import type { Gpu } from "./webgpu_types.ts";

export interface BrowserFeatures {
  /** WebAssembly calls can wait for promises (JSPI): reads from a GPU, weights by ranges. */
  jspi: boolean;
  /** `navigator.gpu` is there; an adapter may still be missing. */
  webgpu: boolean;
  /** The adapter computes in 16-bit floats. Unknown (undefined) until an adapter was asked for. */
  shaderF16?: boolean;
  /** The adapter's limits, in bytes. */
  maxBufferBytes?: number;
}

export function browserGpu(): Gpu | undefined {
  return (globalThis.navigator as { gpu?: Gpu } | undefined)?.gpu;
}

function hasJspi(): boolean {
  const wasm = WebAssembly as unknown as { Suspending?: unknown; promising?: unknown };
  return typeof wasm.Suspending === "function" && typeof wasm.promising === "function";
}

export async function browserFeatures(): Promise<BrowserFeatures> {
  const adapter = (await browserGpu()?.requestAdapter({ powerPreference: "high-performance" })) ??
    null;
  return {
    jspi: hasJspi(),
    webgpu: adapter !== null,
    shaderF16: adapter?.features.has("shader-f16"),
    maxBufferBytes: adapter?.limits.maxStorageBufferBindingSize,
  };
}

function refused(what: string, advice: string): CoreError {
  return errorOf("unsupported_browser", `this browser has no ${what}; ${advice}`, "device");
}

/**
 * Why a model cannot run here; undefined: it can. `needsF16`: its library computes in 16-bit floats
 * (a quantization with f16 in its name, on the device "webgpu").
 */
export function refusal(
  features: BrowserFeatures,
  device: string,
  needsF16: boolean,
): CoreError | undefined {
  if (device === "fake" || device.startsWith("cpu")) return undefined;
  if (!features.webgpu) return refused("WebGPU", 'use the device "cpu", or Chrome 137 or later');
  if (!features.jspi) {
    return refused("JSPI (WebAssembly.Suspending)", 'use the device "cpu", or Chrome 137 or later');
  }
  if (needsF16 && features.shaderF16 !== true) {
    return refused("WebGPU feature shader-f16", "use a model whose quantization ends in f32");
  }
  return undefined;
}
