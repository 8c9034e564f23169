/**
 * The token for clients on loopback, which every user of the machine can reach. It is new with every start of the agent: a process that
 * takes the port while the agent restarts learns at most the old one.
 */
import { randomBytes } from "node:crypto";
import { writeFileAtomic } from "../../lib/files.ts";
import { describeError, type Logger } from "../../lib/log.ts";
import type { Authorize } from "../app.ts";
import { digest, isOneOf } from "./token-digest.ts";

/** Makes a token and writes it to a file that only the agent's user and its group can read; on a full disk it works without the file. */
export async function createLocalToken(
  path: string,
  log: Logger,
): Promise<{ token: string; authorize: Authorize }> {
  const token = randomBytes(32).toString("base64url");
  await writeFileAtomic(path, `${token}\n`, { mode: 0o640 }).catch((error) =>
    log.warn("cannot write the token for loopback; 'nckubelet dashboard' prints it", {
      why: describeError(error),
    })
  );
  const digests = [digest(token)];
  return { token, authorize: async (given) => isOneOf(given, digests) ? "allowed" : "unknown" };
}
