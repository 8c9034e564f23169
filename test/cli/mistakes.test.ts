/** Command lines that users of docker, systemctl and kubectl type by mistake, and the message that each gets. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "./call.ts";

const lines: readonly [line: string, message: string][] = [
  ["ps --filter name=web", "unknown flag --filter: use -l LABELS, or name the apps"],
  ["ps -q", "unknown flag -q: use -o name"],
  ["ps -A", "unknown flag -A: it lists the apps of all namespaces and phases"],
  ["ps --namespace", "--namespace needs a value: use --namespace NAME"],
  ["ps -o tabel", '--output "tabel": use table, wide, json, yaml or name'],
  ["ps --format json", "unknown flag --format: use -o json"],
  ["ps --all-namespaces", "unknown flag --all-namespaces: it lists the apps of all namespaces and phases"],
  ["ls", 'unknown command "ls"; did you mean "ps"?'],
  ["get ncapp", 'unknown command "get"; did you mean "ps"?'],
  ["status web", 'unknown command "status"; did you mean "ps"?'],
  ["list", 'unknown command "list"; did you mean "ps"?'],
  ["logs", "no app is named; the command ps lists all apps"],
  ["logs web --tail ten", '--tail "ten": use a whole number from 0 to 1000000'],
  ["logs web --tail -5", '--tail needs a value: write --tail=-5 if "-5" is the value'],
  ["logs web --since yesterday", '--since "yesterday": use a time such as 30s, 5m, 1h30m or 2d'],
  ["logs web --since 5", '--since "5": use a time such as 30s, 5m, 1h30m or 2d'],
  [
    "logs web --since-time 10:00",
    '--since-time "10:00": use a time of RFC 3339 such as 2026-11-17T07:04:14Z',
  ],
  ["logs web --lines 10", "unknown flag --lines: use --tail N"],
  ["logs web --run 1 -f", "use --run or --follow, not both"],
  ["logs web --run 1 -p", "use --run or --previous, not both"],
  ["logs web --since 5m --since-time 2026-11-17T07:04:14Z", "use --since or --since-time, not both"],
  ["logs web -t", "unknown flag -t: use --timestamps"],
  ["stop", "no app is named; the command ps lists all apps"],
  ["stop --wait web", "unknown flag --wait: it waits already; --no-wait does not"],
  ["stop -f web", "unknown flag -f: name apps, or choose them with -l"],
  ["stop --all web", "name apps, or use --all, not both"],
  [
    "stop web --timeout 5",
    "unknown flag --timeout: the app's terminationGracePeriodSeconds says when it is killed",
  ],
  [
    "stop web --force",
    "unknown flag --force: the app's terminationGracePeriodSeconds says when it is killed",
  ],
  ["stop Web_1", '"Web_1" is not the name of an app: use NAME or NAMESPACE/NAME'],
  ["stop a/b/c", '"a/b/c" is not the name of an app: use NAME or NAMESPACE/NAME'],
  ["start --wait web", "unknown flag --wait: it waits already; --no-wait does not"],
  ["restart --now web", "unknown flag --now: the app's terminationGracePeriodSeconds says when it is killed"],
  ["restart", "no app is named; the command ps lists all apps"],
  ["reload", "no app is named; the command ps lists all apps"],
  ["kill web", 'unknown command "kill"; did you mean "stop"?'],
  ["rm web", 'unknown command "rm"; did you mean "delete"?'],
  ["delete", "no app is named; the command ps lists all apps"],
  [
    "delete web --force",
    "unknown flag --force: the app's terminationGracePeriodSeconds says when it is killed",
  ],
  [
    "delete web --grace-period 0",
    "unknown flag --grace-period: the app's terminationGracePeriodSeconds says when it is killed",
  ],
  ["exec web", "no command is given: use nckubelet exec web -- COMMAND"],
  ["exec web -- ", "no command is given: use nckubelet exec web -- COMMAND"],
  ["trigger", "no app is named; the command ps lists all apps"],
  ["undo", "no app is named; the command ps lists all apps"],
  [
    "undo web --to-revision 3",
    "unknown flag --to-revision: undo goes back to the last good version; apply a manifest for another",
  ],
  ["rollback web", 'unknown command "rollback"; did you mean "undo"?'],
  ["history", "no app is named; the command ps lists all apps"],
  ["history --since 3days web", '--since "3days": use a time such as 30s, 5m, 1h30m or 2d'],
  ["events --since 3 days", '--since "3": use a time such as 30s, 5m, 1h30m or 2d'],
  ["events --watch", "unknown flag --watch: 'nckubelet ps --watch' shows changes as they come"],
  ["run", "no script is named: use nckubelet run SCRIPT"],
  [
    "run -d /bin/true",
    "unknown flag -d: run returns when the app runs; --attach prints its log until it ends",
  ],
  [
    "run -p 80:80 /bin/true",
    "unknown flag -p: an app is no container: it uses the files and ports of the node",
  ],
  [
    "run -v /a:/b /bin/true",
    "unknown flag -v: an app is no container: it uses the files and ports of the node",
  ],
  ["run --cpus 2 /bin/true", "unknown flag --cpus: use --cpu PERCENT, a share of all CPUs of the node"],
  ["run --memory 1g /bin/true", "unknown flag --memory: use --mem PERCENT, a share of the node's memory"],
  [
    "run --cpu 200 /bin/true",
    '--cpu: Invalid value: "200": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "run --cpu half /bin/true",
    '--cpu: Invalid value: "half": must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [
    "run --mem 1G /bin/true",
    '--mem: Invalid value: "1G": is an amount, but caps are shares of the node: use a percentage such as "20" or "12.5%"',
  ],
  ["run --restart sometimes /bin/true", '--restart "sometimes": use always, on-failure or never'],
  ["run --restart unless-stopped /bin/true", '--restart "unless-stopped": use always, on-failure or never'],
  [
    "run --name Web_1 /bin/true",
    "--name: Invalid value: \"Web_1\": must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'",
  ],
  ["run --name web /bin/true --port 80", "unknown flag --port; if it is for SCRIPT, write -- before it"],
  ["run --env A /bin/true", "--env A: not set in your environment; use A=VALUE"],
  ["run -e A B /bin/true", "--env A: not set in your environment; use A=VALUE"],
  [
    "run --user www:data /bin/true",
    '--user: Invalid value: "www:data": must be the name or the number of a user or group',
  ],
  ["run --grace 99999999h /bin/true", '--grace "99999999h": use a whole number from 0 to 86400'],
  [
    "run --schedule daily /bin/true",
    "unknown flag --schedule: write a manifest with schedule, and use 'nckubelet apply -f FILE'",
  ],
  [
    "run --detach /bin/true",
    "unknown flag --detach: run returns when the app runs; --attach prints its log until it ends",
  ],
  [
    "run --rm --restart always /bin/true",
    "--rm removes the app when it has ended, which --restart always prevents: remove one",
  ],
  ["run --image nginx /bin/true", "unknown flag --image: an app is no container: name its script"],
  ["apply", "no manifest is named: use -f FILE"],
  ["apply -f", "--filename needs a value: use --filename FILE"],
  [
    "apply -k dir",
    "unknown flag -k: kustomize is part of kubectl: use kubectl kustomize DIR | nckubelet apply -f -",
  ],
  ["validate", "no manifest is named: use -f FILE"],
  ["diff", "no manifest is named: use -f FILE"],
  ["explain spec.nothing", 'spec has no field "nothing"'],
  ["explain shelfile", 'spec has no field "shelfile"; did you mean shellFile?'],
  ["describe", "no app is named; the command ps lists all apps"],
  ["describe --all-apps", "unknown flag --all-apps"],
  ["top --interval 0", '--interval "0": use a time such as 10s or 500ms, up to 24 days'],
  ["top --interval fast", '--interval "fast": use a time such as 10s or 500ms, up to 24 days'],
  ["top --sort-by cpu", "unknown flag --sort-by: the highest usage comes first; -o json is for programs"],
  ["agent --no-such", "unknown flag --no-such"],
  ["agent --listen 80", '--listen "80": use an address such as 127.0.0.1:10268'],
  ["agent --listen localhost", '--listen "localhost": use an address such as 127.0.0.1:10268'],
  ["agent --server foo", '--server "foo": use an http:// or https:// URL'],
  ["agent --standalone --server https://x", "--standalone means no API server: remove --server"],
  ["agent --log-dir", "--log-dir needs a value: use --log-dir DIR"],
  [
    'agent --node-name "A B"',
    "--node-name \"A B\": not a node name (lowercase letters, digits, '-' and '.')",
  ],
  ["agent --enforce maybe", '--enforce "maybe": use strict or best-effort'],
  ["agent --sync-period 0", '--sync-period "0": use a time such as 10s or 500ms, up to 24 days'],
  ["agent --max-apps many", '--max-apps "many": use a whole number from 1 to 999999999'],
  ["agent --log-level loud", '--log-level "loud": use debug, info, warn or error'],
  ["agent extra", 'agent takes no operands, not "extra"'],
  ["controller --only foo", '--only "foo": no controller "foo"; use some of scheduler,sets,identities'],
  ["completion", "name one shell: bash, zsh or fish"],
  ["completion tcsh", "name one shell: bash, zsh or fish"],
  ["version --short", "unknown flag --short"],
  ["help nothing", 'unknown command "nothing"'],
  ["manifests --image", "--image needs a value: use --image IMAGE"],
  ["join --server foo", '--server "foo": use an http:// or https:// URL'],
  ["dashbord", 'unknown command "dashbord"; did you mean "dashboard"?'],
  ["statsu", 'unknown command "statsu"; did you mean "ps"?'],
  ["--version --foo", "unknown flag --foo"],
  ["-v", "no command is given, only -v"],
  [
    "logs web --run last",
    "--run \"last\": use the number of a run in 'nckubelet runs', or when it started, such as 2026-11-17T07:04:14Z",
  ],
];

test("each mistake on a command line exits with 2 and one message with its word and what to type", async () => {
  for (const [line, message] of lines) {
    const words = line.match(/"[^"]*"|\S+/g)!.map((word) => word.replaceAll('"', ""));
    const { code, stdout, stderr } = await call(words, { env: { NCKUBELET_SOCKET: "/no/socket" } }).done;
    const [said = "", see = "", ...rest] = stderr.split("\n");
    assert.deepEqual([code, stdout, said, rest], [2, "", `nckubelet: ${message}`, [""]], line);
    assert.match(see, /^See 'nckubelet .*--help'\.$/, line);
  }
});
