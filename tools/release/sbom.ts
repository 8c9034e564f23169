/**
 * Generates the bill of materials of the executable, as CycloneDX 1.5 (https://cyclonedx.org), from package-lock.json
 * and what the bundle contains. It has no time and no serial number, so that it is reproducible.
 */
import { Buffer } from "node:buffer";

/** The used part of package-lock.json, version 3. */
export interface Lock {
  name: string;
  version: string;
  packages: Record<string, LockedPackage>;
}

interface LockedPackage {
  version?: string;
  license?: string;
  integrity?: string;
}

/** Returns the packages with code in the executable, `shipped` by their paths in the lock, and its Node. */
export function buildSbom({ name, version, packages }: Lock, shipped: Set<string>): object {
  const unknown = [...shipped].find((path) => !packages[path]);
  if (unknown) throw new Error(`package-lock.json does not have ${unknown}`);
  const inside = Object.entries(packages).filter(([path]) => shipped.has(path))
    .map(([path, locked]) => component(packageName(path), locked));
  const runtime = packages["node_modules/node"];
  if (!runtime?.version) throw new Error("package-lock.json does not have the package node");
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.5",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": `pkg:npm/${name}@${version}`,
        name,
        version,
        licenses: licenses(packages[""]?.license),
        purl: `pkg:npm/${name}@${version}`,
      },
    },
    components: [
      {
        type: "platform",
        "bom-ref": `pkg:generic/node@${runtime.version}`,
        name: "node",
        version: runtime.version,
        licenses: licenses(runtime.license),
        purl: `pkg:generic/node@${runtime.version}`,
      },
      ...inside,
    ],
  };
}

function component(name: string, { version = "", license, integrity }: LockedPackage): object {
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  return {
    type: "library",
    "bom-ref": purl,
    name,
    version,
    ...(integrity ? { hashes: [hash(integrity)] } : {}),
    licenses: licenses(license),
    purl,
  };
}

/** Converts `sha512-BASE64` to the algorithm and hex. */
function hash(integrity: string): object {
  const [algorithm = "", digest = ""] = integrity.split("-");
  return { alg: algorithm.replace(/^sha/, "SHA-"), content: Buffer.from(digest, "base64").toString("hex") };
}

function licenses(license: string | undefined): object[] {
  if (!license) return [];
  return [/ (OR|AND|WITH) /.test(license) ? { expression: license } : { license: { id: license } }];
}

/** Returns `@hono/node-server` for `node_modules/a/node_modules/@hono/node-server`. */
function packageName(path: string): string {
  return path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);
}
