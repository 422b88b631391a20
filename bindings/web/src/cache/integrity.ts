/** Checksums of files, in the form of subresource integrity: `sha256-` and base64. */

import { IntegrityError, InvalidRequestError } from "../errors.ts";

const NAMES: Readonly<Record<string, string>> = {
  sha256: "SHA-256",
  sha384: "SHA-384",
  sha512: "SHA-512",
};

/** The checksum of bytes, of the same kind as another one. */
async function digestLike(integrity: string, data: BufferSource): Promise<string> {
  const kind = integrity.slice(0, integrity.indexOf("-"));
  const name = NAMES[kind];
  if (!name) {
    throw new InvalidRequestError(
      `the checksum ${integrity} must begin with ${Object.keys(NAMES).join("-, ")}-`,
      { param: "integrity" },
    );
  }
  const bytes = new Uint8Array(await crypto.subtle.digest(name, data));
  return `${kind}-${btoa(String.fromCharCode(...bytes))}`;
}

/**
 * Throws an `IntegrityError` when bytes have another checksum; with `onFailure` "warn" it writes a
 * warning. No checksum is no check.
 */
export async function verifyIntegrity(
  data: ArrayBuffer | Uint8Array,
  integrity: string | undefined,
  url: string,
  onFailure: "error" | "warn" = "error",
): Promise<void> {
  if (!integrity) return;
  const actual = await digestLike(integrity, data as BufferSource);
  if (actual === integrity) return;
  const error = new IntegrityError(url, integrity, actual);
  if (onFailure === "error") throw error;
  console.warn(error.message);
}
