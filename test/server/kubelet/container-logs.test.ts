import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { NCAppStatus } from "../../../src/api/types.ts";
import { tempFolder } from "../../temp-folder.ts";
import { viewWith, web } from "../fake-agent.ts";
import { kubeletWith } from "./fake-kubelet.ts";
import { firstPart } from "../../supervisor/logs/log-files.ts";

/** The kubelet API with one app, whose log and status the test writes. */
function withLog(folder: string) {
  mkdirSync(join(folder, "default_web"));
  const logFile = firstPart(join(folder, "default_web"));
  writeFileSync(logFile, "one\n");
  const listeners = new Set<(key: string) => void>();
  let status: NCAppStatus = { phase: "Running" };
  const kubelet = kubeletWith({
    view: viewWith({
      app: () => ({ ...web, status, logFile }),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    }),
  });
  return {
    ...kubelet,
    logFile,
    listeners,
    become(phase: NCAppStatus["phase"]) {
      status = { phase };
      for (const listener of listeners) listener("default/web");
    },
  };
}

const path = "/containerLogs/default/web/app?follow=true";

test("a followed log goes on while the app restarts, and ends with the last line when its Pod has ended", async () => {
  using temp = tempFolder();
  const { asApiServer, become, listeners, logFile } = withLog(temp.path);
  const reader = (await asApiServer(path)).body!.pipeThrough(new TextDecoderStream()).getReader();
  assert.equal((await reader.read()).value, "one\n");
  become("BackOff");
  appendFileSync(logFile, "two\n");
  assert.equal((await reader.read()).value, "two\n");
  const next = reader.read();
  appendFileSync(logFile, "last\n");
  become("Failed");
  assert.equal((await next).value, "last\n");
  assert.equal((await reader.read()).done, true);
  assert.equal(listeners.size, 0);
});

test("following the log of an app that has ended prints it and ends", { timeout: 20_000 }, async () => {
  using temp = tempFolder();
  const { asApiServer, become } = withLog(temp.path);
  become("Succeeded");
  assert.equal(await (await asApiServer(path)).text(), "one\n");
});
