// What went wrong, in words. A fault has the key of its text in `texts/`, values for the text, and
// what the server itself said.

import { hasText } from "./texts.js";

export class Fault extends Error {
  constructor(key, { detail = "", values = {} } = {}) {
    super(detail || key);
    this.key = key;
    this.detail = detail;
    this.values = values;
  }
}

// From an error object of the server and its HTTP status. A reason's text has the reason as its key.
export function faultOfServer(error, status) {
  const detail = error?.message ?? "";
  const byStatus = status >= 500 ? "fault.server" : "fault.refused";
  const reason = `fault.${status === 401 ? "invalid_api_key" : error?.code}`;
  const key = hasText(reason) ? reason : byStatus;
  return new Fault(key, { detail, values: { status } });
}

// From whatever was thrown.
export function faultOf(error) {
  if (error instanceof Fault) return error;
  if (error?.setting) {
    return new Fault("fault.setting", { detail: error.message });
  }
  return new Fault("fault.page", { detail: String(error?.message ?? error) });
}
