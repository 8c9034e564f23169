/** Command lines, and the settings of the agent. */
import { parseInvocation } from "../../../src/cli/parse-invocation.ts";
import type { Command } from "../../../src/cli/command.ts";
import { readAgentSettings } from "../../../src/cli/config/config.ts";
import { manifestFlags, manifestOf } from "../../../src/cli/run/run-manifest.ts";
import { isSafeName } from "../../../src/api/names.ts";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { holds, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";

const command: Command = {
  operands: "SCRIPT",
  flags: manifestFlags,
  examples: [],
  run: async () => 0,
};

const words: Target = {
  name: "command-line",
  covers: ["parseInvocation", "manifestOf"],
  samples: [
    "./server.sh --cpu 20 --mem 10% -e A=b --name web",
    "https://example.com/My%20App.sh?x#y --restart on-failure --sha256 " + "ab".repeat(32),
    "-n apps /srv/a.sh --grace 5 --pids-max 100 -- --flag x",
  ].map((line) => line.replaceAll(" ", "\0")),
  tokens: ["\0", "--", "-e", "=", "--cpu", "--restart", "constructor", "--no-cpu", "-ab", "--help", "\n"],
  refusal: { name: "UsageError", maxLength: 60_000, anyLines: true },
  maxBytes: 8192,
  open: () => ({
    run(input) {
      const app = manifestOf(parseInvocation(command, textOf(input).split("\0")), {}, { folder: "/home/me" });
      holds(validateNCApp(app).length === 0, "an app that is not valid came out");
      holds(isSafeName(app.metadata.name), "an app has a name that is no path");
    },
  }),
};

const settings: Target = {
  name: "settings",
  covers: ["readAgentSettings", "parseDuration", "parseAddress"],
  samples: [
    "node-name: node-a\nsync-period: 10s\nlog-max-size: 10Mi\nlog-max-files: 5\nenforce: strict\n",
    "max-apps: 500\nreserved-cpu-pct: 12.5\nstandalone: true\nlisten: 127.0.0.1:0\nreport-period: 500ms\n# end\n",
    JSON.stringify({ "manifest-url": "https://x/y", "log-level": "debug", "register-node": "never" }),
  ],
  tokens: [
    "sync-period: ",
    "report-period: ",
    "h",
    "ms",
    "max-apps: ",
    "~",
    "&a",
    "*a",
    "---",
    "- ",
    "9".repeat(30),
    "true",
    "[]",
    "{}",
  ],
  refusal: { name: "UsageError", says: /--|\/config/, maxLength: 30_000, anyLines: true },
  maxBytes: 4096,
  open: () => ({
    async run(input) {
      const read = async () => textOf(input);
      const { syncPeriodMs, reportPeriodMs, maxApps, nodeName, reserved, logs } = await readAgentSettings(
        { config: "/config", "node-name": "node-a" },
        {},
        read,
      );
      for (const period of [syncPeriodMs, reportPeriodMs]) {
        // The maximum delay of a timer; with a longer one it would fire at once, forever.
        holds(period > 0 && period < 2 ** 31, `a period of ${period} ms`);
      }
      holds(isSafeName(nodeName), "a node name that is no path");
      holds(
        Number.isSafeInteger(maxApps) && Number.isSafeInteger(logs.maxBytes),
        "a count that is no number",
      );
      holds(reserved.cpuPCT >= 0 && reserved.memPCT <= 100, "a share that is none");
    },
  }),
};

export const cliTargets: readonly Target[] = [words, settings];
