/** `/exec` and `/attach`: a command inside of an app, and the app's own output. */
import { dirname } from "node:path";
import type { Readable, Writable } from "node:stream";
import { finished, Readable as ReadableStream } from "node:stream";
import { sleep } from "../../lib/sleep.ts";
import { readLog } from "../../supervisor/logs/logs.ts";
import { type ExecSession, startExecSession } from "../../supervisor/run/run.ts";
import { Refusal } from "../refusal.ts";
import { flag } from "../routes/routes.ts";
import type { AppView } from "../view.ts";
import { type KubeletContext, requireContainer, requireEntry, requireRun } from "./context.ts";
import { endOfStream } from "./lifetime.ts";
import { readParameter } from "./query.ts";
import {
  exitStatus,
  failureStatus,
  followSizes,
  openRemoteStreams,
  remoteCommandProtocols,
  type RemoteStreams,
  sendResult,
  type StreamType,
} from "./remote-command.ts";
import type { KubeletServices } from "./services.ts";
import { reserved } from "./stream-memory.ts";
import { acceptStreams, type StreamUse } from "./upgrade.ts";

export interface CommandQuery {
  command: string[];
  tty: boolean;
  streams: StreamType[];
}

/** How long an output may be silent after the command has ended, while something in the background still holds it. */
const quietMs = 1000;

/** Reads which command to run and which streams the client will open. */
export function readCommandQuery(url: URL): CommandQuery {
  const isSet = (name: string) => readParameter(url, name, flag) ?? false;
  const tty = isSet("tty");
  const wanted: Record<StreamType, boolean> = {
    error: true,
    stdin: isSet("input"),
    stdout: isSet("output"),
    stderr: isSet("error") && !tty,
    resize: tty,
  };
  if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
    throw new Refusal(400, "one of the query parameters input, output and error has to be 1");
  }
  const command = url.searchParams.getAll("command");
  if (command.some((word) => word.includes("\0"))) {
    throw new Refusal(400, "query parameter command: has a NUL byte");
  }
  return { command, tty, streams: (Object.keys(wanted) as StreamType[]).filter((type) => wanted[type]) };
}

export async function exec(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const found = requireContainer(context, services);
  const run = requireRun(found);
  await requireEntry(context, found, services);
  const { command, tty, streams: types } = readCommandQuery(new URL(context.req.url));
  if (command.length === 0) throw new Refusal(400, "query parameter command: Required value");
  return serveRemote(context, services, found, types, async (remote) => {
    const input = types.includes("stdin");
    const options = { launcher: services.launcher, pid: found.status.pid, terminal: tty, input };
    const session = await startExecSession(run.folder, command, options).catch((error: Error) => error);
    if (session instanceof Error) return await sendResult(remote, failureStatus(session.message));
    const gone = new AbortController();
    void remote.session.closed.then(() => gone.abort());
    await connect(remote, session, endOfStream(context, services, found, gone.signal));
  });
}

/** Serves these streams of an app, once the client has opened all of them. */
function serveRemote(
  context: KubeletContext,
  services: KubeletServices,
  found: AppView,
  types: StreamType[],
  serve: (remote: RemoteStreams) => Promise<void>,
): Response {
  return acceptStreams(
    context,
    remoteCommandProtocols,
    services,
    useOf(found, types),
    async (socket, holder) => {
      const remote = await openRemoteStreams(socket, types, services, holder);
      if (remote) await serve(remote);
    },
  );
}

/** What the streams of a command reserve. */
function useOf(app: AppView, types: readonly StreamType[]): StreamUse {
  const outputs = types.filter((type) => type === "stdout" || type === "stderr").length;
  return { app, bytes: outputs * reserved.output + (types.includes("stdin") ? reserved.input : 0) };
}

/** Connects a command with its client until one of them ends, or `until` aborts; a command ends with its client. */
async function connect(remote: RemoteStreams, command: ExecSession, until: AbortSignal): Promise<void> {
  const { session, streams: { stdin, stdout, stderr, resize } } = remote;
  if (stdin && command.stdin) {
    stdin.pipe(command.stdin);
    // pipe() does not pass on a reset, which may have come before the command was started.
    finished(stdin, { writable: false }, () => command.stdin?.end());
    // A command that reads no more input must not keep the client from sending the rest.
    command.stdin.on("close", () => stdin.resume());
  }
  if (resize) followSizes(resize, command.resize);
  const outputs = [passOn(command.stdout, stdout), passOn(command.stderr, stderr)];
  const exited = command.exited.then(exitStatus, (error: Error) => failureStatus(error.message));
  const ended = aborted(until).then(() => failureStatus((until.reason as Error).message));
  const status = await Promise.race([exited, session.closed.then(() => undefined), ended]);
  if (status === undefined || until.aborted) command.end();
  await exited;
  await Promise.all(outputs.map((output) => output?.drained()));
  if (status) await sendResult(remote, status);
}

/** Passes output on at the client's pace; `drained` resolves when the client has all of it. */
function passOn(output: Readable | undefined, target: Writable | undefined) {
  if (!output) return undefined;
  let moved = false;
  output.on("data", () => moved = true);
  const ended = new Promise<void>((resolve) => output.once("close", resolve));
  if (target) {
    output.pipe(target, { end: false });
    // The command gets SIGPIPE, as in a pipe whose reader has left.
    finished(target, { readable: false }, () => output.destroy());
  }
  return {
    async drained(): Promise<void> {
      const done = new AbortController();
      void ended.then(() => done.abort());
      while (!done.signal.aborted) {
        moved = false;
        await sleep(quietMs, done.signal);
        if (!moved && (target?.writableLength ?? 0) === 0) output.destroy();
      }
    },
  };
}

/** Follows what the app writes from now on. Its standard input is /dev/null, so what a client sends is dropped. */
export async function attach(context: KubeletContext, services: KubeletServices): Promise<Response> {
  const found = requireContainer(context, services);
  const run = requireRun(found);
  await requireEntry(context, found, services);
  const { streams: types } = readCommandQuery(new URL(context.req.url));
  return serveRemote(context, services, found, types, async (remote) => {
    const { session, streams: { stdin, stdout, resize } } = remote;
    stdin?.resume();
    resize?.resume();
    const gone = new AbortController();
    const { signal } = gone;
    void session.closed.then(() => gone.abort());
    const until = endOfStream(context, services, { ...found, run }, signal);
    if (stdout) {
      const log = readLog(dirname(found.logFile), { follow: true, tailLines: 0, signal, until });
      const lines = ReadableStream.from(log, { objectMode: false });
      lines.pipe(stdout, { end: false });
      // Also if it was reset already: nothing reads the lines then, and their files would stay open.
      finished(stdout, { readable: false }, () => {
        gone.abort();
        lines.destroy();
      });
      await new Promise((resolve) => lines.once("close", resolve).once("error", resolve));
    } else await aborted(AbortSignal.any([signal, until]));
    gone.abort();
    const isRefused = until.reason instanceof Refusal;
    await sendResult(remote, isRefused ? failureStatus(until.reason.message) : exitStatus(0));
  });
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }
}
