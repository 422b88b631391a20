/** The core and the GPU of a browser; their modules are fetched when a model is loaded. */

import type { Runtime } from "../host/local_host.ts";

export const browserRuntime: Runtime = {
  loadCore: async (options) => await (await import("../../runtime/core.ts")).loadCore(options),
  openGpu: async (options) => await (await import("../../runtime/core.ts")).openGpu(options),
};
