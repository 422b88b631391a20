/** The core and the GPU of a browser. A service worker may load no module later, so they are here. */

import { loadCore, openGpu } from "../../runtime/core.ts";
import type { Runtime } from "../host/local_host.ts";

export const browserRuntime: Runtime = { loadCore, openGpu };
