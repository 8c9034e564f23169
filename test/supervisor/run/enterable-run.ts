import { writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { saveRunContext } from "../../../src/supervisor/run/run.ts";
import { tempFolder } from "../../temp-folder.ts";

/** The folder of a run that can be entered, with its leaf below `leafIn` if given. */
export async function enterable(leafIn = "") {
  const temp = tempFolder();
  const folder = temp.path;
  const runId = basename(folder);
  const environment = join(folder, "environment");
  await writeFile(environment, "export APP='web'\n");
  const leaf = leafIn && join(leafIn, runId);
  saveRunContext(folder, {
    leaf,
    user: "",
    workingDir: "/",
    environment,
  });
  return {
    folder,
    runId,
    leaf,
    environment,
    context: join(folder, "inside.json"),
    [Symbol.dispose]: temp.remove,
  };
}
