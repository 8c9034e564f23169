import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { suite, test } from "node:test";
import { createServerApp } from "../../src/server/app.ts";
import { listenWithTLS, readKeyPair } from "../../src/server/listen/listen.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { startAgentProcess } from "../agent-process.ts";
import { server as pair } from "../kube/access/certificates.ts";
import { listeners, servicesWith } from "../server/fake-agent.ts";
import { manifest } from "../builders.ts";
import { tempFolder } from "../temp-folder.ts";
import { noBrowser, openPage, until } from "./open-browser.ts";
import { manySampleApps, sampleApps, serveSampleNode } from "./sample-node.ts";
import { firstPart } from "../supervisor/logs/log-files.ts";

const skip = noBrowser;
const card = (key: string) =>
  `[...document.querySelectorAll("#apps li")].find((li) => li.innerText.includes("${key}"))`;

// Two at a time: the first waits for two samples of the agent, which takes 20 s.
suite("the dashboard", { concurrency: 2 }, () => {
  test("apps of a real agent appear, their charts move, their log is followed, and one that dies shows why", {
    skip,
  }, async () => {
    using temp = tempFolder();
    const folder = temp.path;
    const manifests = join(folder, "manifests");
    await mkdir(manifests);
    const script = async (name: string, text: string) => {
      await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
      return join(folder, name);
    };
    const write = (name: string, spec: object) =>
      writeFile(join(manifests, `${name}.json`), JSON.stringify(manifest(name, spec)));
    await write("busy", {
      shellFile: await script("busy.sh", "n=0\nwhile :; do n=$((n + 1)); echo line $n; sleep 0.2; done"),
    });
    const flags = [
      "--standalone",
      "--manifests",
      manifests,
      "--report-period",
      "500ms",
      "--enforce",
      "best-effort",
    ];
    await using agent = await startAgentProcess(flags, { openLoopback: false });
    await using browser = await openPage();
    const { page, asked } = browser;
    const link = (await agent.command("dashboard", "--socket", agent.socket)).stdout.trim();
    const [, token = ""] = link.split("#token=");
    await page.goto(link);
    await until(page, `${card("default/busy")}?.innerText.includes("Running, ready")`);
    assert.equal(page.url(), `${agent.url}/`, "the token is not in the address");
    assert.ok(token.length > 40);
    assert.deepEqual(asked.filter((url) => url.includes(token) && url !== link), []);
    await page.goto("about:blank");
    await page.goto(agent.url);
    await until(page, `${card("default/busy")}?.innerText.includes("Running, ready")`);

    const memoryLine = `${card("default/busy")}?.querySelectorAll(".use-line")[1]?.getAttribute("d") ?? ""`;
    await until(page, `(${memoryLine}).length > 0`);
    const before = await page.evaluate<string>(memoryLine);

    await page.click("text=default/busy");
    await until(page, `document.querySelector("dialog pre").innerText.includes("line 1\\n")`);
    await page.click("text=Follow");
    const lastLine =
      `Number(/line (\\d+)\\s*$/.exec(document.querySelector("dialog pre").innerText)?.[1] ?? 0)`;
    await until(page, `${lastLine} > 0`);
    const seen = await page.evaluate<number>(lastLine);
    await until(page, `${lastLine} > ${seen + 5}`);
    await page.keyboard.press("Escape");
    await until(page, `!document.querySelector("dialog").open`);

    const dying = await script("dying.sh", "echo cannot open the database; exit 3");
    await write("dying", { shellFile: dying, restartPolicy: "Never" });
    await until(page, `${card("default/dying")}?.innerText.includes("Failed: Error")`);
    await page.click("text=default/dying");
    const detail = await page.innerText("dialog");
    assert.match(detail, /Status\s+3/);
    assert.match(detail, /cannot open the database/);

    await until(page, `(${memoryLine}).length > ${before.length}`);
    assert.deepEqual(browser.complaints, []);
    assert.deepEqual(
      browser.asked.filter((url) => !url.startsWith(agent.url) && !url.startsWith("data:")),
      [],
    );
  });

  test("what apps are called and write is shown as text, never run", { skip }, async () => {
    using temp = tempFolder();
    const folder = temp.path;
    const evil = `<img src=x onerror="window.hacked = true"><script>window.hacked = true</script>`;
    const logFile = firstPart(folder);
    await writeFile(logFile, `${evil}\n\u001b[31mred\u001b[0m\n`);
    const [first] = sampleApps;
    await using node = await serveSampleNode([{
      ...first!,
      spec: { shellFile: `/opt/${evil}` },
      status: {
        phase: "Failed",
        reason: evil,
        message: evil,
        lastExit: { code: 1, reason: evil, message: evil },
      },
      logFile,
    }]);
    await using browser = await openPage();
    const { page } = browser;
    await page.goto(node.url);
    await until(page, `document.querySelector("#apps li")`);
    await page.click(".name");
    await until(page, `[...document.querySelectorAll("dialog pre")].at(-1).innerText.includes("red")`);
    const log = await page.evaluate<string>(`[...document.querySelectorAll("dialog pre")].at(-1).innerText`);
    assert.equal(log, `${evil}\nred\n`);
    assert.match(await page.innerText("dialog"), /window\.hacked/);
    assert.equal(await page.evaluate(`document.querySelectorAll("body img, body script").length`), 0);
    assert.equal(await page.evaluate(`window.hacked`), undefined);
  });

  test("a phone sees all of it without scrolling sideways, and the dark have it dark", { skip }, async () => {
    await using node = await serveSampleNode();
    const background = `getComputedStyle(document.documentElement).backgroundColor`;
    const seen: string[] = [];
    for (const colorScheme of ["light", "dark"] as const) {
      await using browser = await openPage({ colorScheme, viewport: { width: 360, height: 740 } });
      const { page } = browser;
      await page.goto(node.url);
      await until(page, `document.querySelectorAll("#apps li").length === ${sampleApps.length}`);
      assert.equal(await page.evaluate(`document.documentElement.scrollWidth <= innerWidth`), true);
      await page.click("text=default/indexer");
      assert.equal(await page.evaluate(`document.querySelector("dialog").scrollWidth <= innerWidth`), true);
      seen.push(await page.evaluate(background));
    }
    assert.notEqual(seen[0], seen[1]);
  });

  test(
    "charts have a text alternative, failing apps come first, and the list can be searched",
    { skip },
    async () => {
      await using node = await serveSampleNode();
      await using browser = await openPage();
      const { page } = browser;
      await page.goto(node.url);
      await until(page, `document.querySelectorAll("#apps li").length === ${sampleApps.length}`);
      const labels = await page.evaluate<string[]>(
        `[...document.querySelectorAll("#apps li:first-child svg")].map((svg) => svg.getAttribute("aria-label"))`,
      );
      assert.match(
        labels[0] ?? "",
        /^CPU – of the node now, at most 2\d\.\d% in the last half hour, cap 30%, restarted 2 times$/,
      );
      assert.match(labels[1] ?? "", /^Memory .* cap 8%, out of memory 3 times$/);
      assert.match(await page.innerText("#apps li:first-child"), /indexer[^]*BackOff: OOMKilled/);
      await page.fill("#filter", "pending");
      await until(page, `document.querySelectorAll("#apps li").length === 1`);
      assert.equal(await page.innerText("#app-count"), `1 of ${sampleApps.length}`);
      const nameless = `[...document.querySelectorAll("button, input")].filter((element) =>
      !element.innerText && !element.labels?.length).length`;
      assert.equal(await page.evaluate(nameless), 0);
      assert.deepEqual(browser.complaints, []);
    },
  );

  test(
    "many apps are a table that sorts and has a button per phase, and a link shows the same",
    { skip },
    async () => {
      await using node = await serveSampleNode(manySampleApps);
      await using browser = await openPage();
      const { page } = browser;
      await page.goto(node.url);
      const rows = `document.querySelectorAll("#app-table tbody tr").length`;
      const firstRow = `document.querySelector("#app-table tbody tr").innerText`;
      await until(page, `${rows} === ${manySampleApps.length}`);
      assert.equal(await page.title(), "edge-7 · NC-Kubelet");
      assert.match(await page.evaluate<string>(firstRow), /BackOff: OOMKilled/);
      await page.click("#app-table th:nth-child(3) button");
      await until(page, `${firstRow}.includes("camera-39")`);
      assert.equal(await page.getAttribute("#app-table th:nth-child(3)", "aria-sort"), "descending");
      await page.click("#app-table th:nth-child(3) button");
      await until(page, `!${firstRow}.includes("camera-39")`);
      await page.click("#phases >> text=Pending 6");
      await until(page, `${rows} === 6`);
      assert.match(page.url(), /\?find=pending&sort=cpu&reverse=true$/);
      await page.click(`#app-table >> text=new-app-05`);
      await until(page, `document.querySelector("dialog").open`);
      const link = page.url();
      assert.match(link, /\?find=pending.*#default\/new-app-05$/);
      await page.goto("about:blank");
      await page.goto(link);
      await until(page, `document.querySelector("dialog").open && ${rows} === 6`);
      await page.keyboard.press("Escape");
      await page.fill("#filter", "no such app");
      await until(page, `!document.querySelector("#no-match").hidden`);
      assert.match(await page.innerText("#no-match"), /^No app matches “no such app”\./);
      assert.equal(await page.evaluate(`document.querySelector("#no-apps").hidden`), true);
      await page.click("#show-all");
      await until(page, `${rows} === ${manySampleApps.length}`);
      assert.deepEqual(browser.complaints, []);
    },
  );

  test(
    "without apps the page shows the first command, and an agent that is gone leaves it dimmed",
    { skip },
    async () => {
      const limits = { enforced: false, strict: true, message: "no cgroup v2 hierarchy is writable" };
      const node = await serveSampleNode([], { limits });
      await using browser = await openPage();
      const { page } = browser;
      await page.goto(node.url);
      await until(page, `!document.querySelector("#no-apps").hidden`);
      assert.match(await page.innerText("#no-apps"), /nckubelet run/);
      assert.equal(
        await page.innerText("#node summary"),
        "caps are not enforced: no cgroup v2 hierarchy is writable; “nckubelet doctor” on the node says what to do.",
      );
      await node[Symbol.asyncDispose]();
      await until(page, `document.querySelector("#connection").innerText.includes("last seen at")`);
      assert.equal(await page.evaluate(`getComputedStyle(document.querySelector("main")).opacity`), "0.5");
    },
  );

  test(
    "a chart shows the value under the pointer, and no cap where caps are not enforced",
    { skip },
    async () => {
      const caps = `document.querySelectorAll("#apps .cap-line").length`;
      {
        await using node = await serveSampleNode();
        await using browser = await openPage();
        const { page } = browser;
        await page.goto(node.url);
        await until(page, `document.querySelectorAll("#apps li").length === ${sampleApps.length}`);
        assert.ok(await page.evaluate<number>(caps) > 0);
        const caption = `document.querySelector("#node figcaption").innerText`;
        assert.match(await page.evaluate<string>(caption), /^CPU \d+\.\d%$/);
        assert.equal(await page.innerText("#node .top >> nth=0"), "100%");
        await page.hover("#node svg >> nth=0");
        await until(page, `/^CPU \\d+\\.\\d% at \\d\\d:\\d\\d:\\d\\d$/.test(${caption})`);
        await page.hover("h1");
        await until(page, `!${caption}.includes("at")`);
      }
      await using node = await serveSampleNode(sampleApps, {
        limits: { enforced: false, strict: true, message: "no cgroups" },
      });
      await using browser = await openPage();
      const { page } = browser;
      await page.goto(node.url);
      await until(page, `document.querySelectorAll("#apps li").length === ${sampleApps.length}`);
      assert.equal(await page.evaluate(caps), 0);
      assert.equal(await page.evaluate(`document.querySelector("#cap-key").hidden`), true);
    },
  );

  test(
    "the detail has the program, its limits and probes, and its log can be searched and unwrapped",
    { skip },
    async () => {
      using temp = tempFolder();
      const logFile = firstPart(temp.path);
      await writeFile(logFile, `started\nERROR no route ${"x".repeat(500)}\nserved\nanother error\n`);
      const event = {
        type: "Warning" as const,
        reason: "Unhealthy",
        message: "no answer",
        firstTimestamp: "",
      };
      const events = ["default/web", "default/other"].map((app) => (
        { ...event, app, count: 3, lastTimestamp: "2026-01-01T12:00:00Z" }
      ));
      await using node = await serveSampleNode(sampleApps.map((sample) => ({ ...sample, logFile })), {
        events: async function* () {
          yield events;
        },
      });
      await using browser = await openPage();
      const { page } = browser;
      await page.goto(node.url);
      await page.click("text=default/web");
      const log = `document.querySelector("dialog pre").innerText`;
      await until(page, `${log}.includes("served")`);
      const detail = await page.innerText("dialog");
      assert.match(detail, /Arguments\s+--port 8080 "hello world"/);
      assert.match(detail, /CPU limit\s+20% of the node/);
      assert.match(detail, /Process limit\s+200/);
      assert.match(detail, /Readiness\s+GET http:\/\/127\.0\.0\.1:8080\/ready, every 5 s/);
      assert.doesNotMatch(detail, /\d\dT\d\d:/, "times are local");
      const shown =
        `document.querySelector("dialog").innerText.match(/Warning: Unhealthy: no answer \\(3 times\\)/g)`;
      await until(page, `${shown}?.length === 1`);
      await page.fill("dialog input", "error");
      await until(page, `!${log}.includes("served")`);
      assert.deepEqual(
        await page.evaluate(
          `[...document.querySelectorAll("dialog mark")].map(({ innerText }) => innerText)`,
        ),
        ["ERROR", "error"],
      );
      assert.match(await page.innerText("dialog .tools"), /^2 lines/);
      const overflows =
        `document.querySelector("dialog pre").scrollWidth > document.querySelector("dialog pre").clientWidth`;
      assert.equal(await page.evaluate(overflows), false);
      await page.click("dialog >> text=Wrap");
      assert.equal(await page.evaluate(overflows), true);
      await page.fill("dialog input", "");
      await until(page, `${log}.includes("served")`);
      await page.keyboard.press("Escape");
      await until(page, `!document.querySelector("dialog").open`);
      await page.click("text=default/nightly-backup");
      assert.match(await page.innerText("dialog"), /Schedule\s+0 3 \* \* \*, Europe\/Berlin/);
      assert.match(await page.innerText("dialog"), /Next run\s+Jan 2, 2027/);
      assert.deepEqual(browser.complaints, []);
    },
  );

  test("where the agent asks for a token, so does the page", { skip }, async () => {
    using temp = tempFolder();
    const folder = temp.path;
    const [certFile, keyFile] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    await writeFile(certFile, pair.cert);
    await writeFile(keyFile, pair.key);
    const app = createServerApp(listeners.tls, servicesWith());
    const readPair = () => readKeyPair({ certFile, keyFile });
    const listener = await listenWithTLS(app, "127.0.0.1:0", {
      flag: "--listen",
      readPair,
      log: silentLogger,
    });
    {
      await using browser = await openPage({ ignoreHTTPSErrors: true });
      const { page } = browser;
      await page.goto(listener.address);
      await until(page, `!document.querySelector("#token-form").hidden`);
      await page.fill("#token", "good");
      await page.click("#token-form button");
      await until(page, `document.querySelector("#apps li")?.innerText.includes("default/web")`);
      assert.equal(await page.evaluate(`document.querySelector("#token-form").hidden`), true);
    }
    await listener.close();
  });
});
