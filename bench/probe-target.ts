/**
 * A target for probes, in a separate process so that its cost does not count as the agent's: HTTP on one port, plain TCP on
 * another, and a counter. `node bench/probe-target.ts` prints both ports.
 */
import { createServer as createHTTP } from "node:http";
import { type AddressInfo, createServer } from "node:net";

let [http, tcp] = [0, 0];
const web = createHTTP((request, response) => {
  if (request.url === "/counts") return void response.end(JSON.stringify({ http, tcp }));
  http++;
  response.end("ok");
});
const plain = createServer((socket) => {
  tcp++;
  socket.on("error", () => {}).end();
});
const listen = (server: typeof web | typeof plain) =>
  new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", 1024, () => resolve((server.address() as AddressInfo).port))
  );
console.log(JSON.stringify({ http: await listen(web), tcp: await listen(plain) }));
