import assert from "node:assert/strict";
import { test } from "node:test";
import { checkScript, manifestOf } from "../../../src/cli/run/run-manifest.ts";
import { parseInvocation } from "../../../src/cli/parse-invocation.ts";
import { runCommand } from "../../../src/cli/run/run.ts";

const from = (...words: string[]) =>
  manifestOf(parseInvocation(runCommand, words), { HOME: "/root" }, { folder: "/srv" });

test("manifestOf() makes an NCApp from a script and flags", () => {
  assert.deepEqual(
    from(
      ...[
        "./bin/My Server.sh",
        "--cpu",
        "20",
        "--mem",
        "12.5%",
        "--user",
        "web",
        "--group",
        "33",
        "-n",
        "shop",
      ],
      ...[
        "-e",
        "A=b=c",
        "-e",
        "HOME",
        "--restart",
        "on-failure",
        "--grace",
        "5",
        "--stop-signal",
        "quit",
        "--pids-max",
        "9",
        "-w",
        "data",
      ],
      ...["--", "--port", "80"],
    ),
    {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata: { name: "my-server", namespace: "shop" },
      spec: {
        shellFile: "/srv/bin/My Server.sh",
        args: ["--port", "80"],
        env: [{ name: "A", value: "b=c" }, { name: "HOME", value: "/root" }],
        workingDir: "/srv/data",
        runAsUser: "web",
        runAsGroup: "33",
        cpuPCT: "20",
        memPCT: "12.5%",
        pidsMax: 9,
        restartPolicy: "OnFailure",
        terminationGracePeriodSeconds: 5,
        stopSignal: "SIGQUIT",
      },
    },
  );
});

test("manifestOf() sets only fields that have a flag, and leaves defaults to the agent", () => {
  assert.deepEqual(from("web.sh").spec, { shellFile: "/srv/web.sh", workingDir: "/srv" });
  assert.deepEqual(from("https://example.com/a/web.sh?x=1", "--name", "w").spec, {
    shellFile: "https://example.com/a/web.sh?x=1",
    workingDir: "/srv",
  });
});

for (
  const [words, message] of [
    [[], /no script is named/],
    [["web.sh", "--cpu", "0"], /^--cpu: Invalid value: "0"/],
    [["web.sh", "--name", "Web"], /^--name: Invalid value: "Web"/],
    [["web.sh", "--env", "constructor"], /--env constructor: not set in your environment/],
    [["web.sh", "--restart", "constructor"], /--restart "constructor": use always, on-failure or never/],
    [["web.sh", "--restart", "sometimes"], /--restart "sometimes": use always, on-failure or never/],
    [
      ["web.sh", "--stop-signal", "nine"],
      /--stop-signal: Unsupported value: "SIGNINE": did you mean "SIGINT"\?/,
    ],
    [["web.sh", "--grace", "soon"], /--grace "soon": use a whole number/],
    [["web.sh", "-e", "MISSING"], /--env MISSING: not set in your environment; use MISSING=VALUE/],
    [["web.sh", "-e", "1x=2"], /^--env: Invalid value: "1x"/],
    [["http://example.com/x.sh"], /--sha256: Required value/],
    [["...sh"], /"\.\.\.sh" cannot be the name of an app: choose one with --name/],
  ] as const
) {
  test(`run ${words.join(" ")} is refused with the flag to change`, () => {
    assert.throws(
      () => from(...words),
      (error: Error) => error.name === "UsageError" && message.test(error.message),
    );
  });
}

test("checkScript() hints at -- if the script is a whole command line", async () => {
  await assert.rejects(checkScript("/bin/sh -c true"), {
    message: "/bin/sh -c true: no such file; /bin/sh is a file: " +
      "write the arguments behind --, as in nckubelet run /bin/sh -- -c true",
  });
});
