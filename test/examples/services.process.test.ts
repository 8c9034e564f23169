/**
 * The manifests of examples/services with Debian's packages, where they are installed: each service on its own folders and ports, so that
 * those of the machine are left alone.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { chmod, chown, cp, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { startTestAgent, type TestAgent } from "../cli/test-agent.ts";
import { freePort } from "../harness/free-port.ts";
import { waitFor } from "../wait-for.ts";

const examples = fileURLToPath(new URL("../../examples/services/", import.meta.url));
const postgres = "/usr/lib/postgresql/15/bin";

/** What keeps a service from being tested here; false for nothing. */
function skipWithout(packageName: string, ...programs: string[]): string | false {
  if (process.getuid?.() !== 0) return "needs root, to run services as their users";
  return programs.every((path) => existsSync(path)) ? false : `needs Debian's package ${packageName}`;
}

/** Returns the ids of a user, as in `id -u` and `id -g`. */
function idsOf(user: string): [uid: number, gid: number] {
  const [uid = 0, gid = 0] = ["-u", "-g"].map((flag) => Number(execFileSync("id", [flag, user])));
  return [uid, gid];
}

/** Makes a folder of a user below the agent's. */
async function folderOf(agent: TestAgent, name: string, user: string): Promise<string> {
  await chmod(agent.folder, 0o755);
  const path = join(agent.folder, name);
  await mkdir(path);
  await chown(path, ...idsOf(user));
  return path;
}

/** Applies a manifest of the examples with other folders and ports, each of which it must have, and waits until its app is ready. */
async function applyExample(agent: TestAgent, name: string, replacements: [before: string, after: string][]) {
  const text = replacements.reduce((text, [before, after]) => {
    assert.ok(text.includes(before), `${name}.yaml has no ${before}`);
    return text.replaceAll(before, after);
  }, await readFile(join(examples, `${name}.yaml`), "utf8"));
  const file = join(agent.folder, `${name}.yaml`);
  await writeFile(file, text);
  const { code, stderr } = await agent.command("apply", "-f", file, "--wait", "--timeout", "120s");
  assert.equal(code, 0, stderr + (await agent.command("describe", name)).stdout);
}

const statusOf = async (agent: TestAgent, name: string) =>
  JSON.parse((await agent.command("ps", name, "-o", "json")).stdout).items[0].status;
const bodyOf = async (port: number) => await (await fetch(`http://127.0.0.1:${port}/`)).text();
const logged = (agent: TestAgent, name: string, text: string) =>
  waitFor(`${name} logs ${text}`, async () => (await agent.command("logs", name)).stdout.includes(text));

test(
  "nginx serves, reloads its configuration without an end, and SIGQUIT stops it",
  { skip: skipWithout("nginx", "/usr/sbin/nginx") },
  async () => {
    await using agent = await startTestAgent();
    const [folder, port] = [await folderOf(agent, "nginx", "www-data"), await freePort()];
    const config = join(folder, "nginx.conf");
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
      .map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
    const configure = (answer: string) =>
      writeFile(
        config,
        `pid ${folder}/nginx.pid; error_log stderr; events {}\n` +
          `http { access_log off; ${paths} server { listen 127.0.0.1:${port}; return 200 "${answer}"; } }\n`,
      );
    await configure("one");
    await applyExample(agent, "nginx", [["/etc/nginx/nginx.conf", config], ["port: 80 ", `port: ${port} `]]);
    assert.equal(await bodyOf(port), "one");
    const { pid } = await statusOf(agent, "nginx");
    await configure("two");
    assert.equal((await agent.command("reload", "nginx")).code, 0);
    await waitFor("the new configuration", async () => await bodyOf(port) === "two");
    assert.equal((await statusOf(agent, "nginx")).pid, pid);
    assert.equal((await agent.command("stop", "nginx")).code, 0);
    assert.equal((await statusOf(agent, "nginx")).lastExit.code, 0);
  },
);

test(
  "redis keeps what was stored through a stop",
  { skip: skipWithout("redis-server", "/usr/bin/redis-server", "/usr/bin/redis-cli") },
  async () => {
    await using agent = await startTestAgent();
    const [folder, port] = [await folderOf(agent, "redis", "redis"), await freePort()];
    await applyExample(agent, "redis", [["/var/lib/redis", folder], ["6379", String(port)]]);
    const ask = (...words: string[]) =>
      execFileSync("/usr/bin/redis-cli", ["-p", String(port), ...words], { encoding: "utf8" }).trim();
    assert.equal(ask("set", "key", "kept"), "OK");
    await agent.command("stop", "redis");
    await agent.command("start", "redis");
    await waitFor("redis is ready", async () => (await statusOf(agent, "redis")).ready === true);
    assert.equal(ask("get", "key"), "kept");
  },
);

