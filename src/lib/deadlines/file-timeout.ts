/** How long a file system may take for one operation. */
export const fileTimeoutMs = 5000;

/** A file system did not answer in time. The operation may still be under way. */
export class FileTimeoutError extends Error {
  override name = "FileTimeoutError";
  code = "FileTimeout";

  /** `label` names the path, and the field that has it. */
  constructor(label: string, timeoutMs: number = fileTimeoutMs) {
    super(`${label}: no answer from its file system within ${timeoutMs / 1000} s`);
  }
}
