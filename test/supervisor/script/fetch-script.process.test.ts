import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import type { LookupFunction } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { gzipSync } from "node:zlib";
import type { StartError } from "../../../src/supervisor/types.ts";
import {
  createScriptFetcher,
  type ScriptFetcherOptions,
} from "../../../src/supervisor/script/fetch-script.ts";
import { tempFolder } from "../../temp-folder.ts";
import { type ScriptServer, serve, serveSecure } from "./script-server.ts";

const script = "#!/bin/sh\necho hello\n";
const digestOf = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");
const digest = digestOf(script);
const never = new AbortController().signal;

const sendScript: RequestListener = (_request, response) => void response.end(script);
const redirectTo = (location: string): RequestListener => (_request, response) =>
  void response.writeHead(302, { location }).end();

const root = tempFolder({ after }).path;

async function newFetcher(options: Partial<ScriptFetcherOptions> = {}) {
  const cacheDir = join(await mkdtemp(join(root, "case-")), "cache");
  return { cacheDir, fetch: createScriptFetcher({ cacheDir, ...options }) };
}

/** Expects a refusal that leaves nothing on the disk. */
async function assertRefused(
  listener: RequestListener,
  expected: { reason: string; message?: RegExp },
  { path = "/app.sh", sha256 = digest as string | undefined, ...options }: Partial<ScriptFetcherOptions> & {
    path?: string;
    sha256?: string;
  } = {},
): Promise<ScriptServer> {
  await using server = await serve(listener);
  const { cacheDir, fetch } = await newFetcher(options);
  await assert.rejects(fetch(server.origin + path, sha256, never), { name: "StartError", ...expected });
  assert.deepEqual(await readdir(cacheDir).catch(() => []), []);
  return server;
}

test("a downloaded script is executable, readable by every user, and named by its digest", async () => {
  await using server = await serve(sendScript);
  const { cacheDir, fetch } = await newFetcher();
  await mkdir(cacheDir, { mode: 0o700 });
  const path = await fetch(`${server.origin}/app.sh`, digest, never);
  assert.equal(path, join(cacheDir, digest));
  assert.equal(await readFile(path, "utf8"), script);
  assert.equal((await stat(path)).mode & 0o7777, 0o755);
  assert.equal((await stat(cacheDir)).mode & 0o7777, 0o711);
  assert.deepEqual(await readdir(cacheDir), [digest]);
  assert.equal(server.requests[0]?.headers["accept-encoding"], "identity");
});

test("the case of a digest does not matter", async () => {
  await using server = await serve(sendScript);
  const { fetch } = await newFetcher();
  assert.equal(await readFile(await fetch(server.origin, digest.toUpperCase(), never), "utf8"), script);
  await fetch(server.origin, digest.toUpperCase(), never);
  assert.equal(server.requests.length, 1);
});

test("a script in the cache causes no request, and works when the server is gone", async () => {
  const { fetch } = await newFetcher();
  let origin = "";
  {
    await using server = await serve(sendScript);
    origin = server.origin;
    await fetch(origin, digest, never);
    await fetch(origin, digest, never);
    assert.equal(server.requests.length, 1);
  }
  assert.equal(await readFile(await fetch(origin, digest, never), "utf8"), script);
});

test("an altered or truncated script in the cache is downloaded again", async () => {
  await using server = await serve(sendScript);
  const { fetch } = await newFetcher();
  const path = await fetch(server.origin, digest, never);
  for (const [i, damaged] of [script.replace("hello", "hellp"), "", script.slice(0, -1)].entries()) {
    await writeFile(path, damaged);
    assert.equal(await readFile(await fetch(server.origin, digest, never), "utf8"), script);
    assert.equal(server.requests.length, i + 2);
  }
});

test("a symbolic link in the cache is neither used nor written through", async () => {
  await using server = await serve(sendScript);
  const { cacheDir, fetch } = await newFetcher();
  const elsewhere = join(root, "elsewhere");
  await mkdir(cacheDir);
  await writeFile(elsewhere, script);
  await symlink(elsewhere, join(cacheDir, digest));
  const path = await fetch(server.origin, digest, never);
  assert.equal(server.requests.length, 1);
  assert.equal((await stat(elsewhere)).mode & 0o111, 0);
  assert.equal(await readFile(path, "utf8"), script);
});

test("a script in the cache gets lost permissions back", async () => {
  await using server = await serve(sendScript);
  const { fetch } = await newFetcher();
  await chmod(await fetch(server.origin, digest, never), 0o600);
  assert.equal((await stat(await fetch(server.origin, digest, never))).mode & 0o777, 0o755);
});

