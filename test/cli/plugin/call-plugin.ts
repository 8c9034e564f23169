import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Io } from "../../../src/cli/command.ts";
import { pluginCommands } from "../../../src/cli/plugin/plugin.ts";
import { kubeconfig } from "../../kube/access/kubeconfigs.ts";
import { tempFolder } from "../../temp-folder.ts";
import { call, type Output } from "../call.ts";

/** Calls `kubectl ncapp` with a kubeconfig for the server, whose context has the namespace `shop`. */
export async function callPlugin(url: string, words: string[], io: Partial<Io> = {}): Promise<Output> {
  using temp = tempFolder();
  const KUBECONFIG = join(temp.path, "config");
  await writeFile(KUBECONFIG, kubeconfig("", `server: "${url}"`));
  return await call(words, { table: pluginCommands, program: "kubectl ncapp", env: { KUBECONFIG }, ...io })
    .done;
}
