/** `nckubelet join`: connects an installed agent to an API server, as install.sh does with NCKUBELET_SERVER. */
import { Buffer } from "node:buffer";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { dump } from "js-yaml";
import { errorCode, explainFileError, readIfExists, writeFileAtomic } from "../../lib/files.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { bootstrapProblem, identityProblem, rightsProblem } from "../agent-rights/agent-rights.ts";
import { connectCluster, readServerVersion } from "../cluster.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { defaultConfig, readAgentSettings } from "../config/config.ts";
import { parseHttpURL } from "../flag-values.ts";
import { fetchPublishedCa, isPin, pinnedCertificates } from "./ca-pin.ts";

export const joinCommand: Command = {
  flags: {
    kubeconfig: { value: "FILE", help: "Kubeconfig to copy." },
    server: { value: "URL", help: "URL of the API server, instead of a kubeconfig." },
    "token-file": {
      value: "FILE",
      help: "Bearer or bootstrap token for the server. Also read from NCKUBELET_TOKEN.",
    },
    "ca-file": { value: "FILE", help: "CA of the server, unless the system trusts it." },
    "ca-hash": {
      value: "sha256:HEX",
      help: "Digest of that CA's public key. Without --ca-file, the CA is read from the cluster.",
    },
    config: { value: "FILE", help: "Config file of the agent.", default: defaultConfig },
    "node-name": {
      value: "NAME",
      help: "Name of the node, to check the credential; from the config file by default.",
    },
    output: { value: "FILE", help: "Only write the kubeconfig, to this file." },
  },
  examples: [
    "nckubelet join --kubeconfig edge-7.kubeconfig && systemctl restart nckubelet",
    "nckubelet join --server https://10.0.0.1:6443 --token-file token --ca-file ca.crt",
    "NCKUBELET_TOKEN=TOKEN nckubelet join --server https://10.0.0.1:6443 --ca-hash sha256:HEX",
  ],
  async run(invocation, io) {
    const config = resolve(textFlag(invocation, "config") ?? defaultConfig);
    const output = textFlag(invocation, "output");
    const kubeconfig = output ?? join(dirname(config), "kubeconfig");
    // An agent that could not start with its settings must not have joined.
    const settings = await readIfExists(config) ?? "";
    const agent = output === undefined
      ? await readAgentSettings({ config }, io.env, async () => settings)
      : undefined;
    const node = textFlag(invocation, "node-name") ?? agent?.nodeName;
    const server = await installKubeconfig(await kubeconfigText(invocation, io), kubeconfig, {
      io,
      node,
      namespace: agent?.namespace,
    });
    if (output !== undefined) {
      io.stdout(`${kubeconfig} reaches an API server ${server}.\n`);
      return 0;
    }
    await writeFileAtomic(config, joinedSettings(settings, kubeconfig), {
      mode: await modeOf(config, 0o644),
    });
    await acceptNode(config, io);
    io.stdout(
      `${kubeconfig} reaches an API server ${server}. Restart the agent to connect it:\n` +
        "  systemctl restart nckubelet\n",
    );
    return 0;
  },
};

/** Records the node and cluster that the agent now has: to join is to give up the apps of an earlier cluster. */
async function acceptNode(config: string, io: Io): Promise<void> {
  const { nextRecord, readCluster, readNodeRecord, writeNodeRecord } = await import(
    "../../node/node-record.ts"
  );
  const { nodeName: node, stateDir, kubeconfig } = await readAgentSettings({ config }, io.env);
  const before = await readNodeRecord(stateDir);
  if (!before) return;
  using connection = await connectCluster({ kubeconfig, env: io.env });
  const { id } = before;
  await writeNodeRecord(
    stateDir,
    nextRecord({ id, node }, { node, cluster: await readCluster(connection.client) }),
  );
}

/** Returns the agent's settings with another API server; everything else stays as the user wrote it. */
export function joinedSettings(text: string, kubeconfig: string): string {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const others = lines.filter((line) => !/^(standalone|server|kubeconfig)\s*:/.test(line));
  return [...others, `kubeconfig: ${kubeconfig}`, ""].join("\n");
}

