interface CgroupErrorFields {
  /** The cgroup folder, or another path. */
  path: string;
  /** The interface file in it, such as `memory.max`. */
  file?: string;
  /** The value to write, or the value found. */
  value?: string;
  /** The errno (`EBUSY`), or a code of this library (`EREADBACK`). */
  code?: string;
  cause?: unknown;
}

/** The only error that this library throws. Its message names path, file, value and errno. */
export class CgroupError extends Error {
  override readonly name = "CgroupError";
  readonly path: string;
  readonly file: string | undefined;
  readonly value: string | undefined;
  readonly code: string;

  constructor(what: string, { path, file, value, code, cause }: CgroupErrorFields) {
    const errno = code ?? errnoOf(cause);
    super(`${what}${cause === undefined ? "" : `: ${errno}`}`, cause === undefined ? {} : { cause });
    this.path = path;
    this.file = file;
    this.value = value;
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
    { path: dir, file, value: wanted, code: "EREADBACK" },
  );
}
