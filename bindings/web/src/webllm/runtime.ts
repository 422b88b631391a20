/** The core and the GPU of a browser; fetched when a model is loaded, and not before. */

import type { Core, CoreOptions, GpuHandle } from "../../runtime/core.ts";
import type { Runtime } from "../host/local_host.ts";

export const browserRuntime: Runtime = {
  loadCore: async (options: CoreOptions): Promise<Core> => {
    const { loadCore } = await import("../../runtime/module.ts");
    return await loadCore(options);
  },
  openGpu: async (options): Promise<GpuHandle> => {
    const { openGpu } = await import("../../runtime/webgpu.ts");
    return await openGpu(options);
  },
};