/** Returns the mode of a file, to keep it; a new file gets `standard`. */
async function modeOf(path: string, standard: number): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return standard;
    throw error;
  }
}

/** Installs the kubeconfig once the API server has accepted it for this node's agent; one that does not work changes nothing. */
async function installKubeconfig(
  text: string,
  path: string,
  { io, node, namespace }: { io: Io; node?: string; namespace?: string },
): Promise<string> {
  const candidate = `${path}.${process.pid}.new`;
  try {
    await writeFileAtomic(candidate, text);
    using cluster = await connectCluster({ kubeconfig: candidate, env: io.env });
    // The server refuses a wrong token or certificate even if anonymous users may read the version.
    const { text: version } = await readServerVersion(cluster.client).catch((cause) => {
      if (!hasStatus(cause, 401)) throw cause;
      const what = "the token or the certificate is wrong, expired or of another cluster";
      throw new Error(`the API server does not accept the credentials: ${what}`, { cause });
    });
    const wrong = cluster.client.access.isBootstrap
      ? await bootstrapProblem(cluster.client)
      : node && await identityProblem(cluster.client, node) || await rightsProblem(cluster.client, namespace);
    if (wrong) throw new Error(wrong);
    await rename(candidate, path);
    return version;
  } finally {
    await rm(candidate, { force: true });
  }
}

async function kubeconfigText(invocation: Invocation, io: Io): Promise<string> {
  const [file, server, tokenFile] = ["kubeconfig", "server", "token-file"]
    .map((name) => textFlag(invocation, name));
  if (file !== undefined) {
    const others = ["server", "token-file", "ca-file", "ca-hash"];
    if (others.some((name) => textFlag(invocation, name) !== undefined)) {
      throw new UsageError("--kubeconfig has everything: remove the other flags");
    }
    return await readNamed("kubeconfig", file);
  }
  if (!server) throw new UsageError("no API server is named: use --kubeconfig FILE or --server URL");
  parseHttpURL("server", server);
  const token = tokenFile === undefined
    ? io.env.NCKUBELET_TOKEN
    : (await readNamed("token-file", tokenFile)).trim();
  if (token && !server.startsWith("https://")) {
    throw new UsageError(
      `--server ${server}: use https://, since a token must not be sent without encryption`,
    );
  }
  const pem = await trustedCa(invocation, server, io);
  const ca = pem === undefined ? undefined : Buffer.from(pem).toString("base64");
  return dump({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "nckubelet",
    contexts: [{ name: "nckubelet", context: { cluster: "nckubelet", user: "nckubelet" } }],
    clusters: [{
      name: "nckubelet",
      cluster: { server, ...(ca ? { "certificate-authority-data": ca } : {}) },
    }],
    users: [{ name: "nckubelet", user: token ? { token } : {} }],
  });
}

async function readNamed(flag: string, path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new UsageError(`--${flag} ${path}: ${explainFileError(cause)}`, { cause });
  }
}

/** Returns the CA as PEM; undefined to trust the authorities of the system. */
async function trustedCa(invocation: Invocation, server: string, io: Io): Promise<string | undefined> {
  const [file, pin] = ["ca-file", "ca-hash"].map((name) => textFlag(invocation, name));
  const given = file === undefined ? undefined : await readNamed("ca-file", file);
  if (given !== undefined && !given.includes("-----BEGIN CERTIFICATE-----")) {
    throw new UsageError(`--ca-file ${file}: has no certificate in PEM form`);
  }
  if (pin === undefined) return given;
  if (!isPin(pin)) {
    throw new UsageError(`--ca-hash ${JSON.stringify(pin)}: use sha256: and 64 lowercase hex digits`);
  }
  if (!server.startsWith("https://")) {
    throw new UsageError(`--server ${server}: use https://, since --ca-hash needs a certificate to check`);
  }
  return pinnedCertificates(given ?? await fetchPublishedCa(server, io.env), pin, server);
}
