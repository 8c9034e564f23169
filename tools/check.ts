/**
 * Runs the static checks: format, lint, types, imports, versions, generated files, shell scripts, sizes.
 *
 * Usage: node tools/check.ts [STEP]...
 * Prints a line for each step, followed by its problems. All steps run, side by side; the exit code is 1 if any failed. With
 * CI=true a step that cannot run is a failure.
 */
import process from "node:process";
import { type Finding, steps } from "./check/steps.ts";

const names = process.argv.slice(2);
const unknown = names.find((name) => !Object.hasOwn(steps, name));
if (unknown !== undefined) {
  console.error(`check: unknown step ${JSON.stringify(unknown)}: use ${Object.keys(steps).join(", ")}`);
  process.exit(2);
}

const running = Object.entries(steps)
  .filter(([name]) => names.length === 0 || names.includes(name))
  .map(async ([name, step]) => {
    const start = performance.now();
    const finding: Finding = await step().catch((error: Error) => ({ wrong: error.message }));
    return { name, finding, time: `${((performance.now() - start) / 1000).toFixed(1)}s` };
  });
for (const step of running) {
  const { name, finding, time } = await step;
  if (!finding) console.log(`ok    ${name} ${time}`);
  else if ("wrong" in finding) console.log(`FAIL  ${name} ${time}\n${finding.wrong.trimEnd()}`);
  else console.log(`skip  ${name}: ${finding.skipped}`);
  if (finding && ("wrong" in finding || process.env.CI === "true")) process.exitCode = 1;
}
