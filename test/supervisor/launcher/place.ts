import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { silentLogger } from "../../../src/lib/log.ts";
import { cleanPath } from "../../../src/lib/shell.ts";
import { ZygoteLauncher } from "../../../src/supervisor/launcher/launcher.ts";
import { prepareMarks, readMarks, waitForLauncher } from "../../../src/supervisor/run/run.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { readJoined } from "../logs/log-files.ts";

type StartZygote = ConstructorParameters<typeof ZygoteLauncher>[0]["startZygote"];

/** A folder with a launcher, its runs, their marks and their log. */
export async function createPlace(path: string, startZygote?: StartZygote) {
  const temp = tempFolder();
  const folder = temp.path;
  const launcher = new ZygoteLauncher({ path, log: silentLogger, ...(startZygote && { startZygote }) });
  const [log, environment] = [join(folder, "log"), join(folder, "environment")];
  const context = { leaf: "", user: "", workingDir: "/", environment };
  await writeFile(environment, `export PATH='${cleanPath}'\n`);
  let runs = 0;
  return {
    folder,
    launcher,
    log,
    environment,
    context,
    readLog: () => readJoined(log),
    /** Starts a run; returns the path of its marks. */
    async start(command: string[], keeper = ""): Promise<string> {
      const mark = join(folder, `run-${++runs}`);
      prepareMarks(mark, dirname(mark));
      await launcher.start({ mark, keeper, log, context, command });
      return mark;
    },
    /** Waits for the end of a run and of its launcher; returns the marks of its end. */
    async ended(mark: string) {
      const marks = await waitFor("its end", () => {
        const marks = readMarks(mark);
        return marks.exit && marks;
      });
      await waitForLauncher(mark);
      return marks;
    },
    [Symbol.dispose]() {
      launcher.close();
      temp.remove();
    },
  };
}
