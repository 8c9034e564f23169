/** When a stream ends before its client leaves: with its Pod, app or run, or with the rights of its sender. */
import { keyOf } from "../../api/names.ts";
import { endOfRights } from "../rights.ts";
import { abortWhen } from "../routes/routes.ts";
import type { AppView } from "../view.ts";
import { findApp, type KubeletContext, requireEntry } from "./context.ts";
import type { KubeletServices } from "./services.ts";

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
    if (now?.run) await requireEntry(context, now, services);
  };
  return AbortSignal.any([
    abortWhen(services.view, keyOf(found.app), whyOver, signal),
    endOfRights(context, signal, mayEnter),
  ]);
}
