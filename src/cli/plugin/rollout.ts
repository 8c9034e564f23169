/**
 * `kubectl ncapp rollout VERB SET`: watches, lists, undoes, pauses, resumes, restarts and promotes the rollout of an NCAppSet, and retries
 * a job. `history` and `undo` take a single NCApp, too.
 */
import { dump } from "js-yaml";
import { defaultNamespace, setAnnotations } from "../../api/names.ts";
import type { NCApp, NCAppSet } from "../../api/types.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { writeNewest } from "../../kube/guarded-write.ts";
import { closest } from "../../lib/closest.ts";
import { ownValue } from "../../lib/objects.ts";
import { type AppName, fullName, parseAppName } from "../app-name.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { parseDuration, parseWholeNumber } from "../flag-values.ts";
import { clusterFlags, connectAsKubectl } from "./cluster-apps.ts";
import { appHistoryLines, findSingleApp, undoApp } from "./rollout-app.ts";
import {
  type Change,
  pauseRollout,
  promoteCanary,
  restartApps,
  resumeRollout,
  retryFailed,
} from "./rollout-changes.ts";
import { findRevision, historyLines, revisionToRestore, templateOf } from "./rollout-history.ts";
import { waitForRollout } from "./rollout-status.ts";
import { describeSet, readRevisions, readSet, setPath } from "./set-objects.ts";

/** What a verb does, and the flags that only it has. */
interface Verb {
  flags?: string[];
  run(scene: Scene): Promise<number>;
  /** What it does with a single app, if it takes one; returns what to print. */
  runApp?(client: KubeClient, app: NCApp): Promise<string> | string;
}

interface Scene {
  client: KubeClient;
  set: NCAppSet;
  invocation: Invocation;
  io: Io;
}

const verbs: Record<string, Verb> = {
  status: { flags: ["timeout", "watch"], run: status },
  history: {
    flags: ["revision"],
    run: history,
    runApp: (_, app) => appHistoryLines(app, Date.now()).join("\n"),
  },
  undo: { flags: ["to-revision"], run: undo, runApp: undoApp },
  pause: { run: (scene) => patch(scene, pauseRollout(scene.set)) },
  resume: { run: (scene) => patch(scene, resumeRollout(scene.set)) },
  restart: { run: (scene) => patch(scene, restartApps(scene.set, Date.now())) },
  promote: { run: (scene) => patch(scene, promoteCanary(scene.set)) },
  retry: { run: (scene) => patch(scene, retryFailed(scene.set, Date.now())) },
};

