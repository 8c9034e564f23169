/** The program as its own child: what an agent does with its kubeconfig. NCKUBELET_BIN names another executable to test. */
import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { loadAccess } from "../../../src/kube/access/access.ts";
import { selfCommand } from "../../../src/cli/self-command.ts";
import { waitFor } from "../../wait-for.ts";
import { ca } from "./certificates.ts";
import { kubeconfig, replace, withFiles } from "./kubeconfigs.ts";
import { withIssuer } from "./oidc-issuer.ts";

const main = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
const { execPath, execArgv, env: { NCKUBELET_BIN: binary, PATH, HOME } } = process;
const flags = execArgv.filter((word) => !word.startsWith("--test"));
const self = binary ? [binary] : selfCommand({ execPath, execArgv: flags, argv: [execPath, main] });
const env = { PATH, HOME };

test("a child process resolves the kubeconfig: with OIDC, after a rejection, after a change, and not after a failure", async () => {
  await withIssuer({ rotates: true }, async (issuer) => {
    const settings = {
      "idp-issuer-url": issuer.url,
      "client-id": "edge",
      "idp-certificate-authority": "ca.crt",
      "refresh-token": "refresh-0",
    };
    const user = `auth-provider: {name: oidc, config: ${JSON.stringify(settings)}}`;
    await withFiles({ config: kubeconfig(user), "ca.crt": ca }, async (at) => {
      const said: string[] = [];
      const warn = (message: string, fields?: object) =>
        said.push(message + String(Object.values(fields ?? {})));
      const log = { info() {}, warn };
      const access = await loadAccess({ kubeconfig: at("config"), env, self, log, checkMs: 0 });
      assert.equal(
        access.describe(),
        `https://k8s.test:6443 (context "c" of ${at("config")}, OIDC issuer ${issuer.url})`,
      );
      const token = async () => (await access.credentials()).headers.authorization;
      const first = await token();
      assert.match(String(first), /^Bearer .+\..+\./);
      access.refresh();
      const second = await token();
      assert.notEqual(second, first);
      assert.deepEqual(issuer.refreshes.map((form) => form.refresh_token), ["refresh-0", "refresh-1"]);
      await rm(at("config"));
      await waitFor("the failure is reported", async () => await token() === second && said.length > 0);
      assert.match(said[0]!, /the last one stays in use.*cannot read kubeconfig .*: no such file/);
      await replace(at("config"), kubeconfig("token: other"));
      await waitFor("the new kubeconfig is used", async () => await token() === "Bearer other");
    });
  });
});

test("a child process names the file and the field of an invalid kubeconfig", async () => {
  await withFiles({ config: kubeconfig("token: 123456") }, async (at) => {
    const loading = loadAccess({ kubeconfig: at("config"), env, self });
    await assert.rejects(loading, {
      message: `${at("config")}: user "u": token must be a string (put it in quotes), not a number`,
    });
  });
});
