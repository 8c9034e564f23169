/** When a stream ends before its client leaves: with its Pod, app or run, or with the rights of its sender. */
import { keyOf } from "../../api/names.ts";
import { sleep } from "../../lib/sleep.ts";
import { Refusal } from "../refusal.ts";
import { abortWhen } from "../routes/routes.ts";
import type { AppView } from "../view.ts";
import { findApp, type KubeletContext, requireEntry } from "./context.ts";
import type { KubeletServices } from "./services.ts";

/** How often a long stream asks for its sender's rights again: beyond the time for which a kept answer counts. */
const defaultRecheckMs = 300_000;

/** Returns a signal that aborts when the stream has to end, with the reason as an Error. It is watched until `signal` aborts. */
export function endOfStream(
  context: KubeletContext,
  services: KubeletServices,
  found: AppView,
  signal: AbortSignal,
): AbortSignal {
  const whyOver = () => {
    const now = findApp(context, services);
    if (!now || keyOf(now.app) !== keyOf(found.app)) return `the pod of ${keyOf(found.app)} is gone`;
    const hasEnded = found.run !== undefined && now.run?.id !== found.run.id;
    return hasEnded ? `the run of ${keyOf(found.app)} has ended` : undefined;
  };
  const mayEnter = async () => {
    const now = findApp(context, services);
    if (now?.run) await requireEntry(now, services);
  };
  return AbortSignal.any([
    abortWhen(services.view, keyOf(found.app), whyOver, signal),
    endOfRights(context, services, signal, mayEnter),
  ]);
}

/** Returns a signal that aborts with a Refusal once the sender may no longer do what it does. While nobody can tell, it goes on. */
export function endOfRights(
  context: KubeletContext,
  { recheckMs = defaultRecheckMs }: Pick<KubeletServices, "recheckMs">,
  signal: AbortSignal,
  alsoAsk: () => Promise<void> = async () => {},
): AbortSignal {
  const over = new AbortController();
  const { ask } = context.get("access");
  const recheck = async () => {
    while (!over.signal.aborted) {
      await sleep(recheckMs, signal);
      if (signal.aborted) return;
      const refusal = await ask().then(alsoAsk).then(() => undefined, (error) => error);
      if (refusal instanceof Refusal && refusal.code !== 503) over.abort(refusal);
    }
  };
  void recheck();
  return over.signal;
}
