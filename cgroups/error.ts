/** What went wrong with which cgroup file. */
export interface CgroupErrorFields {
  /** The cgroup folder, or whatever path the trouble is about. */
  path: string;
  /** The interface file in it, such as `memory.max`. */
  file?: string;
  /** What was to be written or was found. */
  value?: string;
  /** The errno (`EBUSY`), or a word of this library's own (`EREADBACK`). */
  code?: string;
  cause?: unknown;
}

/** The one error this library throws. Its message names path, file, value and errno. */
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

/** The errno of a system error, on either runtime; `unknown` for anything else. */
export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "unknown";
}

/** The kernel took a write and holds something else: the limit is not what was asked for. */
export function readBackError(dir: string, file: string, wanted: string, actual: string): CgroupError {
  return new CgroupError(
    `wrote ${JSON.stringify(wanted)} to ${dir}/${file}, but it reads ${JSON.stringify(actual)}`,
    { path: dir, file, value: wanted, code: "EREADBACK" },
  );
}
