import assert from "node:assert/strict";
import { appendFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { AppView } from "../../../src/server/view.ts";
import { rotateIfNeeded } from "../../../src/supervisor/logs/rotation.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { readerOf } from "../stream-reader.ts";
import { serverWith, servicesWith, viewWith, web } from "../fake-agent.ts";

async function appWithLog(text?: string) {
  const temp = tempFolder();
  const folder = temp.path;
  const logFile = join(folder, "app.log");
  if (text !== undefined) await writeFile(logFile, text);
  let known: AppView | undefined = { ...web, logFile };
  const services = servicesWith({ view: viewWith({ app: () => known }) });
  const app = serverWith(services);
  return {
    logFile,
    services,
    get: (query: string) => app.request(`/apps/default/web/logs${query}`),
    forget: () => known = undefined,
    [Symbol.dispose]: temp.remove,
  };
}

test("the log is sent whole, or its last lines", async () => {
  await using log = await appWithLog("one\ntwo\nthree\n");
  const answer = await log.get("");
  assert.equal(answer.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(await answer.text(), "one\ntwo\nthree\n");
  assert.equal(await (await log.get("?tailLines=2")).text(), "two\nthree\n");
  assert.equal(await (await log.get("?tailLines=0&follow=false")).text(), "");
});

test("an app that never started has an empty log", async () => {
  await using log = await appWithLog();
  assert.equal(await (await log.get("")).text(), "");
});

test("a wrong parameter is 400 with its name and value", async () => {
  await using log = await appWithLog("");
  const wrong = {
    "?tailLines=-1": /tailLines.*"-1"/,
    "?tailLines=two": /tailLines.*"two"/,
    "?tailLines=1e3": /tailLines.*"1e3"/,
    "?tailLines=": /tailLines.*""/,
    "?follow=maybe": /follow.*"maybe"/,
    "?tailLines=1&tailLines=2": /tailLines.*2 times/,
    "?tail=5": /"tail" is unknown/,
    "?tailLine=5": /"tailLine".*did you mean tailLines/,
    "?timestamps=true": /"timestamps" is unknown/,
  };
  for (const [query, message] of Object.entries(wrong)) {
    const answer = await log.get(query);
    assert.equal(answer.status, 400, query);
    assert.match((await answer.json() as { message: string }).message, message);
  }
});

test("follow sends new lines, across a rotation, until the app is gone", async () => {
  await using log = await appWithLog("one\n");
  const reader = readerOf(await log.get("?follow&tailLines=1"));
  await reader.until("one\n");
  const long = `${"x".repeat(70_000)}\n`;
  await appendFile(log.logFile, long);
  await reader.until(long);
  const { problem } = await rotateIfNeeded(log.logFile, { maxBytes: 65_536, maxFiles: 2 });
  assert.equal(problem, undefined);
  await appendFile(log.logFile, "after\n");
  assert.equal(await reader.until("after\n"), `one\n${long}after\n`);
  log.forget();
  await rm(log.logFile);
  assert.equal(await reader.rest(), `one\n${long}after\n`);
  assert.equal(log.services.followers.now, 0);
});

test("follow waits for the log of an app that did not start yet", async () => {
  await using log = await appWithLog();
  const reader = readerOf(await log.get("?follow=true"));
  const read = reader.until("up\n");
  await writeFile(log.logFile, "up\n");
  assert.equal(await read, "up\n");
  await reader.cancel();
});

test("follow sends all lines of a log that appears later, whatever tailLines is", async () => {
  await using log = await appWithLog();
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === "Timeout").length;
  const before = timers();
  const reader = readerOf(await log.get("?follow=true&tailLines=0"));
  const first = reader.until("two\n");
  await waitFor("it has found none and waits for one", () => timers() > before);
  await writeFile(log.logFile, "one\ntwo\n");
  assert.equal(await first, "one\ntwo\n");
  await reader.cancel();
});

test("a follower that goes away frees its place; one too many is 429", async () => {
  await using log = await appWithLog("one\n");
  const followers = await Promise.all(
    [log.get("?follow"), log.get("?follow")].map(async (answer) => readerOf(await answer)),
  );
  await Promise.all(followers.map((follower) => follower.until("one\n")));
  const refused = await log.get("?follow");
  assert.equal(refused.status, 429);
  assert.equal(refused.headers.get("retry-after"), "5");
  assert.equal(await (await log.get("")).text(), "one\n");
  for (const follower of followers) await follower.cancel();
  await waitFor("the places are free", () => log.services.followers.now === 0);
});
