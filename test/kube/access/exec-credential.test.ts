import assert from "node:assert/strict";
import { test } from "node:test";
import { parseCredential, runExecPlugin } from "../../../src/kube/access/exec-credential.ts";
import { execVersion, printed, withFiles } from "./kubeconfigs.ts";

const plugin = (command: string) => (
  { apiVersion: execVersion, command, args: [], env: {}, provideClusterInfo: false }
);

test("a plugin that hangs is killed", async () => {
  await withFiles({ plugin: "#!/bin/sh\nexec sleep 3600\n" }, async (at) => {
    const options = { env: { PATH: "/usr/bin:/bin" }, timeoutMs: 100 };
    await assert.rejects(runExecPlugin(plugin(at("plugin")), options), /plugin: no answer within 100 ms/);
  });
});

const answers: [string, string, RegExp][] = [
  ["no JSON", "hello s3cret", /printed no ExecCredential/],
  [
    "another version",
    printed({ token: "s3cret" }, "client.authentication.k8s.io/v1beta1"),
    /printed apiVersion/,
  ],
  ["nothing of use", printed({}), /neither a token nor a certificate/],
  ["a token that is no text", printed({ token: 7 }), /a token that is not a string/],
  ["a bad time", printed({ token: "s3cret", expirationTimestamp: "soon" }), /the expirationTimestamp "soon"/],
];

for (const [what, stdout, expected] of answers) {
  test(`a plugin that prints ${what} is an error without the token`, () => {
    assert.throws(() => parseCredential(stdout, plugin("p")), (error: Error) => {
      assert.match(error.message, expected);
      return !error.message.includes("s3cret");
    });
  });
}
