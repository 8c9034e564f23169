/** The apps that a command is for: those that are named, those that a label selector matches, or all. */
import { type LabelSelector, matchesSelector, parseSelector } from "../api/label-selector.ts";
import type { NodeApp } from "./agent-api/agent-api.ts";
import { type AppName, fullName, manyApps, nameOf } from "./app-name.ts";
import { type Flag, type Invocation, textFlag, UsageError } from "./command.ts";
import type { AppReader } from "./app-reader.ts";

export const selectorFlag: Flag = {
  short: "l",
  value: "LABELS",
  help: "The apps with these labels, such as app=web or 'tier in (a,b)'.",
};

/** The flags of a command that works on several apps. */
export const chooseFlags: Record<string, Flag> = {
  selector: selectorFlag,
  all: { help: "All apps." },
};

/** Where the apps are looked up. */
type AppList = Pick<AppReader, "namespace" | "list" | "none">;

/** Returns the names of the chosen apps, each once. A selector that matches no app is an error. */
export async function chooseApps(invocation: Invocation, apps: AppList): Promise<AppName[]> {
  const isChosen = appChoice(invocation);
  const names = isChosen
    ? await listNames(apps, isChosen, textFlag(invocation, "selector"))
    : manyApps(invocation, apps.namespace);
  return [...new Map(names.map((app) => [fullName(app), app])).values()];
}

/** Returns which apps --selector or --all choose; undefined if apps are named. */
export function appChoice(invocation: Invocation): ((app: NodeApp) => boolean) | undefined {
  const text = textFlag(invocation, "selector");
  const all = invocation.flags.all === true;
  if (text === undefined && !all) return undefined;
  if (text !== undefined && all) throw new UsageError("use --selector or --all, not both");
  if (invocation.args.length > 0) {
    throw new UsageError(`name apps, or use ${all ? "--all" : "--selector"}, not both`);
  }
  const selector = readSelector(text ?? "");
  return ({ metadata }) => matchesSelector(selector, metadata.labels);
}

function readSelector(text: string): LabelSelector {
  try {
    return parseSelector(text);
  } catch (error) {
    throw new UsageError(`--selector ${(error as Error).message}`);
  }
}

async function listNames(
  { list, none }: AppList,
  isChosen: (app: NodeApp) => boolean,
  selector = "",
): Promise<AppName[]> {
  const apps = await list();
  const chosen = apps.filter(isChosen);
  if (apps.length > 0 && chosen.length === 0) {
    throw new Error(`no app matches --selector ${selector}`);
  }
  if (chosen.length === 0) throw new Error(none);
  return chosen.map(nameOf);
}
