/**
 * Desired apps from manifests at a URL, requested every 20 s.
 *
 * Guarantees: only a complete answer with status 200 changes anything; 304 means that nothing changed. Any other answer keeps
 * the current apps and is reported. A broken object keeps its last valid version.
 *
 * User and password of the URL are sent as Basic authorization, to its own origin only. Redirects follow the rules for scripts: at
 * most five, never to another scheme, never to the address of a metadata service. The URL itself may have such an address.
 */
import type { LookupFunction } from "node:net";
import { maxManifestSize } from "../api/manifest/manifest.ts";
import { type Answer, type Headers, headerValue, httpGet } from "../lib/http-get.ts";
import { describeMetadataAddress, hostAddress } from "../lib/special-addresses.ts";
import { describeError } from "../lib/log.ts";
import { followRedirect, withoutSecrets } from "../lib/redirect.ts";
import type { Pulse } from "../lib/pulse.ts";
import { sleep } from "../lib/sleep.ts";
import {
  describeSkipped,
  localApp,
  mergeWithLastGood,
  pluralize,
  type ReadApp,
  readManifests,
} from "./manifest-reading.ts";
import {
  createHealth,
  type LastKnown,
  type Source,
  sourceNames,
  type SourceProblem,
  type SourceSink,
} from "./source.ts";

const name = sourceNames.url;

export interface UrlOptions {
  periodMs?: number;
  timeoutMs?: number;
  /** The apps of this source as an earlier agent knew them. */
  lastKnown?: () => LastKnown[];
  lookup?: LookupFunction;
  /** Beats when the URL is to be requested again at once. */
  reloads?: Pulse;
}

export function createUrlSource(
  url: URL,
  { periodMs = 20_000, timeoutMs = 10_000, lastKnown = () => [], lookup, reloads }: UrlOptions = {},
): Source {
  const origin = withoutSecrets(url);
  let good: ReadApp[] | undefined;
  let tag: Tag | undefined;
  /** Problems of the last complete text. */
  let problems: SourceProblem[] = [];
  const health = createHealth(`not read yet: ${origin}`);

  const summarize = (problems: SourceProblem[]) =>
    problems.length > 0 ? `${pluralize(problems.length, "problem")} at ${origin}` : undefined;

  const readOnce = async (sink: SourceSink, signal: AbortSignal) => {
    try {
      const within = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      const answer = await ask(url, tag, { timeoutMs, lookup, signal: within });
      if (answer === "unchanged") {
        // After a failed request the reported problem has to be withdrawn.
        if (!health.get().ready) sink.reportProblems(problems);
        return health.set(true, summarize(problems) ?? `unchanged at ${origin}`);
      }
      const reading = readManifests(answer.text, origin);
      good = mergeWithLastGood(reading, (good ?? lastKnown()).map(({ app }) => app));
      [tag, problems] = [answer.tag, reading.problems];
      sink.replace(good.map((app) => localApp(app, name, origin)));
      sink.reportProblems(problems);
      health.set(
        true,
        (summarize(problems) ?? `${pluralize(good.length, "app")} read`) + describeSkipped(reading.skipped),
      );
    } catch (error) {
      if (signal.aborted) return;
      const message = `${origin}: ${describeError(error)}`;
      sink.reportProblems([{ message, origin }]);
      health.set(false, message);
    }
  };

  return {
    name,
    health: health.get,
    async run(sink, signal) {
      while (!signal.aborted) {
        const asked = new AbortController();
        const cancel = reloads?.onNext(() => asked.abort());
        await readOnce(sink, signal);
        await sleep(periodMs, AbortSignal.any([signal, asked.signal]));
        cancel?.();
      }
    },
  };
}

/** The ETag of an answer and its URL: elsewhere the same tag may mean another text. */
interface Tag {
  url: string;
  etag: string;
}

async function ask(
  url: URL,
  known: Tag | undefined,
  options: { timeoutMs: number; lookup?: LookupFunction; signal: AbortSignal },
): Promise<"unchanged" | { text: string; tag?: Tag }> {
  const tagFor = (hop: URL) => known?.url === hop.href ? { "if-none-match": known.etag } : undefined;
  const headersFor = (hop: URL) => ({ accept: "application/yaml, application/json", ...tagFor(hop) });
  const checkAddress = (hop: URL, address: string) => {
    const what = describeMetadataAddress(address);
    if (hop.origin === url.origin || !what) return;
    throw new Error(
      `redirects to ${withoutSecrets(hop)}: ${address} is ${what}, which is never requested`,
    );
  };
  const nextHop = (hop: URL, headers: Headers, followed: number) => {
    const next = followRedirect(hop, headerValue(headers.location), followed);
    if (!(next instanceof URL)) throw new Error(next.message);
    checkAddress(next, hostAddress(next) ?? "");
    return next;
  };
  return await httpGet(url, { ...options, headersFor, nextHop, checkAddress }, async (answer) => {
    const text = await readBounded(answer.body);
    if (answer.status === 304 && tagFor(answer.url)) return "unchanged";
    const problem = problemOf(answer, text);
    if (problem) throw new Error(answer.url === url ? problem : `${withoutSecrets(answer.url)} ${problem}`);
    const etag = headerValue(answer.headers.etag);
    return { text, ...(etag && { tag: { url: answer.url.href, etag } }) };
  });
}

function problemOf({ status }: Answer, text: string): string | undefined {
  if (status !== 200) return `answered with status ${status}`;
  return /^\s*<(!doctype|html)/i.test(text) ? "answered with a web page instead of manifests" : undefined;
}

/** Reads a body of bounded length. An answer that ends early makes the body fail, so a cut text is never taken for whole. */
async function readBounded(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > maxManifestSize) {
      throw new Error(`exceeds the limit of ${maxManifestSize} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
