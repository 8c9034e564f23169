/**
 * Desired apps from a text of manifests at a URL, asked for every 20 s.
 *
 * Guarantees: only a complete answer with status 200 changes anything; 304 says that nothing changed. Whatever else comes keeps
 * the apps that there are, and is reported. A broken object keeps its last good version.
 */
import { maxManifestSize } from "../api/manifest.ts";
import type { NCApp } from "../api/types.ts";
import { describeError } from "../lib/log.ts";
import { sleep } from "../lib/sleep.ts";
import { Agent, type Dispatcher, request } from "../lib/undici.ts";
import { localApp, mergeWithLastGood, readManifests } from "./manifest-reading.ts";
import type { LastKnown, Source, SourceHealth, SourceProblem, SourceSink } from "./source.ts";

export interface UrlOptions {
  name?: string;
  periodMs?: number;
  timeoutMs?: number;
  /** The apps of this source as an earlier agent knew them. */
  lastKnown?: () => LastKnown[];
}

/** A source that follows one URL. */
export function createUrlSource(
  url: URL,
  { name = "manifest-url", periodMs = 20_000, timeoutMs = 10_000, lastKnown = () => [] }: UrlOptions = {},
): Source {
  const origin = withoutSecrets(url);
  let good: NCApp[] | undefined;
  let etag: string | undefined;
  /** What was wrong in the last text that came whole. */
  let problems: SourceProblem[] = [];
  let health: SourceHealth = { ready: false, message: `not read yet: ${origin}`, since: new Date() };

  const setHealth = (ready: boolean, message: string) => {
    if (health.ready !== ready || health.message !== message) health = { ready, message, since: new Date() };
  };

  const troubleOf = ({ length }: SourceProblem[]) =>
    length > 0 ? `${length} problems at ${origin}` : undefined;

  const readOnce = async (dispatcher: Dispatcher, sink: SourceSink, signal: AbortSignal) => {
    try {
      const answer = await ask(
        dispatcher,
        url,
        etag,
        AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      );
      if (answer === "unchanged") {
        // After a reading that failed, what was told of that has to be taken back.
        if (!health.ready) sink.trouble(problems);
        return setHealth(true, troubleOf(problems) ?? `unchanged at ${origin}`);
      }
      const reading = readManifests(answer.text, origin);
      good = mergeWithLastGood(reading, good ?? lastKnown().map(({ app }) => app));
      [etag, problems] = [answer.etag, reading.problems];
      sink.replace(good.map((app) => localApp(app, name, origin)));
      sink.trouble(problems);
      setHealth(true, troubleOf(problems) ?? `${good.length} apps read`);
    } catch (error) {
      if (signal.aborted) return;
      const message = `${origin}: ${describeError(error)}`;
      sink.trouble([{ message, origin }]);
      setHealth(false, message);
    }
  };

  return {
    name,
    health: () => health,
    async run(sink, signal) {
      const dispatcher = new Agent({ connect: { timeout: timeoutMs } });
      while (!signal.aborted) {
        await readOnce(dispatcher, sink, signal);
        await sleep(periodMs, signal);
      }
      await dispatcher.destroy();
    },
  };
}

async function ask(
  dispatcher: Dispatcher,
  url: URL,
  etag: string | undefined,
  signal: AbortSignal,
): Promise<"unchanged" | { text: string; etag?: string }> {
  const { statusCode, headers, body } = await request(dispatcher, {
    origin: url.origin,
    path: url.pathname + url.search,
    method: "GET",
    headers: { accept: "application/yaml, application/json", ...(etag ? { "if-none-match": etag } : {}) },
    signal,
  });
  const text = await readBounded(body);
  if (statusCode === 304 && etag) return "unchanged";
  if (statusCode !== 200) throw new Error(`answered with status ${statusCode}`);
  if (/^\s*<(!doctype|html)/i.test(text)) throw new Error("answered with a web page instead of manifests");
  const tag = headers.etag;
  return { text, ...(typeof tag === "string" ? { etag: tag } : {}) };
}

/** An answer that ends before its announced length breaks the body, so that a cut text is never taken for whole. */
async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxManifestSize) {
      throw new Error(`is longer than the ${maxManifestSize} bytes that are read`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Passwords and query strings may be secrets: they are for the server only. */
function withoutSecrets({ protocol, host, pathname }: URL): string {
  return `${protocol}//${host}${pathname}`;
}
