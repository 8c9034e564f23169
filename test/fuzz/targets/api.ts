/** Text from users: manifests, shares, schedules, names. */
import { isDeepStrictEqual } from "node:util";
import { readFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { checkName } from "../../../cgroups/mod.ts";
import { cronProblem } from "../../../src/api/rules/rules.ts";
import { formatProblem, parseManifests } from "../../../src/api/manifest/manifest.ts";
import { appFileName } from "../../../src/api/app-file-name.ts";
import { matchesSelector, parseSelector } from "../../../src/api/label-selector.ts";
import { isSafeName, isSafeNamespace, isSafeUid, splitAppKey } from "../../../src/api/names.ts";
import { formatPercent, parsePercent } from "../../../src/api/percent.ts";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { parseAppName } from "../../../src/cli/app-name.ts";
import { resourcePath } from "../../../src/kube/resources.ts";
import { ncapps } from "../../../src/kube/resources.ts";
import { safeMessage } from "../../../src/report/events/safe-message.ts";
import { fileNameOf } from "../../../src/sources/app-files.ts";
import { readManifests } from "../../../src/sources/manifest-reading.ts";
import { markPath } from "../../../src/supervisor/layout.ts";
import { runOfMark } from "../../../src/supervisor/run/run.ts";
import { nextRun } from "../../../src/supervisor/cron-times.ts";
import { goodSpecs } from "../../api/samples.ts";
import { holds, oneLine, type Target } from "../engine.ts";
import { jsonOf, textOf } from "./decode.ts";

const examples = fileURLToPath(new URL("../../../examples/", import.meta.url));
const example = (name: string) => readFileSync(join(examples, name), "utf8");
const app = (spec: unknown, name = "web") => ({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: {
    name,
    namespace: "default",
    labels: { a: "b" },
    annotations: { "app.example.com/restartedAt": "1" },
  },
  spec,
});
const manifestTokens = [
  ...[
    "apiVersion: app.example.com/v1alpha1",
    "kind: NCApp",
    "kind: List",
    "items:",
    "---",
    "--- ",
    "...",
    "%YAML 1.1",
  ],
  ..."metadata: spec: &a *a !!binary !!js/function >- yes ~".split(" "),
  ...["<<: *a", "? ", "- ", "| "],
  ..."null 2001-01-01 0o17 # { } [ ] ,".split(" "),
  ...["shellFile: /x.sh", "cpuPCT: 200", "memPCT: 1e1", "\t"],
];

const manifests: Target = {
  name: "manifest",
  covers: ["readManifests", "parseManifests", "parseDocuments", "validateNCApp", "formatProblem"],
  samples: [
    ...["web.yaml", "env.yaml", "probes.yaml", "cron.yaml", "nothing-yet.yaml", "daemon.yaml"].map(example),
    `${example("hello.yaml")}---\n${example("once.yaml")}`,
    JSON.stringify({ apiVersion: "v1", kind: "List", items: goodSpecs.slice(0, 3).map((spec) => app(spec)) }),
    ...goodSpecs.map((spec) => JSON.stringify(app(spec))),
    "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\ndata: {a: aGk=}\nstringData: {b: c}\n",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
  ],
  tokens: manifestTokens,
  open: () => ({
    run(input) {
      const text = textOf(input);
      const { problems } = readManifests(text, "apps.yaml", {
        baseDir: "/base",
        file: { uid: 0, mode: 0o600 },
      });
      for (const { message } of problems) oneLine(message, "a problem", 1000);
      const parsed = parseManifests(text, "apps.yaml", { baseDir: "/base" });
      for (const problem of parsed.problems) oneLine(formatProblem(problem), "a problem", 1000);
      for (const app of parsed.apps) {
        holds(validateNCApp(app).length === 0, "an app that was read is not valid");
        holds(isSafeName(app.metadata.name), "an app has a name that is no path");
        holds(isSafeNamespace(app.metadata.namespace ?? ""), "an app has a namespace that is no path");
        const again = parseManifests(JSON.stringify(app), "again.json").apps[0];
        holds(isDeepStrictEqual(again, app), "an app reads differently when it is written and read again");
      }
    },
  }),
};

const validator: Target = {
  name: "validate",
  covers: ["validateNCApp", "checkSchema", "checkRules", "withDefaults"],
  samples: goodSpecs.map((spec) => JSON.stringify(app(spec))),
  treesOnly: true,
  open: () => ({
    run(input) {
      for (const { field, message } of validateNCApp(jsonOf(input))) {
        oneLine(message, "a problem", 1000);
        holds(message.startsWith(field), "a problem does not begin with its field");
      }
    },
  }),
};

const percent: Target = {
  name: "percent",
  covers: ["parsePercent", "formatPercent"],
  samples: ["20", "12.5", "20%", "0.1", "99.999%", "100.0", "", "100"],
  tokens: ["%", ".", "e", "0", "100"],
  refusal: { name: "RangeError", says: /^Invalid value: / },
  open: () => ({
    run(input) {
      const text = textOf(input);
      const value = parsePercent(text);
      if (value === undefined) return holds(text === "", "something reads as no share");
      holds(value > 0 && value <= 100, `${value} is no share`);
      const shown = formatPercent(value);
      holds(Math.abs(Number(shown) - value) <= 0.05 + 1e-9, `${value} is shown as ${shown}`);
      if (Number(shown) > 0) holds(parsePercent(shown) === Number(shown), "what is shown does not read back");
    },
  }),
};

const cron: Target = {
  name: "cron",
  covers: ["cronProblem", "nextRun"],
  samples: [
    ...[
      "*/5 * * * *|UTC|0",
      "0 3 * * 1-5|Europe/Berlin|1774000000000",
      "30 2 29 2 *|America/New_York|1900000000000",
    ],
    ...[
      "@daily|Asia/Kolkata|1",
      "0 0 1 jan sun|Pacific/Apia|99999999999",
      "*/15 0-23/2 1,15 * ? |UTC|1700000000000",
    ],
    ...["15,45 * * * * *|Australia/Lord_Howe|1800000000000", "0 0 31 1,3,5 *||1600000000000"],
  ],
  tokens: [..."* / - , ? @hourly jan DEC mon 7 59 60 L W # | UTC".split(" "), " "],
  maxBytes: 4096,
  open: () => ({
    run(input) {
      const [expression = "", zone = "", at = ""] = textOf(input).split("|");
      const problem = cronProblem(expression);
      if (problem !== undefined) return oneLine(problem, "a problem", 400);
      const after = Number(at);
      if (!isTimeZone(zone) || !(Math.abs(after) < 4e12)) return;
      const next = nextRun(expression, zone, after);
      holds(next === undefined || next > after, "the next run is not after now");
      holds(next === undefined || next % 1000 === 0, "the next run is within a second");
    },
  }),
};

const root = "/state";
const names: Target = {
  name: "names",
  covers: [
    ..."appFileName checkName fileNameOf resourcePath splitAppKey parseAppName".split(" "),
    ..."runOfMark markPath".split(" "),
    "isSafeUid",
  ],
  samples: [
    "default\nweb",
    "a-b\nx.y.z",
    "kube-system\nweb-1.example",
    `n\n${"a".repeat(253)}`,
    "default\nrun-1.exit",
  ],
  tokens: ["..", "/", ".", "-", "_", "\0", "%2e", "\n", "agent", "keeper", "cpu.max", ".exit", "aux"],
  maxBytes: 600,
  open() {
    const seen = new Map<string, string>();
    return {
      run(input) {
        const [namespace = "", name = ""] = textOf(input).split("\n");
        const app = { metadata: { namespace, name } };
        const makers = { appFileName: () => appFileName(namespace, name), fileNameOf: () => fileNameOf(app) };
        refusedOr(() => isOneStep(checkName(name)), 7000);
        for (const [maker, make] of Object.entries(makers)) {
          const made = refusedOr(make, 7000);
          if (made === undefined) continue;
          isOneStep(made);
          // Two apps with one file name would share state.
          const owner = seen.get(`${maker} ${made}`) ?? `${namespace}\n${name}`;
          holds(owner === `${namespace}\n${name}`, `${maker} gives one path to two apps`);
          if (seen.size < 5000) seen.set(`${maker} ${made}`, owner);
        }
        const url = refusedOr(() => resourcePath(ncapps, { namespace, name }), 7000);
        if (url !== undefined) {
          holds(new URL(url, "http://x").pathname === url, "a URL path is changed by its own parser");
        }
        const operand = refusedOr(() => parseAppName(`${namespace}/${name}`), 7000);
        if (operand) {
          holds(isSafeName(operand.name) && isSafeNamespace(operand.namespace), "an operand is no path");
        }
        refusedOr(() => splitAppKey(`${namespace}/${name}`), 7000);
        const run = runOfMark(name);
        // No file system has a longer name.
        if (run !== undefined && name.length <= 255) isOneStep(run);
        if (isSafeUid(name)) {
          isOneStep(markPath({ stateDir: root, logDir: root }, name).slice(`${root}/marks/`.length));
        }
      },
    };
  },
};

const messages: Target = {
  name: "safe-message",
  covers: ["safeMessage"],
  samples: [
    'Get "https://user:hunter2@example.com/x?sig=hunter2": refused',
    "Started /opt/run.sh as process 12",
    "see https://example.com/a?hunter2#hunter2, or https://a.b/.\nlast line",
  ],
  tokens: ["://", "@", "?", "#", "hunter2", "https://", "a://", "\n", "\x1b"],
  open: () => ({
    run(input) {
      const text = textOf(input);
      const shown = safeMessage(text);
      holds(shown.length <= 1024, `a message of ${shown.length} characters`);
      holds(!/[\u0000-\u0009\u000b-\u001f\u007f]/.test(shown), "a message holds control characters");
      const secret = /\bhttps?:\/\/[a-z]+:(hunter2)@[a-z]+\//.test(text.slice(0, 500));
      if (secret) holds(!/\bhttps?:\/\/[a-z]+:hunter2@/.test(shown), "a message shows a password");
    },
  }),
};

const selectors: Target = {
  name: "selector",
  covers: ["parseSelector", "matchesSelector"],
  samples: ["app=web,tier!=back", "app in (web,db),!old", "example.com/zone notin (a, b),x", "a==b"],
  tokens: [",", "(", ")", " in ", " notin ", "!", "=", "!=", "==", "/", "constructor", " "],
  maxBytes: 5000,
  refusal: { name: "Error", says: /label|selector|parentheses/, maxLength: 2000 },
  open: () => ({
    run(input) {
      const selector = parseSelector(textOf(input));
      for (const { key, operator, values = [] } of selector.matchExpressions ?? []) {
        holds(/^[\w./-]{1,317}$/.test(key), `the key ${key}`);
        holds(values.every((value) => /^[\w.-]{0,63}$/.test(value)), `the values ${values}`);
        const one = { matchExpressions: [{ key, operator, values }] };
        const opposite = {
          In: "NotIn",
          NotIn: "In",
          Exists: "DoesNotExist",
          DoesNotExist: "Exists",
        } as const;
        const other = { matchExpressions: [{ key, operator: opposite[operator], values }] };
        for (const labels of [{}, { [key]: values[0] ?? "x" }, { [key]: "other" }]) {
          holds(matchesSelector(one, labels) !== matchesSelector(other, labels), "a label is in and out");
        }
      }
    },
  }),
};

export const apiTargets: readonly Target[] = [
  manifests,
  validator,
  percent,
  cron,
  names,
  messages,
  selectors,
];

/** Returns the result, or undefined for a proper refusal. */
function refusedOr<T>(make: () => T, maxLength: number): T | undefined {
  try {
    return make();
  } catch (error) {
    holds(["Error", "CgroupError", "UsageError"].includes((error as Error).name), `threw ${error}`);
    oneLine((error as Error).message, "a refusal", maxLength);
    return undefined;
  }
}

/** Asserts that a name is exactly one level below its folder. */
function isOneStep(name: string): void {
  const path = resolve(root, name);
  holds(path === `${root}${sep}${name}`, `${JSON.stringify(name)} leads to ${path}`);
  holds(!name.includes("/") && !name.includes("\0"), `${JSON.stringify(name)} is more than one step`);
  holds(name.length <= 255, `a name of ${name.length} characters`);
}

const zones = new Map<string, boolean>();

function isTimeZone(name: string): boolean {
  const known = zones.get(name);
  if (known !== undefined) return known;
  let valid = true;
  try {
    new Intl.DateTimeFormat("en", { timeZone: name || undefined });
  } catch {
    valid = false;
  }
  if (zones.size < 1000) zones.set(name, valid);
  return valid;
}
