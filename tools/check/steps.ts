/**
 * The checks apart from the tests: each step returns its problems as text, or nothing.
 */
import { globSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { checkout } from "../checkout.ts";
import { runCommand } from "../command.ts";

/** The result of a step: nothing, its problems, or why it could not run. */
export type Finding = undefined | { wrong: string } | { skipped: string };

const deno = join(checkout, "node_modules/.bin/deno");
const maxBytes = 1_000_000;

/** The steps by name, in order. */
export const steps: Record<string, () => Promise<Finding>> = {
  format: () => passes(deno, ["fmt", "--check"]),
  lint: () => passes(deno, ["lint", "--quiet"]),
  types: () => passes(deno, ["check", "--quiet", ...foldersWithSource()]),
  imports: () => passes(process.execPath, ["tools/check-imports.ts"]),
  versions: async () =>
    complain(findLooseVersions(JSON.parse(await readFile(join(checkout, "package.json"), "utf8")))),
  generated: () => passes(process.execPath, ["tools/generate.ts", "--check"]),
  shell: checkShell,
  sizes: checkSizes,
};

/** Returns the packages in package.json whose version is not exact. */
export function findLooseVersions(manifest: Record<string, unknown>): string[] {
  const groups = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
  return groups.flatMap((group) =>
    Object.entries((manifest[group] ?? {}) as Record<string, string>)
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))
      .map(([name, version]) =>
        `package.json: ${group}: ${name} ${JSON.stringify(version)} is not an exact version`
      )
  );
}

async function checkShell(): Promise<Finding> {
  const scripts = (await trackedFiles()).filter((file) => /\.sh$|^\.ci\/run$|^tools\/nckubelet$/.test(file));
  if ((await runCommand("shellcheck", ["--version"])).code !== 0) {
    const missing = await installShellcheck();
    if (missing) return { skipped: missing };
  }
  return await passes("shellcheck", ["--severity=warning", ...scripts]);
}

/** Installs the checker if it is missing; returns a reason if that fails. */
async function installShellcheck(): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return "shellcheck is not installed, and installing takes root";
  const env = { DEBIAN_FRONTEND: "noninteractive" };
  const lock = ["-o", "DPkg::Lock::Timeout=300"];
  await runCommand("apt-get", ["-q", ...lock, "update"], { env });
  const install = ["-q", "-y", ...lock, "install", "--no-install-recommends", "shellcheck"];
  const { code, stderr } = await runCommand("apt-get", install, { env });
  return code === 0 ? undefined : `shellcheck cannot be installed: ${stderr.trim().split("\n").at(-1)}`;
}

async function checkSizes(): Promise<Finding> {
  const found: string[] = [];
  for (const file of await trackedFiles()) {
    const size = await stat(join(checkout, file)).then(({ size }) => size, () => 0);
    if (size > maxBytes) found.push(`${file} has ${size} bytes; a file in git has at most ${maxBytes}`);
  }
  return complain(found);
}

/** Returns the files that git tracks, or would add. */
async function trackedFiles(): Promise<string[]> {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const { code, stdout, stderr } = await runCommand("git", list, { cwd: checkout });
  if (code !== 0) throw new Error(`git ls-files: ${stderr}`);
  return stdout.split("\0").filter((file) => file !== "");
}

function foldersWithSource(): string[] {
  const folders = ["src", "cgroups", "test", "tools", "bench"];
  return folders.filter((folder) => globSync(`${folder}/**/*.ts`, { cwd: checkout }).length > 0);
}

async function passes(file: string, args: string[]): Promise<Finding> {
  const { code, stdout, stderr } = await runCommand(file, args, { cwd: checkout, env: { NO_COLOR: "1" } });
  return code === 0 ? undefined : { wrong: stdout + stderr };
}

function complain(complaints: string[]): Finding {
  return complaints.length > 0 ? { wrong: complaints.join("\n") } : undefined;
}
