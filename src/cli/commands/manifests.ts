import { currentSince, podsChoices, renderInstallManifests } from "../../api/install/install.ts";
import { type Command, type Invocation, type Io, textFlag } from "../command.ts";
import { parseChoice, parseWholeNumber } from "../flag-values.ts";

type ServerMinor = { minor: number } | { unknown: string };

/** Prints what a cluster needs once: the CRD, RBAC, admission policies and, with an image, the controllers. */
export const manifestsCommand: Command = {
  flags: {
    "server-minor": {
      value: "N",
      help: `Minor version of the API server; before 1.${currentSince}, what old servers accept is printed.`,
      default: "ask the server",
    },
    kubeconfig: {
      value: "FILE",
      help: "Kubeconfig of the API server to ask for its version.",
      default: "that of kubectl",
    },
    server: { value: "URL", help: "URL of the API server to ask for its version." },
    pods: {
      value: "MODE",
      help:
        'Where agents may show apps as Pods: auto (where the namespace does not say app.example.com/pods: "false"), ' +
        'labelled (only where it says "true") or never; not in kube-*.',
      default: "auto",
      choices: podsChoices,
    },
    tenancy: { help: "Also print NCAppPolicy and the policies that hold namespaces to it." },
    image: { value: "IMAGE", help: "Also print the controllers, as a Deployment of this image." },
  },
  examples: [
    "nckubelet manifests | kubectl apply -f -",
    "nckubelet manifests --image registry.example.com/nckubelet:0.1 | kubectl apply -f -",
    "nckubelet manifests --server-minor 28 >manifests.yaml",
  ],
  async run(invocation, io) {
    const found = await serverMinor(invocation, io);
    const image = textFlag(invocation, "image");
    const notes = [
      ...("unknown" in found ? [assumed(found.unknown)] : []),
      ...(image ? [] : ["the Deployment of the controllers is left out: add it with --image IMAGE"]),
    ];
    if (notes.length > 0) io.stderr(`nckubelet: ${notes.join("; ")}\n`);
    const tenancy = invocation.flags.tenancy === true;
    const pods = parseChoice("pods", textFlag(invocation, "pods") ?? "auto", podsChoices);
    const minor = "minor" in found ? found.minor : undefined;
    io.stdout(renderInstallManifests({ minor, image, tenancy, pods }));
    return 0;
  },
};

/** A server that the flags name must answer; that of kubectl may be missing. */
async function serverMinor(invocation: Invocation, { env }: Io): Promise<ServerMinor> {
  const [text, kubeconfig, server] = ["server-minor", "kubeconfig", "server"].map((name) =>
    textFlag(invocation, name)
  );
  if (text !== undefined) {
    return { minor: parseWholeNumber("server-minor", text, { max: 999 }) };
  }
  if (kubeconfig || server) return await askServer({ kubeconfig, server, env });
  return await askServer({ env }).catch(({ message }: Error) => ({ unknown: message }));
}

/** Reads the version of the named server, or of the one that kubectl uses. */
async function askServer(
  { server, kubeconfig, env }: { server?: string; kubeconfig?: string; env: Io["env"] },
): Promise<ServerMinor> {
  const { connectCluster, kubectlConfig, readServerVersion } = await import("../cluster.ts");
  const file = kubeconfig || (server ? undefined : kubectlConfig(env));
  using cluster = await connectCluster({ server, kubeconfig: file, env });
  const { minor, text } = await readServerVersion(cluster.client);
  return minor > 0 ? { minor } : { unknown: `the API server is ${text}` };
}

function assumed(why: string): string {
  return `${
    why.replaceAll(/\s+/g, " ")
  }: these manifests are for API servers 1.${currentSince} and later; for an older one, ` +
    "use --server-minor N or --kubeconfig FILE";
}
