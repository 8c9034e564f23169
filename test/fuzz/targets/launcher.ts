/** What the native launcher reads: requests and environment files, by the real program with sanitizers. */
import { Buffer } from "node:buffer";
import { type ChildProcess, spawn } from "node:child_process";
import { encodeFields } from "../../../src/supervisor/launcher/request.ts";
import { encodeEnvironment } from "../../../src/supervisor/run/run.ts";
import { sanitizedLauncher } from "../../harness/launcher.ts";
import { Broken, holds, type Session, type Target } from "../engine.ts";

const invalid = -22;
const maxBytes = 65_536;

const fields = [
  ..."/state/marks/run-1 /cg/keeper /cg/app/run-1 /log/app.log /run/env /".split(" "),
  "0 0 4 27",
];
const bodyOf = (words: string[]) => Buffer.from(encodeFields(words)!).subarray(4).toString("latin1");

const requests: Target = {
  name: "launcher-request",
  covers: ["split_frame", "read_run", "read_user"],
  samples: [
    bodyOf([...fields, "/opt/app.sh", "one", ""]),
    bodyOf([...fields.with(1, "").with(2, "").with(6, ""), "sh", "-c", "echo"]),
    bodyOf([...fields.with(6, "4294967294 4294967295"), "true"]),
  ],
  tokens: ["\0", "/", " ", "4294967295", "4294967294", "\u0008\0\0\0", "\u00ff\u00ff\u00ff\u00ff"],
  maxBytes,
  open: () => openLauncher("requests", expectRequest),
  needs: "compilers",
};

const environments: Target = {
  name: "launcher-environment",
  covers: ["decode_line"],
  samples: [
    encodeEnvironment({ PATH: "/bin", TEXT: "it's $HOME\nnext", EMPTY: "" }),
    encodeEnvironment({ A: "''" }),
  ],
  tokens: ["export ", "='", "'\n", "'\\\\''", "\0", "=", "\n"],
  maxBytes,
  open: () => openLauncher("environments", expectEnvironment),
  needs: "compilers",
};

export const launcherTargets = [requests, environments];

/** A program that answers each input with a number, which must be the expected one. */
async function openLauncher(what: string, expect: (text: string) => number): Promise<Session> {
  const program = spawn(await sanitizedLauncher(), ["check", what]);
  let [answers, said] = [Buffer.alloc(0), ""];
  program.stdout.on("data", (chunk: Uint8Array) => answers = Buffer.concat([answers, chunk]));
  program.stderr.setEncoding("utf8").on("data", (chunk) => said += chunk);
  return {
    async run(input) {
      const head = Buffer.alloc(4);
      head.writeUInt32LE(input.length);
      program.stdin.write(Buffer.concat([head, input]));
      while (answers.length < 4) {
        if (program.exitCode !== null || program.signalCode !== null) {
          throw new Broken(said || "it has ended");
        }
        await nextOutput(program);
      }
      const answer = answers.readInt32LE(0);
      answers = answers.subarray(4);
      const expected = expect(Buffer.from(input).toString("latin1"));
      holds(answer === expected, `the launcher answers ${answer}, expected is ${expected}`);
    },
    close: () => void program.kill(),
  };
}

function nextOutput({ stdout, stderr }: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const stream of [stdout, stderr]) stream!.off("data", done).off("close", done);
      resolve();
    };
    for (const stream of [stdout, stderr]) stream!.once("data", done).once("close", done);
  });
}

/** The fields of a request, or an error. */
function expectRequest(text: string): number {
  if (text === "") return 0;
  if (text.length < 5 || !text.endsWith("\0")) return invalid;
  const count = Buffer.from(text.slice(0, 4), "latin1").readUInt32LE();
  const words = text.slice(4, -1).split("\0");
  const [
    mark = "",
    keeper = "",
    leaf = "",
    log = "",
    environment = "",
    folder = "",
    user = "",
    command = "",
  ] = words;
  const isValid = words.length === count && count >= 8 && command !== "" &&
    [mark, log, environment, folder].every((path) => path.startsWith("/")) &&
    [keeper, leaf].every((path) => path === "" || path.startsWith("/")) && isUser(user);
  return isValid ? count : invalid;
}

function isUser(text: string): boolean {
  const ids = text.split(" ");
  const isId = (id: string) => /^\d{1,10}$/.test(id) && Number(id) < 2 ** 32 - 1;
  return text === "" || (ids.length >= 2 && ids.every(isId));
}

/** The variables of an environment file, or an error. */
function expectEnvironment(text: string): number {
  const variable = /export [^='\n\0]+=(?:'[^'\0]*'|\\')*\n/y;
  let count = 0;
  for (let at = 0; at < text.length; at = variable.lastIndex) {
    variable.lastIndex = at;
    if (!variable.test(text)) return invalid;
    count++;
  }
  return count;
}
