import { Buffer } from "node:buffer";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import process from "node:process";
import { dump } from "js-yaml";
import { errorCode, readIfThere, writeFileAtomic } from "../../lib/files.ts";
import {
  connectCluster,
  fetchPublishedCa,
  isPin,
  pinnedCertificates,
  readServerVersion,
} from "../cluster/cluster.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { defaultConfig } from "../config/config.ts";

/** Gives an installed agent its API server: what install.sh does with NCKUBELET_SERVER, later. */
export const joinCommand: Command = {
  name: "join",
  summary: "Have the agent of this node follow an API server.",
  flags: {
    kubeconfig: { kind: "text", value: "FILE", help: "A kubeconfig to copy." },
    server: { kind: "text", value: "URL", help: "Or the address of the API server, with the flags below." },
    "token-file": { kind: "text", value: "FILE", help: "File with its token; else NCKUBELET_TOKEN has it." },
    "ca-file": { kind: "text", value: "FILE", help: "Its CA, where this machine does not trust it already." },
    "ca-hash": {
      kind: "text",
      value: "sha256:HEX",
      help: "The digest of that CA's public key; without a file, the CA is asked from the cluster.",
    },
    config: { kind: "text", value: "FILE", help: "The agent's settings.", default: defaultConfig },
    output: { kind: "text", value: "FILE", help: "Only check, and write the kubeconfig there." },
  },
  examples: [
    "nckubelet join --kubeconfig edge-7.kubeconfig && systemctl restart nckubelet",
    "nckubelet join --server https://10.0.0.1:6443 --token-file token --ca-file ca.crt",
    "NCKUBELET_TOKEN=… nckubelet join --server https://10.0.0.1:6443 --ca-hash sha256:…",
  ],
  async run(invocation, io) {
    if (invocation.args.length > 0) {
      throw new UsageError(`join takes no operands, not ${JSON.stringify(invocation.args[0])}`);
    }
    const config = resolve(textFlag(invocation, "config") ?? defaultConfig);
    const output = textFlag(invocation, "output");
    const kubeconfig = output ?? join(dirname(config), "kubeconfig");
    const server = await putKubeconfig(await kubeconfigText(invocation, io), kubeconfig, io);
    if (output !== undefined) {
      io.stdout(`${kubeconfig} reaches an API server ${server}.\n`);
      return 0;
    }
    const settings = await readIfThere(config) ?? "";
    await writeFileAtomic(config, joinedSettings(settings, kubeconfig), {
      mode: await modeOf(config, 0o644),
    });
    io.stdout(
      `${kubeconfig} reaches an API server ${server}. The agent follows it from its next start on:\n` +
        "  systemctl restart nckubelet\n",
    );
    return 0;
  },
};

/** The agent's settings with another API server; whatever else people wrote stays as it is. */
export function joinedSettings(text: string, kubeconfig: string): string {
  const lines = text === "" ? [] : text.replace(/\n$/, "").split("\n");
  const others = lines.filter((line) => !/^(standalone|server|kubeconfig)\s*:/.test(line));
  return [...others, `kubeconfig: ${kubeconfig}`, ""].join("\n");
}

/** Who may read the settings is for who wrote them to say; a new file has the mode that is given. */
async function modeOf(path: string, standard: number): Promise<number> {
  try {
    return (await stat(path)).mode & 0o777;
  } catch (error) {
    if (errorCode(error) === "ENOENT") return standard;
    throw error;
  }
}

/** Puts the kubeconfig in place once the API server took it: nothing is changed by one that does not work. */
async function putKubeconfig(text: string, path: string, io: Io): Promise<string> {
  const candidate = `${path}.${process.pid}.new`;
  try {
    await writeFileAtomic(candidate, text);
    using cluster = await connectCluster({ kubeconfig: candidate, env: io.env });
    // A wrong token or certificate is refused even where anybody may ask for the version.
    const { text: version } = await readServerVersion(cluster.client);
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
      throw new UsageError("--kubeconfig has all in it: leave the others out");
    }
    return await readFile(file, "utf8");
  }
  if (!server) throw new UsageError("say which API server: --kubeconfig FILE or --server URL");
  const token = tokenFile === undefined ? io.env.NCKUBELET_TOKEN : (await readFile(tokenFile, "utf8")).trim();
  if (token && !server.startsWith("https://")) {
    throw new UsageError(`--server ${server} is not encrypted: it gets no token`);
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

/** The CA as PEM; undefined where the machine's own trust is to decide. */
async function trustedCa(invocation: Invocation, server: string, io: Io): Promise<string | undefined> {
  const [file, pin] = ["ca-file", "ca-hash"].map((name) => textFlag(invocation, name));
  const given = file === undefined ? undefined : await readFile(file, "utf8");
  if (pin === undefined) return given;
  if (!isPin(pin)) throw new UsageError(`--ca-hash ${JSON.stringify(pin)}: not sha256: and 64 hex digits`);
  if (!server.startsWith("https://")) {
    throw new UsageError(`--server ${server} is not encrypted: it has no CA to check`);
  }
  return pinnedCertificates(given ?? await fetchPublishedCa(server, io.env), pin, server);
}
