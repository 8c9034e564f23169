import { once } from "node:events";
import { createServer } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "../fault.ts";

/** Another process takes the agent's port while the agent restarts, and later lets it go. */
export const portTaken: Fault = {
  name: "port taken",
  weight: 1,
  async run({ world }, random, tell) {
    const { agent, url } = random.pick(world.nodes);
    const ms = random.integer(2000, 9000);
    tell(`kill -9 ${agent.name}; its port is taken for ${ms} ms`);
    const server = createServer((socket) => socket.destroy());
    await agent.kill(async () => {
      server.listen({ host: "127.0.0.1", port: Number(new URL(url).port) });
      await once(server, "listening");
    });
    await pause(ms);
    server.close();
  },
};