test(
  "PostgreSQL reloads, is saved by the schedule's run, and shuts down cleanly in spite of an open session",
  { skip: skipWithout("postgresql-15", `${postgres}/postgres`, "/usr/bin/pg_dumpall") },
  async () => {
    await using agent = await startTestAgent();
    const [folder, port] = [await folderOf(agent, "pg", "postgres"), await freePort()];
    const data = join(folder, "data");
    const [uid, gid] = idsOf("postgres");
    const asPostgres = {
      uid,
      gid,
      cwd: folder,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
    } as const;
    execFileSync(`${postgres}/initdb`, ["-D", data, "-A", "trust", "-N"], { ...asPostgres, stdio: "ignore" });
    await writeFile(
      join(data, "own.conf"),
      `port = ${port}\nunix_socket_directories = '${folder}'\nlisten_addresses = '127.0.0.1'\n`,
    );
    await chown(join(data, "own.conf"), uid, gid);
    await applyExample(agent, "postgresql", [
      ["/etc/postgresql/15/main/postgresql.conf", join(data, "own.conf")],
      ["/var/lib/postgresql/15/main", data],
      ["/var/run/postgresql", folder],
      ["5432", String(port)],
    ]);
    assert.equal((await agent.command("reload", "postgresql")).code, 0);
    await logged(agent, "postgresql", "received SIGHUP, reloading configuration files");

    const [script, dumps] = [join(agent.folder, "pg-dump.sh"), join(folder, "dumps")];
    await cp(join(examples, "pg-dump.sh"), script);
    const variables = join(agent.folder, "pg-dump.env");
    await writeFile(variables, `# the port of this test\nPGPORT="${port}"\n`);
    await applyExample(agent, "pg-dump", [
      ["/var/backups/postgresql", dumps],
      ["-/etc/default/pg-dump", `-${variables}`],
      ["/var/run/postgresql", folder],
    ]);
    const dumped = await agent.command("trigger", "--wait", "pg-dump");
    assert.equal(dumped.code, 0, dumped.stderr + (await agent.command("logs", "pg-dump")).stdout);
    assert.match((await readdir(dumps)).join(), /^all-\d{8}T\d{6}\.sql\.gz$/);

    const query = ["-h", folder, "-p", String(port), "-c", "select pg_sleep(600)"];
    const session = spawn("/usr/bin/psql", query, { ...asPostgres, stdio: "ignore" });
    await waitFor("the session is open", () => {
      const count = [
        "-h",
        folder,
        "-p",
        String(port),
        "-Atc",
        "select count(*) from pg_stat_activity where query like '%pg_sleep%'",
      ];
      return Number(execFileSync("/usr/bin/psql", count, asPostgres)) > 1;
    });
    assert.equal((await agent.command("stop", "postgresql")).code, 0);
    session.kill();
    await logged(agent, "postgresql", "database system is shut down");
    assert.match(
      execFileSync(`${postgres}/pg_controldata`, [data], asPostgres),
      /cluster state: +shut down\n/,
    );
    assert.equal((await statusOf(agent, "postgresql")).lastExit.code, 0);
  },
);

test(
  "Tomcat is the daemon that its script leaves; killed it has failed, and runs again; its own script stops it",
  { skip: skipWithout("tomcat10", "/usr/share/tomcat10/bin/startup.sh") },
  async () => {
    await using agent = await startTestAgent();
    const base = await folderOf(agent, "tomcat", "tomcat");
    const [port, stopPort] = [await freePort(), await freePort()];
    for (const name of ["logs", "temp", "work", "webapps"]) await folderOf(agent, `tomcat/${name}`, "tomcat");
    await cp("/etc/tomcat10", join(base, "conf"), { recursive: true });
    const server = join(base, "conf/server.xml");
    const own = (await readFile(server, "utf8"))
      .replace(/<Server port="-?\d+"/, `<Server port="${stopPort}"`)
      .replace('<Connector port="8080"', `<Connector address="127.0.0.1" port="${port}"`);
    await writeFile(server, own);
    execFileSync("chown", ["-R", "tomcat:tomcat", base]);
    await applyExample(agent, "tomcat", [
      ["/var/lib/tomcat10", base],
      ["port: 8080", `port: ${port}`],
      ["restartPolicy: OnFailure", "restartPolicy: OnFailure\n  backoffSeconds: 0"],
    ]);
    const { pid } = await statusOf(agent, "tomcat");
    process.kill(pid, "SIGKILL");
    await waitFor("it runs again", async () => {
      const status = await statusOf(agent, "tomcat");
      return status.ready && status.restarts === 1 && status.pid !== pid;
    }, 120_000);
    const { lastExit } = await statusOf(agent, "tomcat");
    assert.deepEqual([lastExit.code, lastExit.signal, lastExit.reason], [137, "SIGKILL", "Error"]);
    assert.equal((await agent.command("stop", "tomcat")).code, 0);
    const after = await statusOf(agent, "tomcat");
    assert.equal(after.lastExit.code, 0);
    assert.doesNotMatch((await agent.command("events", "tomcat")).stdout, /StopFileFailed/);
  },
);

test(
  "gunicorn loads a new application when it is reloaded, and goes on",
  { skip: skipWithout("gunicorn", "/usr/bin/gunicorn") },
  async () => {
    await using agent = await startTestAgent();
    const [folder, port] = [await folderOf(agent, "gunicorn", "www-data"), await freePort()];
    const code = await readFile(join(examples, "gunicorn/app.py"), "utf8");
    await writeFile(join(folder, "app.py"), code);
    await applyExample(agent, "gunicorn", [["8000", String(port)]]);
    assert.equal(await bodyOf(port), "hello from gunicorn\n");
    const { pid } = await statusOf(agent, "gunicorn");
    await writeFile(join(folder, "app.py"), code.replace("hello", "news"));
    assert.equal((await agent.command("reload", "gunicorn")).code, 0);
    await waitFor("the new application", async () => await bodyOf(port) === "news from gunicorn\n");
    assert.equal((await statusOf(agent, "gunicorn")).pid, pid);
  },
);
