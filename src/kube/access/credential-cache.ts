/**
 * Keeps a resolved kubeconfig current: resolves it again before its credential expires, when one of its files changes, and when the
 * server has rejected the credential.
 *
 * Guarantees: one resolution runs at a time, for all callers. While a credential is good, callers get it at once and the next one is
 * fetched in the background; they wait only for the first, and after an expiry or a rejection. If a resolution fails, the last good
 * credential stays in use and the failure is logged. Repeated failures and rejections cause one resolution per second at first, one
 * per minute later; a changed file ends that wait.
 * The server never changes: another one may be another cluster, whose list of apps would stop those of this node. A kubeconfig that
 * names another server is reported and not used, its credential included, until a restart, which checks the cluster.
 * Caveat: there is no timer. Whoever sends requests, such as Lease renewals every 10 s, makes it look.
 */
import { createBackoff } from "../../lib/backoff.ts";
import type { Logger } from "../../lib/log.ts";
import {
  type Credentials,
  type FileStamp,
  type Resolution,
  type Resolve,
  stampFiles,
  type Target,
} from "./resolution.ts";

export interface CredentialCache {
  readonly target: Target;
  credentials(): Promise<Credentials>;
  /** The server rejected the credential: the next `credentials()` waits for another one. */
  reject(): void;
}

export interface CredentialCacheOptions {
  log?: Pick<Logger, "info" | "warn">;
  now?: () => number;
  /** The time between two looks at the files. */
  checkMs?: number;
  /** Whether a resolution with another server may be used. */
  ignoreServer?: boolean;
}

/** A credential is renewed this long before it expires, or in the last quarter of a shorter life. */
const earlyMs = 60_000;

interface Known {
  credentials: Credentials;
  renewAt: number;
}

/** Resolves for the first time; throws if the kubeconfig is invalid. A missing credential is an error of `credentials()` only. */
export async function createCredentialCache(
  resolve: Resolve,
  options: CredentialCacheOptions = {},
): Promise<CredentialCache> {
  const { log, now = Date.now, checkMs = 1000, ignoreServer = false } = options;
  const backoff = createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.5 });
  const first = await resolve({ rejected: false });
  let target = first.target;
  let files = target.files;
  let known: Known | undefined;
  let rejected: Known | undefined;
  let problem: unknown;
  let notBefore = 0;
  let checkedAt = now();
  let checking = false;

  const accept = async (resolution: Resolution) => {
    if (!ignoreServer && resolution.target.server !== target.server) {
      files = resolution.target.files;
      throw new Error(
        `${resolution.target.context} names another server, ${resolution.target.server}: restart to use it`,
      );
    }
    files = resolution.target.files;
    const credentials = await resolution.credentials;
    files = withStamp(files, credentials.saved);
    const isNew = !known || !isSame(known.credentials, credentials);
    const before = describe(target);
    target = resolution.target;
    known = { credentials, renewAt: renewalTime(credentials, now()) };
    if (credentials.warning) log?.warn(credentials.warning);
    if (before !== describe(target)) log?.info("the kubeconfig has changed", { now: describe(target) });
    return isNew;
  };

  const attempt = async (work: () => Promise<Resolution>) => {
    try {
      if (await accept(await work())) {
        backoff.reset();
        notBefore = 0;
        return;
      }
    } catch (error) {
      problem = error;
      const what = known
        ? "renew the credential of the kubeconfig; the last one stays in use"
        : "get a credential";
      log?.warn(`cannot ${what}`, { error });
    }
    // A failure, or the same credential again: asking more often would not help.
    notBefore = now() + backoff.next();
  };

  let running: Promise<void> | undefined = attempt(async () => first).finally(() => running = undefined);
  const renew = (isRejected: boolean) =>
    running ??= attempt(async () => {
      files = await stampFiles(files.map(({ path }) => path));
      return await resolve({ rejected: isRejected });
    }).finally(() => running = undefined);

  const renewIfAllowed = async (isRejected: boolean) => {
    if (running || now() >= notBefore) await renew(isRejected);
    else void lookAtFiles();
  };

  const lookAtFiles = async () => {
    if (checking || running || now() - checkedAt < checkMs) return;
    checking = true;
    const current = await stampFiles(files.map(({ path }) => path));
    checkedAt = now();
    checking = false;
    if (current.some(({ stamp }, at) => stamp !== files[at]?.stamp)) await renew(false);
  };

  const usable = () => {
    if (!known) throw problem;
    return known.credentials;
  };

  return {
    get target() {
      return target;
    },
    async credentials() {
      const isRejected = known !== undefined && known === rejected;
      if (!known || isRejected || now() >= (known.credentials.expiresAt ?? Infinity)) {
        await renewIfAllowed(isRejected);
      } else if (now() >= known.renewAt) void renewIfAllowed(false);
      else void lookAtFiles();
      return usable();
    },
    reject() {
      rejected = known;
    },
  };
}

/** Returns when to renew a credential. Pure. */
export function renewalTime({ expiresAt }: Pick<Credentials, "expiresAt">, now: number): number {
  return expiresAt === undefined ? Infinity : expiresAt - Math.min(earlyMs, (expiresAt - now) / 4);
}

function describe({ context, kind, proxyUrl }: Target): string {
  return [context, kind, ...(proxyUrl ? [`proxy ${new URL(proxyUrl).host}`] : [])].join(", ");
}

function isSame(a: Credentials, b: Credentials): boolean {
  return JSON.stringify([a.headers, a.tls]) === JSON.stringify([b.headers, b.tls]);
}

function withStamp(files: FileStamp[], saved: FileStamp | undefined): FileStamp[] {
  return saved ? files.map((file) => file.path === saved.path ? saved : file) : files;
}
