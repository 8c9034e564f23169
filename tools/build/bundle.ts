import { build } from "esbuild";

/**
 * Puts the program and what it uses of its packages into one CommonJS file, the form that takes a code cache.
 *
 * The text of the bundle stays in memory twice while the program runs, so that small is worth something: minified it saves 2 MB
 * of 23. Names are kept, and lines stay short, for the sake of stack traces. A dynamic import becomes a lazy `require`, so that a
 * command runs only the modules that it asks for.
 */
export async function bundleProgram(entry: string, output: string): Promise<void> {
  await build({
    entryPoints: [entry],
    outfile: output,
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node26",
    minify: true,
    keepNames: true,
    lineLimit: 160,
    legalComments: "none",
    // A single executable has no files to import from.
    supported: { "dynamic-import": false },
    // CommonJS has no import.meta; packages that look at it while they load want an address.
    define: {
      "import.meta.url": JSON.stringify("file:///nckubelet.cjs"),
      "import.meta.dirname": "undefined",
    },
    logLevel: "silent",
  });
}
