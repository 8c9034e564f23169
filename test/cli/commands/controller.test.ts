import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { test } from "node:test";
import { runCommandLine } from "../../../src/cli/command-line.ts";
import { schedulerCommand } from "../../../src/cli/commands/controller.ts";
import { waitFor } from "../../wait-for.ts";
import { call } from "../call.ts";

async function run(...words: string[]): Promise<{ code: number; text: string }> {
  let text = "";
  const say = (part: string) => void (text += part);
  const io = { stdout: say, stderr: say, env: {}, columns: 0, signal: AbortSignal.abort() };
  const commands = { scheduler: { summary: "", load: async () => schedulerCommand } };
  return { code: await runCommandLine(["scheduler", ...words], commands, io), text };
}

test("the scheduler reports wrong flags and exits with 2", async () => {
  const cases: [string[], RegExp][] = [
    [["--policy", "random"], /--policy "random": use spread or binpack/],
    [["--explain", "/web"], /--explain "\/web": use NAMESPACE\/NAME/],
    [["--default-toleration", "soon"], /--default-toleration "soon"/],
    [["--node-monitor-grace-period", "5s"], /agents renew every 10 s; use 20s or more/],
    [["--listen", "nonsense"], /--listen "nonsense": use an address such as/],
    [["--health-listen", ":99999"], /--health-listen ":99999": use an address such as/],
    [["--tls-cert-file", "tls.crt"], /give both --tls-cert-file and --tls-private-key-file/],
    [["here"], /scheduler takes no operands, not "here"/],
    [["--polcy", "spread"], /did you mean --policy/],
  ];
  for (const [words, expected] of cases) {
    const { code, text } = await run(...words);
    assert.equal(code, 2, text);
    assert.match(text, expected);
  }
});

test("the scheduler reads switches from variables and reports wrong values", async () => {
  const { code, stderr } = await call(["scheduler"], { env: { NCKUBELET_NO_LEADER_ELECT: "yes" } }).done;
  assert.equal(code, 2);
  assert.match(stderr, /--no-leader-elect "yes": use true or false/);
});

test("the scheduler warns about variables that are almost a setting", async () => {
  const env = { NCKUBELET_LEADER_ELECT: "false" };
  const words = ["scheduler", "--server", "http://127.0.0.1:9", "--listen", ""];
  const { stderr } = await call(words, { env, signal: AbortSignal.abort() }).done;
  assert.match(stderr, /NCKUBELET_LEADER_ELECT is no setting .* did you mean NCKUBELET_NO_LEADER_ELECT\?/);
});

test("a scheduler without an API server reports how to configure it", async () => {
  const { code, text } = await run();
  assert.equal(code, 1);
  assert.match(text, /give a kubeconfig or a server/);
});

test("a scheduler whose port is taken runs, is not ready, and serves the port when it is free", async () => {
  const taker = createServer().listen(0, "127.0.0.1").unref();
  await once(taker, "listening");
  const address = `127.0.0.1:${(taker.address() as AddressInfo).port}`;
  const stop = new AbortController();
  const flags = ["--server", "http://127.0.0.1:9", "--listen", address, "--health-listen", "127.0.0.1:0"];
  const { output, done } = call(["scheduler", ...flags], { signal: stop.signal });
  const served = () => [...output.stderr.matchAll(/serving address=(http:\S+)/g)].map(([, url = ""]) => url);
  const [health = ""] = await waitFor("the health port", () => served().length > 0 ? served() : undefined);
  assert.equal(await (await fetch(`${health}/livez`)).text(), "ok");
  assert.match(output.stderr, /cannot serve on an address; retrying .*EADDRINUSE/);

  taker.close();
  await waitFor("the other port", () => served().includes(`http://${address}`));
  assert.deepEqual((await (await fetch(`http://${address}/status`)).json()).closedPorts, []);
  stop.abort();
  assert.equal((await done).code, 0);
});
