/** Room for files, and the error when there is none. */

import { QuotaError } from "../errors.ts";

/** A failed write: a `QuotaError` if the browser refused for want of room, else what it was. */
export function quotaError(error: unknown, what: string): unknown {
  const isFull = error instanceof DOMException &&
    (error.name === "QuotaExceededError" || error.code === 22);
  if (!isFull) return error;
  return new QuotaError(
    `the browser gives this site no more room, for ${what}; delete other models, or free space`,
    { param: "cacheBackend", code: "quota_exceeded", cause: error },
  );
}

export interface StorageEstimator {
  estimate?(): Promise<{ quota?: number; usage?: number }>;
}

/** Throws a `QuotaError` when that many bytes have no room; before anything is downloaded. */
export async function requireRoom(bytes: number, storage?: StorageEstimator): Promise<void> {
  const { quota, usage } = await storage?.estimate?.() ?? {};
  if (quota === undefined || usage === undefined || usage + bytes <= quota) return;
  throw new QuotaError(
    `the model needs ${megabytes(bytes)} more, and the browser gives this site ` +
      `${megabytes(Math.max(quota - usage, 0))}; delete other models, or free space`,
    { param: "model", code: "quota_exceeded" },
  );
}

export function megabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`;
}
