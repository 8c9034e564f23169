/**
 * Runs the program under a clock that can jump: `clocked-program.ts OFFSET-FILE ARGUMENTS…`. The file holds milliseconds to add to
 * the machine's clock; SIGUSR2 rereads it. Timers are not affected, as when a real clock is set.
 */
import { readFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";

const [offsetFile = "", ...args] = process.argv.slice(2);
const RealDate = Date;
let offsetMs = 0;

function readOffset(): void {
  offsetMs = Number(readFileSync(offsetFile, "utf8"));
}

const now = () => RealDate.now() + offsetMs;

readOffset();
process.on("SIGUSR2", readOffset);
globalThis.Date = new Proxy(RealDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  get: (target, name) => name === "now" ? now : Reflect.get(target, name),
});
// Children of the program, such as the reader of its kubeconfig, run on the real clock.
const program = fileURLToPath(new URL("../../../src/main.ts", import.meta.url));
process.argv.splice(1, process.argv.length - 1, program, ...args);
await import("../../../src/main.ts");
