import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { test } from "node:test";
import {
  checkAnswer,
  checkHead,
  defaultLimits,
  nextHop,
  parseScriptURL,
} from "../../../src/supervisor/script/fetch-rules.ts";

const digest = "a".repeat(64);
const page = new URL("https://example.com/dir/app.sh");
const follow = (location: string | undefined, from = page, followed = 0) =>
  nextHop(from, { location }, followed, defaultLimits).href;
const answer = (headers: Record<string, string>, { status = 200, pinned = false } = {}) =>
  checkAnswer(page, status, headers, pinned, defaultLimits);

test("parseScriptURL() refuses link-local and metadata addresses however they are spelled", () => {
  for (
    const host of [
      "169.254.169.254",
      "0xA9FEA9FE",
      "2852039166",
      "169.254.43518",
      "[::ffff:169.254.169.254]",
      "[fe80::1]",
      "100.100.100.200",
      "0xA83F8110",
      "[::ffff:168.63.129.16]",
      "[fd00:ec2::254]",
    ]
  ) {
    assert.throws(() => parseScriptURL(`https://${host}/x`, digest), { reason: "ForbiddenAddress" }, host);
  }
});

test("parseScriptURL() accepts plain http only with a digest", () => {
  assert.throws(() => parseScriptURL("http://example.com/app.sh", undefined), { reason: "DigestRequired" });
  assert.equal(parseScriptURL("http://example.com/app.sh", digest).hostname, "example.com");
  assert.equal(parseScriptURL("https://example.com/app.sh", undefined).hostname, "example.com");
});

test("parseScriptURL() refuses other schemes and invalid URLs", () => {
  for (const text of ["file:///etc/passwd", "ftp://example.com/a", "data:,x", "https://", "nonsense"]) {
    assert.throws(() => parseScriptURL(text, digest), { reason: "DownloadFailed" }, text);
  }
});

test("parseScriptURL() and checkHead() refuse archives, by name before the download and by their first bytes", () => {
  for (const name of ["app.tar.gz", "app.tgz?token=secret", "app.ZIP", "app.tar.zst#x", "app.zst"]) {
    const words = /is an archive, not a script/;
    assert.throws(() => parseScriptURL(`https://example.com/${name}`, digest), (error: Error) => {
      assert.match(error.message, words);
      assert.doesNotMatch(error.message, /secret/);
      return (error as Error & { reason: string }).reason === "InvalidScript";
    });
  }
  assert.equal(parseScriptURL("https://example.com/app.tgz.sh", digest).pathname, "/app.tgz.sh");
  for (const magic of ["1f8b08", "504b0304", "28b52ffd"]) {
    assert.throws(() => checkHead(page, Buffer.from(magic, "hex")), { reason: "InvalidScript" }, magic);
  }
});

test("nextHop() follows relative and absolute redirects of the same scheme", () => {
  assert.equal(follow("other.sh"), "https://example.com/dir/other.sh");
  assert.equal(follow("/other.sh"), "https://example.com/other.sh");
  assert.equal(follow("https://mirror.example.com/x"), "https://mirror.example.com/x");
});

test("nextHop() refuses a change of scheme in either direction", () => {
  for (const location of ["http://example.com/x", "file:///etc/passwd", "ftp://example.com/x"]) {
    assert.throws(() => follow(location), { reason: "ForbiddenRedirect" }, location);
  }
  const plain = new URL("http://example.com/");
  assert.throws(() => follow("https://example.com/", plain), { reason: "ForbiddenRedirect" });
});

test("nextHop() refuses the sixth redirect, metadata services, and redirects without a valid Location", () => {
  assert.equal(follow("/x", page, 4), "https://example.com/x");
  assert.throws(() => follow("/x", page, 5), {
    reason: "ForbiddenRedirect",
    message: /more than 5 redirects/,
  });
  for (const host of ["169.254.169.254", "100.100.100.200", "[fd00:ec2::254]"]) {
    assert.throws(() => follow(`https://${host}/latest`), { reason: "ForbiddenAddress" }, host);
  }
  assert.throws(() => follow(undefined), { reason: "DownloadFailed" });
  assert.throws(() => follow("https://["), { reason: "DownloadFailed" });
});

test("nextHop() passes credentials to no other server", () => {
  const secret = new URL("https://me:secret@example.com/a");
  assert.equal(follow("/b", secret), "https://me:secret@example.com/b");
  assert.equal(follow("https://example.com:444/b", secret), "https://example.com:444/b");
  assert.equal(follow("https://other.example.com/b", secret), "https://other.example.com/b");
});

test("checkAnswer() accepts only a plain 200", () => {
  answer({ "content-type": "text/x-shellscript", "content-length": String(10 * 2 ** 20) });
  answer({ "content-encoding": "identity" });
  for (const status of [204, 206, 304, 404, 500]) {
    assert.throws(() => answer({}, { status }), {
      reason: "DownloadFailed",
      message: new RegExp(`answered ${status}`),
    });
  }
});

test("checkAnswer() refuses compression, too many bytes and web pages", () => {
  assert.throws(() => answer({ "content-encoding": "gzip" }), {
    reason: "DownloadFailed",
    message: /"gzip"/,
  });
  assert.throws(() => answer({ "content-length": "10485761" }), {
    reason: "DownloadTooLarge",
    message: /10485761/,
  });
  assert.throws(() => answer({ "content-type": "text/html; charset=utf-8" }), { reason: "NotAScript" });
});

test("checkAnswer() ignores the type if a digest is given", () => {
  answer({ "content-type": "text/html" }, { pinned: true });
});

test("checkHead() refuses HTML and empty files, but not scripts that contain HTML", () => {
  const head = (text: string) => checkHead(page, Buffer.from(text));
  for (const text of ["<!DOCTYPE html>", "\n\n <html lang='en'>", "\uFEFF<HTML>", "<!doctype\nhtml>"]) {
    assert.throws(() => head(text), { reason: "NotAScript" }, text);
  }
  assert.throws(() => head(""), { reason: "NotAScript", message: /empty/ });
  for (const text of ["#!/bin/sh\necho '<html>'", "<htmlx", "cat <html", "echo hi"]) head(text);
});
