import assert from "node:assert/strict";
import { readdir, readlink, rm, truncate, writeFile } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import type { AppView } from "../../../src/server/view.ts";
import { createLog, firstPart } from "../../supervisor/logs/log-files.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { readerOf } from "../stream-reader.ts";
import { serverWith, servicesWith, viewWith, web } from "../fake-agent.ts";

async function appWithLog(text?: string) {
  const temp = tempFolder();
  const folder = temp.path;
  const logFile = firstPart(folder);
  if (text !== undefined) await writeFile(logFile, text);
  let known: AppView | undefined = { ...web, logFile };
  let notify = (_key: string) => {};
  const onChange = (listener: (key: string) => void) => {
    notify = listener;
    return () => {};
  };
  const services = servicesWith({ view: viewWith({ app: () => known, onChange }) });
  const app = serverWith(services);
  return {
    folder,
    logFile,
    services,
    get: (query: string) => app.request(`/apps/default/web/logs${query}`),
    forget: () => known = undefined,
    become(phase: AppView["status"]["phase"]) {
      known = { ...web, logFile, status: { phase } };
      notify("default/web");
    },
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
    "?timestamp=true": /"timestamp".*did you mean timestamps/,
    "?timestamps=often": /timestamps.*"often"/,
    "?previous=2": /previous.*"2"/,
    "?sinceSeconds=0": /sinceSeconds.*"0".*from 1/,
    "?sinceSeconds=5m": /sinceSeconds.*"5m"/,
    "?sinceTime=yesterday": /sinceTime.*"yesterday".*RFC 3339/,
    "?sinceTime=2026-02-30T00:00:00Z": /sinceTime.*"2026-02-30T00:00:00Z"/,
    "?sinceTime=2026-01-01T00:00:00Z&sinceSeconds=5": /sinceSeconds and sinceTime exclude each other/,
    "?limitBytes=0": /limitBytes.*"0".*from 1/,
    "?limitBytes=-1": /limitBytes.*"-1"/,
    "?previous=true": /the log of default\/web has no run before/,
  };
  for (const [query, message] of Object.entries(wrong)) {
    const answer = await log.get(query);
    assert.equal(answer.status, 400, query);
    assert.match((await answer.json() as { message: string }).message, message);
  }
});

test("lines are chosen by time and run, and sent with their times, as kubectl logs does", async () => {
  await using log = await appWithLog();
  const now = Date.now();
  const [old, recent] = [now - 3_600_000, now - 60_000];
  const files = createLog(log.folder);
  await files.write("one\n", old, { isStart: true });
  await files.write("two\n", recent);
  await files.write("three\n", now, { isStart: true });
  const get = async (query: string) => await (await log.get(query)).text();
  assert.equal(await get("?sinceSeconds=1800"), "two\nthree\n");
  assert.equal(await get(`?sinceTime=${new Date(recent + 1000).toISOString()}`), "three\n");
  assert.equal(await get(`?sinceTime=${new Date(recent).toISOString()}&tailLines=1`), "three\n");
  assert.equal(await get("?previous=true"), "one\ntwo\n");
  assert.equal(await get("?previous=true&follow=true"), "one\ntwo\n");
  assert.equal(await get("?previous=true&sinceSeconds=1800"), "two\n");
  const stamp = `${new Date(old).toISOString().slice(0, -1)}000000Z`;
  assert.equal(await get("?timestamps=true&limitBytes=35"), `${stamp} one\n`);
  assert.equal(await get("?limitBytes=5"), "one\nt");
  assert.equal(await get("?limitBytes=5&follow=true"), "one\nt");
});

test("limitBytes holds for a log that appears while it is followed", async () => {
  await using log = await appWithLog();
  const reader = readerOf(await log.get("?follow=true&limitBytes=6"));
  const read = reader.rest();
  await writeFile(log.logFile, "one\ntwo\nthree\n");
  assert.equal(await read, "one\ntw");
  assert.equal(log.services.followers.now, 0);
});

test("follow sends new lines, across a rotation, until the app is gone", async () => {
  await using log = await appWithLog();
  const files = createLog(log.folder);
  await files.write("one\n");
  const reader = readerOf(await log.get("?follow&tailLines=1"));
  await reader.until("one\n");
  const long = `${"x".repeat(70_000)}\n`;
  await files.write(long);
  await reader.until(long);
  await files.rotate();
  await files.write("after\n");
  assert.equal(await reader.until("after\n"), `one\n${long}after\n`);
  log.forget();
  await rm(log.folder, { recursive: true });
  assert.equal(await reader.rest(), `one\n${long}after\n`);
  assert.equal(log.services.followers.now, 0);
});

test("follow with untilEnd goes on while the app restarts, and ends with its last line", async () => {
  await using log = await appWithLog();
  const files = createLog(log.folder);
  await files.write("one\n");
  const reader = readerOf(await log.get("?follow&untilEnd"));
  await reader.until("one\n");
  log.become("BackOff");
  await files.rotate();
  await files.write("two\n");
  await reader.until("two\n");
  await files.write("last\n");
  log.become("Succeeded");
  assert.equal(await reader.rest(), "one\ntwo\nlast\n");
  assert.equal(log.services.followers.now, 0);
  assert.equal(await (await log.get("?follow&untilEnd")).text(), "one\ntwo\nlast\n");
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
  await waitFor("the clients have left", () => log.services.followers.now === 0);
});

/** 4 TiB that need no space, and take hours to read. */
const hugeBytes = 2 ** 42;

test("a reader that goes away ends its read at once; one too many is 429", async () => {
  await using log = await appWithLog("one\n");
  await truncate(log.logFile, hugeBytes);
  const isOpen = async () => {
    const files = (await readdir("/proc/self/fd")).map((fd) =>
      readlink(`/proc/self/fd/${fd}`).catch(() => "")
    );
    return (await Promise.all(files)).includes(log.logFile);
  };
  const readers = await Promise.all(
    ["?tailLines=5", ""].map(async (query) => readerOf(await log.get(query))),
  );
  const reads = readers.map((reader) => reader.rest());
  await waitFor("both read", async () => log.services.readers.now === 2 && await isOpen());
  const refused = await log.get("?tailLines=1");
  assert.equal(refused.status, 429);
  assert.match((await refused.json()).message, /^2 clients of this listener already read a log/);
  for (const reader of readers) await reader.cancel();
  await Promise.all(reads);
  assert.equal(log.services.readers.now, 0);
  await waitFor("the log is closed", async () => !await isOpen());
});