test("five redirects are followed", async () => {
  await using server = await serve((request, response) => {
    const remaining = Number(request.url?.slice(1));
    if (remaining === 0) return response.end(script);
    response.writeHead([301, 302, 303, 307, 308][remaining - 1]!, { location: `/${remaining - 1}` }).end(
      "moved",
    );
  });
  const { fetch } = await newFetcher();
  assert.equal(await readFile(await fetch(`${server.origin}/5`, digest, never), "utf8"), script);
});

test("a sixth redirect is refused", async () => {
  const expected = { reason: "ForbiddenRedirect", message: /more than 5/ };
  const server = await assertRefused(redirectTo("/again"), expected);
  assert.equal(server.requests.length, 6);
});

const refusals: Record<string, Parameters<typeof assertRefused>> = {
  "a redirect to file:": [redirectTo("file:///etc/passwd"), {
    reason: "ForbiddenRedirect",
    message: /file:\/\/\/etc\/passwd/,
  }],
  "a redirect to 169.254.169.254": [redirectTo("http://169.254.169.254/x"), {
    reason: "ForbiddenAddress",
    message: /169\.254\.169\.254/,
  }],
  "a wrong digest": [(_request, response) => void response.end("#!/bin/sh\nrm -rf /\n"), {
    reason: "DigestMismatch",
    message: new RegExp(`not ${digest}`),
  }],
  "404, with status and URL": [(_request, response) => void response.writeHead(404).end("no"), {
    reason: "DownloadFailed",
    message: /spec\.shellFile: "http:\/\/127\.0\.0\.1:\d+\/app\.sh": the server answered 404/,
  }],
  "an empty file": [(_request, response) => void response.end(), { reason: "NotAScript", message: /empty/ }],
  "an announced length of 10 GB, before the body is read,": [
    (_request, response) => void response.writeHead(200, { "content-length": 10e9 }).write("#!/bin/sh\n"),
    { reason: "DownloadTooLarge", message: /10000000000/ },
  ],
  "a body that is slower than the limit for the whole download": [
    (_request, response) => {
      const drip = setInterval(() => response.write("#"), 20);
      response.on("close", () => clearInterval(drip));
    },
    { reason: "DownloadTimeout", message: /not complete after 0\.3 s/ },
    { limits: { totalMs: 300 } },
  ],
  "a server that never answers": [() => {}, { reason: "DownloadTimeout" }, { limits: { totalMs: 100 } }],
  "a gzip bomb, by its encoding before it is read,": [
    (_request, response) => {
      const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20));
      response.writeHead(200, { "content-encoding": "gzip" }).end(bomb);
    },
    { reason: "DownloadFailed", message: /compressed \("gzip"\)/ },
  ],
  "a body that is shorter than announced": [
    (_request, response) => {
      const headers = { "content-length": script.length + 1 };
      response.writeHead(200, headers).write(script, () => response.destroy());
    },
    { reason: "DownloadFailed" },
  ],
  "a body without its end": [
    (_request, response) => void response.write(script, () => response.destroy()),
    { reason: "DownloadFailed" },
  ],
};
for (const [what, refusal] of Object.entries(refusals)) {
  test(`${what} is refused, and nothing is kept`, async () => void await assertRefused(...refusal));
}

test("a redirect from https to plain http is refused, though a digest is given", async () => {
  await using plain = await serve(sendScript);
  await using server = await serveSecure((_request, response) => {
    response.writeHead(302, { location: `${plain.origin}/app.sh` }).end();
  });
  const { fetch } = await newFetcher({ ca: server.ca });
  await assert.rejects(fetch(server.origin, digest, never), { reason: "ForbiddenRedirect" });
  assert.equal(plain.requests.length, 0);
});

test("https works with a trusted certificate and fails with any other", async () => {
  await using server = await serveSecure(sendScript);
  const trusting = await newFetcher({ ca: server.ca });
  assert.equal(await readFile(await trusting.fetch(server.origin, undefined, never), "utf8"), script);
  const { fetch } = await newFetcher();
  await assert.rejects(fetch(server.origin, digest, never), {
    reason: "DownloadFailed",
    message: /certificate/i,
  });
});

test("a name that resolves to a link-local or metadata address is refused, even if another of its addresses is allowed", async () => {
  await using server = await serve(sendScript);
  const good = { address: "127.0.0.1", family: 4 };
  for (const address of ["169.254.169.254", "fe80::1", "168.63.129.16", "::ffff:168.63.129.16"]) {
    const bad = { address, family: address.includes(":") ? 6 : 4 };
    const lookup: LookupFunction = (_name, _options, callback) => callback(null, [good, bad]);
    const { fetch } = await newFetcher({ lookup });
    const url = `http://scripts.test:${new URL(server.origin).port}/`;
    await assert.rejects(fetch(url, digest, never), {
      reason: "ForbiddenAddress",
      message: new RegExp(bad.address),
    });
  }
  assert.equal(server.requests.length, 0);
});

