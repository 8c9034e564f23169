/** The agent's state on disk, files of launchers and apps, and scripts. */
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { showURL } from "../../../src/api/shown-spec.ts";
import { validateNCApp } from "../../../src/api/validate/validate.ts";
import { describeMetadataAddress } from "../../../src/lib/special-addresses.ts";
import { readAppFiles } from "../../../src/sources/app-files.ts";
import {
  checkAnswer,
  checkHead,
  defaultLimits,
  nextHop,
  parseScriptURL,
} from "../../../src/supervisor/script/fetch-rules.ts";
import { decodeSamples } from "../../../src/supervisor/logs/log-index.ts";
import {
  parseBytes,
  parseCount,
  readLog,
  type ReadLogOptions,
  readTail,
} from "../../../src/supervisor/logs/logs.ts";
import { readMarks } from "../../../src/supervisor/run/run.ts";
import { decodeRecord, encodeRecord } from "../../../src/supervisor/records/records.ts";
import { headBytes, isShell, readHead, repairText } from "../../../src/supervisor/script/script-text.ts";
import type { UserFiles } from "../../../src/supervisor/launcher/launcher.ts";
import { prepareScript } from "../../../src/supervisor/script/script.ts";
import { recordWith, runOf } from "../../supervisor/fixtures.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";
import { Broken, holds, oneLine, type Session, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";
import { scratchFolder } from "./scratch.ts";

const record = recordWith();
const records: Target = {
  name: "record",
  covers: ["decodeRecord", "encodeRecord"],
  samples: [record, { ...record, run: runOf(record.app), phase: "Running" as const }].map(encodeRecord),
  tokens: ["nckubelet-record", " 1 ", " 2 ", "\n"],
  refusal: { name: "Error", says: /record|version|checksum/ },
  open: () => ({
    run(input) {
      const text = textOf(input);
      check(text);
      // The same with a correct checksum, so that only the shape is left to check.
      const body = text.split("\n")[1] ?? "";
      check(`nckubelet-record 1 ${createHash("sha256").update(body).digest("hex")}\n${body}\n`);
    },
  }),
};

function check(text: string): void {
  try {
    const decoded = decodeRecord(text);
    holds(decoded?.app?.metadata?.name !== undefined, "a record without an app was taken");
    // As strings, since a number beyond the range of JSON becomes null.
    const written = encodeRecord(decoded);
    holds(encodeRecord(decodeRecord(written)) === written, "a record reads back differently");
  } catch (error) {
    if (error instanceof Broken) throw error;
    holds((error as Error).name === "Error", `threw ${(error as Error).name}`);
    oneLine((error as Error).message, "a refusal", 300);
  }
}

const logTimes: Target = {
  name: "log-times",
  covers: ["decodeSamples", "samplesIn", "samplesBackward", "createLineStamps"],
  samples: [
    encodeSamples([[1_794_900_000_000, 0, true], [1_794_900_010_000, 4], [1_794_900_020_000, 8, true]]),
    encodeSamples([[1_794_900_010_000, 4], [1_794_900_000_000, 5], [1, 9], [1_794_900_020_000, 2]]),
    encodeSamples([[1_794_900_010_000, 4]]).slice(0, 11),
  ],
  maxBytes: 4096,
  open(): Session {
    const folder = scratchFolder("times");
    const text = "one\ntwo\nthree\n";
    writeFileSync(firstPart(folder), text);
    return {
      async run(input) {
        const index = Buffer.from(textOf(input), "latin1");
        writeFileSync(firstPart(folder).replace("app.log", "app.times"), index);
        holds(decodeSamples(index).length === Math.floor(index.length / 16), "a whole sample was not read");
        const now = 1_794_900_025_000;
        const read = async (options: ReadLogOptions) => {
          let all = "";
          for await (const piece of readLog(folder, options, { now: () => now })) all += Buffer.from(piece);
          return all;
        };
        const stamped = (await read({ timestamps: true })).trimEnd().split("\n");
        holds(stamped.map((line) => line.slice(31)).join("\n") === text.trimEnd(), "a line is lost");
        const times = stamped.map((line) => Date.parse(line.slice(0, 30)));
        holds(times.every((time, i) => time <= now && time >= (times[i - 1] ?? 0)), `times of ${stamped}`);
        for (const options of [{ previous: true }, { sinceTime: new Date(now - 10_000) }]) {
          holds(text.includes(await read(options)), "lines that the log does not have");
        }
      },
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

function encodeSamples(samples: [time: number, position: number, isStart?: boolean][]): string {
  const bytes = Buffer.alloc(16 * samples.length);
  for (const [i, [time, position, isStart]] of samples.entries()) {
    bytes.writeBigUInt64LE(BigInt(time) | (isStart ? 1n << 63n : 0n), 16 * i);
    bytes.writeBigUInt64LE(BigInt(position), 16 * i + 8);
  }
  return bytes.toString("latin1");
}

const marks: Target = {
  name: "marks",
  covers: ["readMarks", "parseStat"],
  samples: [
    "42 (sh) S 1 42 42 0 -1 4194304 1 0 0 0 12 3 4 5 20 0 1 0 998877 1000 100 0\u0001exit 3\nsignal 0\n\u0001cannot enter /x: ENOENT\n",
    "7 (a b) R 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0\u0001exit 137\nterminated\nsignal 9\n\u0001",
  ],
  tokens: ["exit ", "signal ", "\n", "\u0001", ") ", "(", "256", "000"],
  maxBytes: 8192,
  open(): Session {
    const folder = scratchFolder("marks");
    const mark = join(folder, "run-1");
    return {
      async run(input) {
        const [started = "", exit = "", failure = ""] = textOf(input).split("\u0001");
        writeFileSync(`${mark}.claim`, started);
        writeFileSync(`${mark}.started`, started);
        writeFileSync(`${mark}.exit`, exit);
        writeFileSync(`${mark}.failure`, failure);
        const read = readMarks(mark);
        const { code = 0, at = 0 } = read.exit ?? {};
        holds(Number.isInteger(code) && code >= 0 && code <= 255, `exit status ${code}`);
        holds(Number.isSafeInteger(at), `an end at ${at}`);
        const { pid = 0 } = read.started?.main ?? {};
        holds(Number.isSafeInteger(pid), `process ${pid}`);
      },
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

/** Files that all have this content. */
function filesWith(content: Uint8Array): UserFiles {
  const head = content.subarray(0, headBytes);
  return {
    look: () => Promise.resolve({ kind: "file", executable: true, head }),
    read: (_path, _options, onChunk) => Promise.resolve(onChunk(content)),
  };
}

const script: Target = {
  name: "script",
  covers: ["prepareScript", "readHead", "repairText", "isShell"],
  samples: [
    ...["#!/bin/sh\necho hi\n", "\x7fELF\x02\x01", "echo no shebang\n", "", "#!", "#!/usr/bin/env python3\n"],
    ...[
      "#!/bin/sh -e \r\necho hi\r\n",
      "\ufeff#!/bin/bash\necho hi\n",
      "#! /usr/bin/env -S A=b bash -x\r\nexit\r\n",
    ],
  ],
  tokens: ["#!", "\0", "\n", "\r\n", "\r", " ", "\x7fELF", "/bin/sh", "-", "env", "\ufeff"],
  maxBytes: 8192,
  refusal: { name: "StartError", says: /^spec\.shellFile/ },
  open(): Session {
    const folder = scratchFolder("script");
    const path = join(folder, "run.sh");
    const copyPath = join(folder, "copy", "run.sh");
    return {
      async run(input) {
        const { shebang, isELF, isUTF16, needsRepair } = readHead(input.subarray(0, headBytes));
        holds(!(isELF && shebang), "a program is a script, too");
        if (shebang) isShell(shebang);
        const mended = repairText(input);
        holds(mended === undefined || mended.length <= input.length, "a mended text is longer than it was");
        const { command } = await prepareScript(path, { copyPath, user: "", files: filesWith(input) });
        holds(!isUTF16, "a script in UTF-16 is run");
        if (!needsRepair) {
          const own = isELF || shebang !== undefined;
          holds(isDeepStrictEqual(command, own ? [path] : ["/bin/sh", path]), `runs as ${command.join(" ")}`);
        }
        holds(
          command.length >= 1 && command.every((word) => word !== ""),
          `runs as ${JSON.stringify(command)}`,
        );
      },
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

const urls: Target = {
  name: "script-url",
  covers: ["parseScriptURL", "nextHop", "checkAnswer", "checkHead", "showURL", "describeMetadataAddress"],
  samples: [
    "https://example.com/run.sh\nhttps://cdn.example.com/x?sig=1\n200\ntext/plain\n#!/bin/sh\n",
    "http://10.0.0.1:8080/x\n/other\n302\ntext/html; charset=utf-8\n<!doctype html>",
    "https://user:hunter2@example.com/a?b=hunter2\n//evil/\n404\n\n",
    "https://169.254.169.254/latest\nhttps://[fe80::1]/\n200\n\nx",
    "https://[::ffff:169.254.169.254]/\nhttps://0xA9FEA9FE/\n200\n\nx",
  ],
  tokens: [
    ..."https:// @ 169.254.1.1 [::ffff:a9fe:1] 0251.0376.1.1 %2e :99999 # ?".split(" "),
    "64:ff9b::a9fe:1",
    "\\",
  ],
  maxBytes: 16_384,
  refusal: { name: "StartError", says: /^spec\.shellFile: / },
  open: () => ({
    run(input) {
      const [text = "", location = "", status = "", type = "", ...body] = textOf(input).split("\n");
      const url = parseScriptURL(text, "ab");
      const bare = url.hostname.replace(/^\[|\]$/g, "");
      holds(describeMetadataAddress(bare) === undefined, "a metadata service may be asked");
      const shown = new URL(showURL(url));
      holds(
        shown.password === "" && ["", "***"].includes(shown.username),
        "a URL is shown with its password",
      );
      holds(["", "?***"].includes(shown.search), "a URL is shown with its query");
      checkHead(url, Buffer.from(body.join("\n")).subarray(0, 512));
      checkAnswer(
        url,
        Number.parseInt(status),
        { "content-type": type, "content-length": location },
        false,
        defaultLimits,
      );
      const next = nextHop(url, { location }, 0, defaultLimits);
      holds(next.protocol === url.protocol, "a redirect to another scheme is followed");
      if (next.origin !== url.origin && url.password) {
        holds(next.password !== url.password, "a password goes elsewhere");
      }
    },
  }),
};

const sizes: Target = {
  name: "log-sizes",
  covers: ["parseBytes", "parseCount"],
  samples: ["10Mi", "500K", "65536", "1Gi", "5", "1000"],
  tokens: ["Ki", "K", "Gi", "e", "."],
  maxBytes: 4096,
  refusal: { name: "Error", says: /is not a (size|number)/ },
  open: () => ({
    run(input) {
      const text = textOf(input);
      let refused: unknown;
      try {
        const bytes = parseBytes(text);
        holds(Number.isSafeInteger(bytes) && bytes >= 65_536, `a log of ${bytes} bytes`);
      } catch (error) {
        refused = error;
      }
      if (refused instanceof Broken) throw refused;
      const count = parseCount(text);
      holds(count >= 1 && count <= 1000, `${count} files`);
      if (refused) throw refused;
    },
  }),
};

const appFile = JSON.stringify({
  apiVersion: "app.example.com/v1alpha1",
  kind: "NCApp",
  metadata: { name: "web", namespace: "default", uid: "0123-ab" },
  spec: { shellFile: "/x.sh", cpuPCT: "10" },
});
const appFiles: Target = {
  name: "app-files",
  covers: ["readAppFiles"],
  samples: [appFile],
  open(): Session {
    const folder = scratchFolder("apps");
    return {
      async run(input) {
        writeFileSync(join(folder, "default_web.json"), input);
        const { apps, problems } = await readAppFiles(folder, []);
        holds(
          apps.length + problems.length === 1,
          `${apps.length} apps and ${problems.length} problems from one file`,
        );
        for (const { message } of problems) oneLine(message, "a problem", 1000);
        for (const app of apps) {
          const errors = validateNCApp(app).filter(({ reason }) => reason !== "FieldUnknown");
          holds(errors.length === 0 && app.metadata.name === "web", "an app that is not valid was taken");
        }
      },
      close: () => rmSync(folder, { recursive: true }),
    };
  },
};

const tails: Target = {
  name: "log-tail",
  covers: ["readTail", "openLogStream"],
  samples: ["one\ntwo\nthree\n", "no end", "\n\n\n", "\u00fc\u4e2d\n".repeat(700), "x".repeat(3000)],
  tokens: ["\n", "\r\n", "\0"],
  maxBytes: 8192,
  open(): Session {
    // One log that is whole, and one whose first parts are gone.
    const folders = [scratchFolder("log"), scratchFolder("log")] as const;
    const files = [firstPart(folders[0]), firstPart(folders[1]).replace(/0{4}$/, "4096")] as const;
    return {
      async run(input) {
        const number = input.length % 2 === 0 ? 0 : 1;
        const folder = folders[number];
        writeFileSync(files[number], input);
        const tail = await readTail(folder, { tailLines: 3, maxBytes: 200 });
        // A cut inside a character leaves a part of it.
        const whole = tail.replace(/^\ufffd+/, "");
        holds(textOf(input).replace(/\r?\n$/, "").endsWith(whole), "a tail is not the end of its log");
        holds(tail.split("\n").length <= 3, "more lines than were asked for");
        holds(
          Buffer.from(input).toString("utf8").length <= 200 || tail.length <= 200,
          `a tail of ${tail.length} characters`,
        );
      },
      close: () => folders.forEach((folder) => rmSync(folder, { recursive: true })),
    };
  },
};

export const supervisorTargets: readonly Target[] = [
  records,
  logTimes,
  marks,
  script,
  urls,
  sizes,
  appFiles,
  tails,
];
