/** Events, newest last: all of them in a file, the last ones in memory for the report of a failure. */
import { appendFileSync } from "node:fs";

export interface EventRing {
  add(what: string): void;
  last(): string[];
}

/** Creates the ring; `file` and `print`, if given, get every line. */
export function createEvents(
  { size = 60, file, print = () => {}, now = Date.now }: {
    size?: number;
    file?: string;
    print?: (line: string) => void;
    now?: () => number;
  } = {},
): EventRing {
  const started = now();
  const ring: string[] = [];
  return {
    add(what) {
      const line = `${((now() - started) / 1000).toFixed(1).padStart(7)} s  ${what}`;
      ring.push(line);
      if (ring.length > size) ring.shift();
      if (file !== undefined) appendFileSync(file, `${line}\n`);
      print(line);
    },
    last: () => [...ring],
  };
}
