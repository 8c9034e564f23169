import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { downloadKubernetes } from "../harness/download-kubernetes.ts";
import { tempFolder } from "../temp-folder.ts";

const programs = ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];
const patience = { answerMs: 300, moreMs: 300 };

describe("downloadKubernetes()", () => {
  const dir = tempFolder({ after }).path;
  const archive = readFileSync(makeArchive(dir));
  const sha512 = createHash("sha512").update(archive).digest("hex");

  test("unpacks the programs of an archive with the pinned digest", async (t) => {
    const url = await serve(t, (_, response) => response.end(archive));
    const folder = join(dir, "good");
    await downloadKubernetes(folder, { url, sha512 });
    assert.deepEqual(readdirSync(folder).sort(), programs);
    assert.equal(execFileSync(join(folder, "kubectl"), { encoding: "utf8" }), "I am kubectl\n");
  });

  const failures: { title: string; serve: RequestListener; pinned?: string; error: RegExp }[] = [
    {
      title: "refuses another digest",
      serve: (_, response) => response.end(archive),
      pinned: "0".repeat(128),
      error: /has the SHA-512 digest [0-9a-f]{128}, not 0+$/,
    },
    {
      title: "refuses a download that was cut",
      serve: (_, response) => {
        response.writeHead(200, { "content-length": archive.length });
        response.write(archive.subarray(0, 100), () => response.destroy());
      },
      error: /other side closed|terminated/,
    },
    {
      title: "gives up a download that stops",
      serve: (_, response) => {
        response.writeHead(200, { "content-length": archive.length });
        response.write(archive.subarray(0, 100));
      },
      error: /nothing came for 0\.3 s/,
    },
    { title: "gives up a site that does not answer", serve: () => {}, error: /nothing came for 0\.3 s/ },
    {
      title: "reports the status of a refusal",
      serve: (_, response) => response.writeHead(404).end(),
      error: /the answer is 404/,
    },
  ];
  for (const { title, serve: listener, pinned = sha512, error } of failures) {
    test(`${title}, and leaves nothing`, async (t) => {
      const url = await serve(t, listener);
      const folder = join(dir, "bad");
      await assert.rejects(downloadKubernetes(folder, { url, sha512: pinned }, patience), error);
      assert.ok(!existsSync(folder) && !existsSync(`${folder}.part`));
    });
  }

  test("names a site that nothing listens on", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await assert.rejects(
      downloadKubernetes(join(dir, "bad"), { url: `http://127.0.0.1:${port}/archive`, sha512 }, patience),
      { message: `http://127.0.0.1:${port}/archive: connect ECONNREFUSED 127.0.0.1:${port}` },
    );
  });
});

function makeArchive(dir: string): string {
  const bin = join(dir, "kubernetes/server/bin");
  mkdirSync(bin, { recursive: true });
  for (const name of [...programs, "kube-proxy"]) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho I am ${name}\n`, { mode: 0o755 });
  }
  execFileSync("tar", ["-czf", join(dir, "archive.tar.gz"), "-C", dir, "kubernetes"]);
  return join(dir, "archive.tar.gz");
}

async function serve(t: { after(end: () => void): void }, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/archive`;
}
