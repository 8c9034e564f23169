/** Reads the imports of files with Deno, including types and dynamic imports. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { checkout } from "./checkout.ts";

/** Returns the imports of each file, as written; paths are relative to the folder. */
export function readImports(folder: string, files: string[]): Map<string, string[]> {
  const temp = mkdtempSync(join(tmpdir(), "nckubelet-imports-"));
  try {
    const entry = join(temp, "all.ts");
    writeFileSync(entry, files.map((file) => `import "${pathToFileURL(join(folder, file))}";\n`).join(""));
    const output = execFileSync(join(checkout, "node_modules/.bin/deno"), ["info", "--json", entry], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1 << 30,
      stdio: ["ignore", "pipe", "ignore"],
    });
    const { modules } = JSON.parse(output) as { modules: DenoModule[] };
    const found = new Map(modules.map((module) => [pathOf(folder, module.specifier), module]));
    return new Map(files.map((file) => {
      const module = found.get(file);
      if (!module || module.error) throw new Error(`cannot read the imports of ${file}: ${module?.error}`);
      return [file, (module.dependencies ?? []).map(({ specifier }) => specifier)];
    }));
  } finally {
    rmSync(temp, { recursive: true });
  }
}

interface DenoModule {
  specifier: string;
  dependencies?: { specifier: string }[];
  error?: string;
}

function pathOf(folder: string, specifier: string): string {
  return specifier.startsWith("file:") ? relative(folder, fileURLToPath(specifier)) : specifier;
}