test("the connection goes to the address that was checked", async () => {
  await using server = await serve(sendScript);
  let lookups = 0;
  const lookup: LookupFunction = (_name, _options, callback) => {
    const address = lookups++ === 0 ? "127.0.0.1" : "169.254.169.254";
    callback(null, [{ address, family: 4 }]);
  };
  const { fetch } = await newFetcher({ lookup });
  await fetch(`http://scripts.test:${new URL(server.origin).port}/`, digest, never);
  assert.equal(lookups, 1);
});

test("a name without an address is a failed download", async () => {
  const lookup: LookupFunction = (name, _options, callback) =>
    callback(new Error(`getaddrinfo ENOTFOUND ${name}`), "");
  const { fetch } = await newFetcher({ lookup });
  await assert.rejects(fetch("https://nowhere.test/", digest, never), {
    reason: "DownloadFailed",
    message: /ENOTFOUND/,
  });
});

test("a refused connection is a failed download", async () => {
  const { origin } = await assertRefused((_request, response) => response.writeHead(404).end(), {
    reason: "DownloadFailed",
  });
  const { fetch } = await newFetcher();
  await assert.rejects(fetch(origin, digest, never), { reason: "DownloadFailed", message: /ECONNREFUSED/ });
});

test("a web page is not a script, by its type or by its first bytes", async () => {
  await assertRefused((_request, response) => response.end("\n<!DOCTYPE html><html>log in</html>"), {
    reason: "NotAScript",
  });
  await using server = await serveSecure((_request, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("please log in");
  });
  const { fetch } = await newFetcher({ ca: server.ca });
  await assert.rejects(fetch(server.origin, undefined, never), {
    reason: "NotAScript",
    message: /text\/html/,
  });
});

test("an endless body is refused after 10 MiB", async () => {
  let sent = 0;
  await assertRefused((_request, response) => {
    const chunk = Buffer.alloc(65_536, "#");
    const more = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      sent += chunk.length;
    };
    response.on("drain", more);
    more();
  }, { reason: "DownloadTooLarge", message: /10485760/ });
  assert.ok(sent > 10 * 2 ** 20 && sent < 40 * 2 ** 20, `${sent} bytes were sent`);
});

test("exactly 10 MiB are allowed", async () => {
  const body = Buffer.alloc(10 * 2 ** 20, "#");
  await using server = await serve((_request, response) => response.end(body));
  const { fetch } = await newFetcher();
  assert.equal((await stat(await fetch(server.origin, digestOf(body), never))).size, body.length);
});

test("plain http without a digest sends no request", async () => {
  await using server = await serve(sendScript);
  const { fetch } = await newFetcher();
  await assert.rejects(fetch(server.origin, undefined, never), {
    reason: "DigestRequired",
    message: /shellFileSHA256/,
  });
  assert.equal(server.requests.length, 0);
});

test("credentials in the URL are sent to its server only, and appear in no message", async () => {
  await using other = await serve((_request, response) => response.writeHead(403).end());
  await using server = await serve((request, response) => {
    if (request.url === "/a") return response.writeHead(302, { location: "/b?secret" }).end();
    response.writeHead(302, { location: `${other.origin}/c?secret` }).end();
  });
  const { fetch } = await newFetcher();
  const url = `${server.origin.replace("//", "//me:secret%20word@")}/a`;
  const error = await fetch(url, digest, never).catch((error) => error) as StartError;
  assert.equal(error.reason, "DownloadFailed");
  assert.doesNotMatch(error.message, /secret|me:/);
  const expected = `Basic ${Buffer.from("me:secret word").toString("base64")}`;
  assert.deepEqual(server.requests.map(({ headers }) => headers.authorization), [expected, expected]);
  assert.deepEqual(other.requests.map(({ headers }) => headers.authorization), [undefined]);
});

test("an aborted signal ends the download with its reason and leaves no file", async () => {
  const stop = new AbortController();
  await using server = await serve((_request, response) => {
    response.write("#!/bin/sh\n");
    stop.abort(new Error("the app was withdrawn"));
  });
  const { cacheDir, fetch } = await newFetcher();
  await assert.rejects(fetch(server.origin, digest, stop.signal), { message: "the app was withdrawn" });
  assert.deepEqual(await readdir(cacheDir).catch(() => []), []);
});

/** A server over TLS whose answer can be changed, with a fetcher that trusts it. */
async function newChanging(onStale?: (problem: StartError) => void) {
  const current: { body: string; etag?: string; status: number } = { body: script, etag: '"1"', status: 200 };
  const server = await serveSecure((request, response) => {
    const { body, etag, status } = current;
    if (status === 0) return;
    if (status === 200 && etag && request.headers["if-none-match"] === etag) {
      return response.writeHead(304).end();
    }
    response.writeHead(status, etag ? { etag } : {}).end(body);
  });
  return { server, current, ...await newFetcher({ ca: server.ca, onStale, limits: { totalMs: 5000 } }) };
}

