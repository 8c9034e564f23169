import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * A server like Tomcat: `bin/startup.sh` resolves links to find its home and calls `bin/catalina.sh`, which starts the server in the
 * background with a pid file; `bin/shutdown.sh` asks the server to stop and waits for its end.
 */
export async function installCatalina(folder: string, lineEnd = "\n"): Promise<string> {
  const home = join(folder, "apache catalina 9");
  const write = (name: string, lines: string[]) =>
    writeFile(join(home, "bin", name), lines.join(lineEnd) + lineEnd, { mode: 0o755 });
  await mkdir(join(home, "bin"), { recursive: true });
  await mkdir(join(home, "logs"));
  const findHome = [
    'PRG="$0"',
    'while [ -h "$PRG" ]; do',
    '  link=$(readlink "$PRG")',
    '  case $link in /*) PRG="$link" ;; *) PRG=$(dirname "$PRG")/"$link" ;; esac',
    "done",
    'CATALINA_HOME=$(cd "$(dirname "$PRG")/.." && pwd) || exit 1',
    "export CATALINA_HOME",
  ];
  await write("startup.sh", [
    "#!/bin/sh",
    ...findHome,
    'exec sh "$CATALINA_HOME/bin/catalina.sh" start "$@"',
  ]);
  await write("shutdown.sh", [
    "#!/bin/sh",
    ...findHome,
    'exec sh "$CATALINA_HOME/bin/catalina.sh" stop "$@"',
  ]);
  await writeFile(
    join(home, "bin/catalina.sh"),
    `pid_file=$CATALINA_HOME/logs/catalina.pid
case $1 in
start)
  if [ -s "$pid_file" ] && kill -0 "$(cat "$pid_file")" 2>/dev/null; then echo already running; exit 1; fi
  nohup setsid sh "$CATALINA_HOME/bin/server.sh" >>"$CATALINA_HOME/logs/catalina.out" 2>&1 </dev/null &
  echo $! >"$pid_file"
  echo Tomcat started. ;;
stop)
  pid=$(cat "$pid_file") || { echo no pid file; exit 1; }
  touch "$CATALINA_HOME/logs/shutdown-asked"
  n=0
  while kill -0 "$pid" 2>/dev/null && [ $n -lt 200 ]; do n=$((n + 1)); sleep 0.05; done
  rm -f "$pid_file"
  echo Tomcat stopped. ;;
esac
`,
  );
  await writeFile(
    join(home, "bin/server.sh"),
    `trap 'echo killed by a signal >>"$CATALINA_HOME/logs/ending"; exit 143' TERM
while [ ! -e "$CATALINA_HOME/logs/shutdown-asked" ]; do sleep 0.05; done
echo ended in good order >>"$CATALINA_HOME/logs/ending"
`,
  );
  return home;
}
