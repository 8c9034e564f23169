import { writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { checkout } from "../checkout.ts";

/**
 * A module that only child processes and short commands load: client-node and what it needs. It becomes a file of its own next to
 * the bundle, an asset in the executable. The text of the bundle stays in memory twice while the program runs; that of an asset is
 * read when it is needed. docs/decisions/0014-kubeconfig.md has the figures.
 */
export const asideFile = "resolve-kubeconfig.cjs";
const asideModule = "src/kube/access/resolve-kubeconfig.ts";

const common = {
  absWorkingDir: checkout,
  bundle: true,
  write: false,
  metafile: true,
  platform: "node",
  format: "cjs",
  target: "node26",
  minify: true,
  keepNames: true,
  lineLimit: 160,
  legalComments: "none",
  // A single executable has no files to import from.
  supported: { "dynamic-import": false },
  // undici's second HTTP parser, which only this variable enables: 150 KB.
  external: ["../milo/*"],
  define: {
    "process.env.UNDICI_USE_MILO": "undefined",
    // CommonJS has no import.meta; packages that read it while they load need a URL.
    "import.meta.url": JSON.stringify("file:///nckubelet.cjs"),
    "import.meta.dirname": "__dirname",
  },
  logLevel: "silent",
} satisfies BuildOptions;

/**
 * Bundles the program and the used parts of its packages into one CommonJS file, the format that supports a code cache, and
 * `asideFile` in the same folder.
 *
 * The text of the bundle stays in memory while the program runs, so its size matters: it is minified, and what is never used is
 * left out. Names are kept, and lines stay short, for readable stack traces. A dynamic import becomes a lazy `require`, so that a
 * command runs only the modules that it needs.
 */
export async function bundleProgram(entry: string, output: string): Promise<void> {
  for (const { outputFiles: [file] } of await buildBoth(entry, output)) {
    await writeFile(file!.path, escapeNonASCII(file!.text));
  }
}

/** Returns the packages with code in the bundle or in `asideFile`, by their paths in package-lock.json. */
export async function bundledPackages(entry: string): Promise<Set<string>> {
  const results = await buildBoth(entry, "nckubelet.cjs");
  const inputs = results.flatMap(({ metafile }) => Object.values(metafile.outputs))
    .flatMap((output) => Object.entries(output.inputs));
  const files = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([file]) => file);
  return new Set(files.flatMap((file) => /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
}

async function buildBoth(entry: string, output: string) {
  return await Promise.all([
    build({ ...common, entryPoints: [entry], outfile: output, plugins: [keepAside] }),
    build({
      ...common,
      entryPoints: [asideModule],
      outfile: join(dirname(output), asideFile),
      plugins: [leanClientNode],
    }),
  ]);
}

/**
 * Escapes the characters that esbuild leaves as they are, those in regular expressions. One of them is enough for V8 to store the
 * whole text with two bytes for each character, which costs an agent a megabyte and more.
 */
function escapeNonASCII(text: string): string {
  return text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** Replaces the import of the module by a loader for its file. */
const keepAside: Plugin = {
  name: "keep-aside",
  setup({ onLoad, onResolve }) {
    const name = basename(asideModule).replaceAll(".", "\\.");
    onResolve({ filter: new RegExp(`^\\./${name}$`) }, () => ({ path: asideFile, namespace: "aside" }));
    onLoad({ filter: /./, namespace: "aside" }, () => ({ contents: loader, resolveDir: checkout }));
  },
};

/** The name under which the aside file gets undici from the bundle. */
const sharedUndici = "nckubelet:undici";

/** A bundle that is no executable, as in tests and with Deno, reads the file next to it. */
const loader = `
const { readFileSync } = require("node:fs");
const { Script } = require("node:vm");
const sea = process.getBuiltinModule("node:sea");
const text = sea?.isSea()
  ? sea.getAsset("${asideFile}", "utf8")
  : readFileSync(__dirname + "/${asideFile}", "utf8");
const script = new Script("(function(module,exports,require,__dirname){" + text + "\\n})", { filename: "${asideFile}" });
const load = (name) => name === "${sharedUndici}" ? require("./src/lib/undici.ts") : require(name);
script.runInThisContext()(module, module.exports, load, __dirname);
`;

/**
 * Leaves out what reading a kubeconfig does not need: half of the time of a child process was loading it. client-node's files do
 * nothing while they load, so those without a used export can go. It sends no requests here, so it gets no undici.
 */
const leanClientNode: Plugin = {
  name: "lean-client-node",
  setup({ onLoad, onResolve, resolve }) {
    onResolve({ filter: /\/lib\/undici\.ts$/ }, () => ({ path: sharedUndici, external: true }));
    onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "unused" }));
    onLoad({ filter: /./, namespace: "unused" }, () => ({ contents: unusedUndici }));
    onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ path, pluginData, ...rest }) => {
      if (pluginData === leanClientNode) return undefined;
      const found = await resolve(path, { ...rest, pluginData: leanClientNode });
      return { path: found.path, errors: found.errors, sideEffects: false };
    });
    // Thousands of imports: asking esbuild for each of them takes most of the time of a build.
    onResolve(
      { filter: /^\.\.?\// },
      ({ path, importer, resolveDir }) =>
        importer.includes("/@kubernetes/client-node/")
          ? { path: join(resolveDir, path), sideEffects: false }
          : undefined,
    );
  },
};

const unusedUndici = `
function unused() {
  throw new Error("client-node sends no requests in this program");
}
export { unused as Agent, unused as fetch, unused as ProxyAgent };
`;
