import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { nodeAddresses } from "../../src/node/addresses.ts";
import { goArchitecture, type OperatingSystem, prettyName, readNodeFacts } from "../../src/node/facts.ts";
import { tempFolder } from "../temp-folder.ts";

const v4 = (address: string, internal = false) => ({ address, family: "IPv4", internal }) as const;
const v6 = (address: string, internal = false) => ({ address, family: "IPv6", internal }) as const;
const route = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
wlan0	00000000	0102A8C0	0003	0	0	600	00000000	0	0	0
eth0	00000000	010200C0	0003	0	0	100	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	100	00FFFFFF	0	0	0
`;
const ipv6Route =
  `fd000000000000000000000000000000 40 00000000000000000000000000000000 00 00000000000000000000000000000000 00000100 00000001 00000000 00000001     eth0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 fd000000000000000000000000000001 00000400 00000002 00000000 00000003     wlan0
00000000000000000000000000000000 00 00000000000000000000000000000000 00 00000000000000000000000000000000 ffffffff 00000001 00000000 00200200       lo
`;

const os: OperatingSystem = {
  hostname: () => "Edge-7",
  cpus: () => Array(3).fill({}) as ReturnType<OperatingSystem["cpus"]>,
  totalmem: () => 4096,
  release: () => "6.1.0-9",
  arch: () => "x64",
  networkInterfaces: () => ({ eth0: [v4("192.0.2.5")] }),
};

async function withRoot(files: Record<string, string>, use: (root: string) => Promise<void>) {
  using temp = tempFolder();
  const root = temp.path;
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  await use(root);
}

test("readNodeFacts() describes the machine", async () => {
  const files = {
    "etc/os-release": 'NAME="Debian GNU/Linux"\nPRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\n',
    "etc/machine-id": "abc\n",
    "sys/class/dmi/id/product_uuid": "4C4C-4544\n",
    "proc/sys/kernel/random/boot_id": "b007\n",
  };
  await withRoot(files, async (root) => {
    assert.deepEqual(await readNodeFacts({ root, os }), {
      hostname: "edge-7",
      cpus: 3,
      memoryBytes: 4096,
      architecture: "amd64",
      operatingSystem: "linux",
      kernelVersion: "6.1.0-9",
      osImage: "Debian GNU/Linux 12 (bookworm)",
      machineID: "abc",
      systemUUID: "4C4C-4544",
      bootID: "b007",
      addresses: ["192.0.2.5"],
    });
  });
});

test("readNodeFacts() works without what a small machine lacks", async () => {
  await withRoot(
    { "usr/lib/os-release": "NAME=Buildroot", "var/lib/dbus/machine-id": "dbus" },
    async (root) => {
      const { osImage, machineID, systemUUID, bootID } = await readNodeFacts({ root, os });
      assert.deepEqual({ osImage, machineID, systemUUID, bootID }, {
        osImage: "Buildroot",
        machineID: "dbus",
        systemUUID: "dbus",
        bootID: "",
      });
    },
  );
});

test("readNodeFacts() reads this machine", async () => {
  const { cpus, memoryBytes, kernelVersion, bootID } = await readNodeFacts();
  assert.ok(cpus >= 1 && memoryBytes > 1 << 20);
  assert.match(kernelVersion, /^\d+\.\d+/);
  assert.match(bootID, /^[0-9a-f-]{36}$/);
});

test("prettyName() reads the name with or without quotes", () => {
  assert.equal(prettyName("PRETTY_NAME='Alpine Linux v3.20'\n"), "Alpine Linux v3.20");
  assert.equal(prettyName("ID=arch\nPRETTY_NAME=Arch\n"), "Arch");
  assert.equal(prettyName(""), "");
});

test("goArchitecture() uses the names of Kubernetes", () => {
  assert.deepEqual(["x64", "arm64", "arm", "ia32", "riscv64", "s390x"].map(goArchitecture), [
    ...["amd64", "arm64", "arm", "386", "riscv64", "s390x"],
  ]);
});

test("nodeAddresses() uses the device of the best default route, for each family separately", () => {
  const interfaces = {
    docker0: [v4("172.17.0.1")],
    eth0: [v4("192.0.2.5"), v6("fe80::1"), v6("2001:db8::5")],
    lo: [v4("127.0.0.1", true), v6("::1", true)],
    wlan0: [v4("192.168.2.9"), v6("2001:db8::9")],
  };
  assert.deepEqual(nodeAddresses(interfaces, route, ipv6Route), ["192.0.2.5", "2001:db8::9"]);
});

test("nodeAddresses() works without a default route, and returns none if there are none", () => {
  assert.deepEqual(nodeAddresses({ b: [v4("192.0.2.2")], a: [v4("169.254.1.1"), v4("192.0.2.1")] }, "", ""), [
    "192.0.2.1",
  ]);
  assert.deepEqual(
    nodeAddresses({ lo: [v4("127.0.0.1", true)], eth0: [v6("fe80::5")] }, route, ipv6Route),
    [],
  );
});
