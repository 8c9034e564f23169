/** The only error that this library throws. Its message names path, file, value and errno. */
export class CgroupError extends Error {
  override readonly name = "CgroupError";
  /** The errno (`EBUSY`), or a code of this library (`EREADBACK`). */
  readonly code: string;

  constructor(what: string, { code, cause }: { code?: string; cause?: unknown }) {
    const errno = code ?? errnoOf(cause);
    super(`${what}${cause === undefined ? "" : `: ${errno}`}`, cause === undefined ? {} : { cause });
    this.code = errno;
  }
}

/** Returns the errno of a system error, on both runtimes; `unknown` for anything else. */
export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "unknown";
}

/** The error for a write that the kernel accepted but that reads back differently. */
export function readBackError(dir: string, file: string, wanted: string, actual: string): CgroupError {
  return new CgroupError(
    `wrote ${JSON.stringify(wanted)} to ${dir}/${file}, but it reads ${JSON.stringify(actual)}`,
    { code: "EREADBACK" },
  );
}
