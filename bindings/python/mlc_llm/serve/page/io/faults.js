// What went wrong, in words. A fault has the key of its text in `texts/`, values for the text, and
// what the server itself said.

const BY_CODE = {
  context_length_exceeded: "fault.context",
  invalid_api_key: "fault.key",
  model_loading: "fault.model_loading",
  model_not_found: "fault.model_missing",
  model_not_loaded: "fault.no_model",
  model_unloaded: "fault.model_unloaded",
  model_exists: "fault.model_exists",
  queue_full: "fault.queue_full",
  shutting_down: "fault.shutting_down",
  kv_cache_exhausted: "fault.memory",
  device_lost: "fault.device_lost",
  body_too_large: "fault.too_large",
  timeout: "fault.timeout",
  deadline_exceeded: "fault.timeout",
};

export class Fault extends Error {
  constructor(key, { detail = "", values = {} } = {}) {
    super(detail || key);
    this.key = key;
    this.detail = detail;
    this.values = values;
  }
}

// From an error object of the server and its HTTP status.
export function faultOfServer(error, status) {
  const detail = error?.message ?? "";
  const byStatus = status >= 500 ? "fault.server" : "fault.refused";
  const key = status === 401 ? "fault.key" : BY_CODE[error?.code] ?? byStatus;
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