test("without a digest the ETag saves a download, and a changed script is downloaded", async () => {
  const { server, current, fetch } = await newChanging();
  await using _server = server;
  const first = await fetch(server.origin, undefined, never);
  assert.equal(await fetch(server.origin, undefined, never), first);
  assert.deepEqual(server.requests.map(({ headers }) => headers["if-none-match"]), [undefined, '"1"']);

  Object.assign(current, { body: "#!/bin/sh\necho new\n", etag: '"2"' });
  const second = await fetch(server.origin, undefined, never);
  assert.equal(await readFile(second, "utf8"), current.body);
  assert.equal(await readFile(first, "utf8"), script, "a script that may be running does not change");
});

test("an ETag is not sent when the script that came with it is damaged", async () => {
  const { server, fetch } = await newChanging();
  await using _server = server;
  await writeFile(await fetch(server.origin, undefined, never), "damaged");
  assert.equal(await readFile(await fetch(server.origin, undefined, never), "utf8"), script);
  assert.equal(server.requests[1]?.headers["if-none-match"], undefined);
});

test("a damaged ETag file is ignored", async () => {
  const { server, cacheDir, fetch } = await newChanging();
  await using _server = server;
  await fetch(server.origin, undefined, never);
  const [note] = (await readdir(cacheDir)).filter((name) => name.endsWith(".url"));
  for (const text of ["", "{", "null", '{"etag":"1","origin":"x","digest":"../../etc/passwd"}']) {
    await writeFile(join(cacheDir, note!), text);
    assert.equal(await readFile(await fetch(server.origin, undefined, never), "utf8"), script);
  }
});

test("the last script is used while the server cannot answer, but not after a 404", async () => {
  const problems: string[] = [];
  const { server, current, fetch } = await newChanging(({ message }) => problems.push(message));
  {
    await using _server = server;
    const path = await fetch(server.origin, undefined, never);
    for (const status of [500, 503, 429]) {
      current.status = status;
      assert.equal(await fetch(server.origin, undefined, never), path);
      assert.match(problems.at(-1) ?? "", new RegExp(`answered ${status}`));
    }
    current.status = 404;
    await assert.rejects(fetch(server.origin, undefined, never), {
      reason: "DownloadFailed",
      message: /404/,
    });
  }
  assert.equal(await readFile(await fetch(server.origin, undefined, never), "utf8"), script);
  assert.match(problems.at(-1) ?? "", /ECONNREFUSED/);
});

test("the last script is also used if the server sends no ETag, and the request has none", async () => {
  const { server, current, fetch } = await newChanging();
  await using _server = server;
  delete current.etag;
  const path = await fetch(server.origin, undefined, never);
  current.status = 503;
  assert.equal(await fetch(server.origin, undefined, never), path);
  assert.ok(server.requests.every(({ headers }) => headers["if-none-match"] === undefined));
});

test("the last script is also used when the server is too slow", async () => {
  const { server, current, cacheDir, fetch } = await newChanging();
  await using _server = server;
  const path = await fetch(server.origin, undefined, never);
  current.status = 0;
  const problems: string[] = [];
  const onStale = ({ reason }: StartError) => problems.push(reason);
  const impatient = createScriptFetcher({ cacheDir, ca: server.ca, limits: { totalMs: 100 }, onStale });
  assert.equal(await impatient(server.origin, undefined, never), path);
  assert.deepEqual(problems, ["DownloadTimeout"]);
});

test("the cache removes the least recently used scripts and abandoned downloads", async () => {
  let clock = Date.now() + 7_200_000;
  const bodies = ["a", "b", "c"].map((letter) => `#!/bin/sh\n${letter.repeat(1000)}\n`);
  await using server = await serve((request, response) =>
    response.end(bodies[Number(request.url?.slice(1))])
  );
  const { cacheDir, fetch } = await newFetcher({ limits: { cacheBytes: 2500 }, now: () => clock });
  await mkdir(cacheDir);
  await writeFile(join(cacheDir, ".download-left"), "half");
  const get = (i: number) => {
    clock += 1000;
    return fetch(`${server.origin}/${i}`, digestOf(bodies[i]!), never);
  };
  await get(0);
  await get(1);
  await get(0);
  await get(1);
  await get(0);
  await get(2);
  assert.deepEqual((await readdir(cacheDir)).sort(), [digestOf(bodies[0]!), digestOf(bodies[2]!)].sort());
});