export const rolloutCommand: Command = {
  operands: `${Object.keys(verbs).join("|")} SET`,
  flags: {
    watch: { help: "status: wait for the end; --watch=false prints once.", default: "true" },
    timeout: { value: "TIME", help: "status: how long to wait.", default: "no limit" },
    revision: { value: "N", help: "history: show the template of this revision." },
    "to-revision": { value: "N", help: "undo: the revision to go back to.", default: "the one before" },
    ...clusterFlags,
  },
  examples: [
    "kubectl ncapp rollout status web --timeout 10m",
    "kubectl ncapp rollout history web --revision 3",
    "kubectl ncapp rollout undo web",
    "kubectl ncapp rollout history ncapp/db",
    "kubectl ncapp rollout promote shop/web",
    "kubectl ncapp rollout retry migrate",
  ],
  async run(invocation, io) {
    const [name = "", word, extra] = invocation.args;
    const verb = findVerb(name);
    for (const [other, { flags = [] }] of Object.entries(verbs)) {
      const misplaced = other === name
        ? undefined
        : flags.find((flag) => invocation.flags[flag] !== undefined);
      if (misplaced) throw new UsageError(`--${misplaced} belongs to rollout ${other}, not to ${name}`);
    }
    if (word === undefined || extra !== undefined) {
      throw new UsageError(`rollout ${name} takes one set; 'kubectl get ncappsets -A' lists all`);
    }
    using cluster = await connectAsKubectl(invocation, io);
    const { client, namespace } = cluster;
    // kubectl rollout takes TYPE/NAME.
    const plain = word.replace(/^ncapp(set)?s?(\.app\.example\.com)?\//, "");
    const named = parseAppName(plain, textFlag(invocation, "namespace"), namespace, "a set");
    const isApp = /^ncapps?(\.app\.example\.com)?\//.test(word);
    const set = isApp ? undefined : await readSet(client, named).catch((error) => error as Error);
    if (set !== undefined && !(set instanceof Error)) return await verb.run({ client, set, invocation, io });
    const app = verb.runApp && await findSingleApp(client, named);
    if (!app) throw set ?? new Error(`no NCApp ${fullName(named)} that rollout ${name} can take`);
    const misplaced = verb.flags?.find((flag) => invocation.flags[flag] !== undefined);
    if (misplaced) throw new UsageError(`--${misplaced} is for sets: an app has its last versions only`);
    io.stdout(`${await verb.runApp!(client, app)}\n`);
    return 0;
  },
};

function findVerb(name: string): Verb {
  const verb = ownValue(verbs, name);
  if (verb) return verb;
  const near = closest(name, Object.keys(verbs));
  const hint = near ? `did you mean ${near}?` : `use ${Object.keys(verbs).join(", ")}`;
  throw new UsageError(
    name ? `no rollout ${JSON.stringify(name)}; ${hint}` : `rollout needs a verb; ${hint}`,
  );
}

async function status({ client, set, invocation, io }: Scene): Promise<number> {
  const timeout = textFlag(invocation, "timeout");
  const options = {
    watch: invocation.flags.watch !== false,
    timeoutMs: timeout === undefined ? undefined : parseDuration("timeout", timeout),
  };
  return await waitForRollout(client, set, options, io) ? 0 : 1;
}

async function history({ client, set, invocation, io }: Scene): Promise<number> {
  const number = numberFlag(invocation, "revision");
  const revisions = await readRevisions(client, set);
  io.stdout(
    number === undefined
      ? `${historyLines(set, revisions, Date.now()).join("\n")}\n`
      : dump(templateOf(set, findRevision(set, revisions, number)), { noRefs: true, lineWidth: -1 }),
  );
  return 0;
}

/**
 * Replaces the template as a whole: a merge patch would keep fields that the revision does not have. The promotion goes, too: if the
 * revision is tried again, it starts with its canary.
 */
async function undo({ client, set, invocation, io }: Scene): Promise<number> {
  const revisions = await readRevisions(client, set);
  const revision = revisionToRestore(set, revisions, numberFlag(invocation, "to-revision"));
  const template = templateOf(set, revision);
  const name = nameOf(set);
  await writeNewest(set, {
    read: () => readSet(client, name),
    async write(newest = set) {
      const { uid, generation } = set.metadata;
      // The status of a set changes all the time; its spec must be what the user saw.
      if (newest.metadata.uid !== uid || newest.metadata.generation !== generation) {
        throw new Error(
          `${describeSet(set)} was changed by someone else in the meantime: look at it and try again`,
        );
      }
      const { [setAnnotations.promote]: _, ...annotations } = newest.metadata.annotations ?? {};
      const metadata = { ...newest.metadata, annotations };
      const body = { ...newest, metadata, spec: { ...newest.spec, template } };
      await client.request({ method: "PUT", path: setPath(name), body });
    },
  });
  io.stdout(`${describeSet(set)} goes back to revision ${revision.revision} (${revision.metadata.name})\n`);
  return 0;
}

async function patch({ client, set, io }: Scene, { body, done }: Change): Promise<number> {
  await client.request({ method: "PATCH", path: setPath(nameOf(set)), body });
  io.stdout(`${done}\n`);
  return 0;
}

function numberFlag(invocation: Invocation, flag: string): number | undefined {
  const text = textFlag(invocation, flag);
  return text === undefined ? undefined : parseWholeNumber(flag, text, { min: 1 });
}

function nameOf({ metadata: { namespace = defaultNamespace, name } }: NCAppSet): AppName {
  return { namespace, name };
}
