/**
 * Unmodified servers on a real supervisor.
 */
import assert from "node:assert/strict";
import { access, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { createMarkerConfinement } from "../../../src/supervisor/confinement/confinement.ts";
import { freePort } from "../../harness/free-port.ts";
import { waitFor } from "../../wait-for.ts";
import { installCatalina } from "./catalina.ts";
import { findProgram } from "./find-program.ts";
import { createTestNode, type TestNode } from "../test-node.ts";

const createNode = () => createTestNode(createMarkerConfinement("this test uses markers"));

for (const [what, lineEnd] of [["as they come", "\n"], ["saved on Windows", "\r\n"]]) {
  test(`start and stop scripts like Tomcat's, ${what}: the daemon is the app, and its own shutdown script stops it`, async () => {
    await using node = await createNode();
    const home = await installCatalina(node.folder, lineEnd);
    const link = join(node.folder, "start-tomcat");
    await symlink("apache catalina 9/bin/startup.sh", link);
    await node.assign("tomcat", {
      shellFile: link,
      stopFile: join(home, "bin/shutdown.sh"),
      terminationGracePeriodSeconds: 20,
    });
    await node.logHas("tomcat", "Tomcat started.");
    const pid = Number(
      await waitFor(
        "pid file",
        () => readFile(join(home, "logs/catalina.pid"), "utf8").catch(() => undefined),
      ),
    );
    await waitFor("the script has ended", () => isScriptOver(node, "tomcat"));
    await node.supervisor.tick();
    assert.equal((await node.reach("tomcat", "Running")).restarts, 0);
    await node.restartAgent();
    await node.reach("tomcat", "Running");
    assert.equal(Number(await readFile(join(home, "logs/catalina.pid"), "utf8")), pid);

    node.supervisor.withdraw("default/tomcat");
    await node.gone("tomcat");
    assert.equal(await readFile(join(home, "logs/ending"), "utf8"), "ended in good order\n");
    await assert.rejects(access(join(home, "logs/catalina.pid")));
    await node.liveRuns(0);
  });
}

test("a killed daemon like Tomcat is restarted as failed", async () => {
  await using node = await createNode();
  const home = await installCatalina(node.folder);
  const pidFile = join(home, "logs/catalina.pid");
  const shellFile = join(home, "bin/startup.sh");
  await node.assign("tomcat", { shellFile, restartPolicy: "OnFailure", backoffSeconds: 1 });
  await waitFor("the script has ended", () => isScriptOver(node, "tomcat"));
  const first = Number(await readFile(pidFile, "utf8"));
  process.kill(first, "SIGKILL");
  const { restarts, lastExit } = await node.reach("tomcat", "Running", ({ restarts }) => restarts === 1);
  assert.equal(restarts, 1);
  assert.deepEqual([lastExit?.code, lastExit?.signal, lastExit?.reason], [137, "SIGKILL", "Error"]);
  await waitFor("another server", async () => Number(await readFile(pidFile, "utf8")) !== first);
});

test("an unmodified Python server runs, gets ready by its probe, and frees its port at a stop", async (t) => {
  if (!findProgram("python3")) return t.skip("no python3 on this machine");
  await using node = await createNode();
  const port = await freePort();
  await writeFile(join(node.folder, "index.html"), "from python\n");
  const shellFile = await node.script(
    "serve.sh",
    `#!/bin/sh\nexec python3 -u -m http.server ${port} --bind 127.0.0.1\n`,
  );
  await serves(node, { shellFile, workingDir: node.folder }, port, "from python\n");
});

test("an unmodified Java source file runs, gets ready by its probe, and frees its port at a stop", async (t) => {
  if (!findProgram("java")) return t.skip("no java on this machine");
  await using node = await createNode();
  const port = await freePort();
  await writeFile(
    join(node.folder, "Server.java"),
    `import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
public class Server {
  public static void main(String[] args) throws Exception {
    var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
    server.createContext("/", exchange -> {
      byte[] body = "from java\\n".getBytes();
      exchange.sendResponseHeaders(200, body.length);
      exchange.getResponseBody().write(body);
      exchange.close();
    });
    server.start();
  }
}
`,
  );
  const shellFile = await node.script(
    "serve.sh",
    '#!/bin/sh\nexec java -Xmx64m -XX:TieredStopAtLevel=1 "$(dirname "$0")/Server.java" "$1"\n',
  );
  await serves(node, { shellFile, args: [String(port)] }, port, "from java\n");
});

/** Checks that the app gets ready, answers, survives a new agent, and frees its port after a stop. */
async function serves(
  node: TestNode,
  spec: NCAppSpec,
  port: number,
  text: string,
): Promise<void> {
  const readinessProbe = { httpGet: { port, path: "/" }, periodSeconds: 1, timeoutSeconds: 5 };
  await node.assign("server", { ...spec, readinessProbe });
  const before = await node.reach("server", "Running", ({ run }) => run?.ready === true);
  const get = async () => await (await fetch(`http://127.0.0.1:${port}/`)).text();
  assert.equal(await get(), text);
  await node.restartAgent();
  const after = await node.reach("server", "Running");
  assert.deepEqual([after.run?.main, after.run?.ready, after.restarts], [before.run?.main, true, 0]);
  node.supervisor.withdraw("default/server");
  await node.gone("server");
  await assert.rejects(get());
  await node.liveRuns(0);
}

/** The script itself has ended; the processes that it started are the app. */
async function isScriptOver(node: TestNode, name: string): Promise<boolean> {
  const { run } = await node.reach(name, "Running");
  const text = await readFile(join(node.layout.stateDir, "marks", `${run?.id}.exit`), "utf8").catch(() => "");
  return text.startsWith("exit 0\n");
}
