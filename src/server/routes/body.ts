import { Buffer } from "node:buffer";
import type { Context } from "hono";
import { Refusal } from "../refusal.ts";

/** The longest body that is read, in bytes. */
export const maxBodyBytes = 1 << 20;

/** The JSON of a request's body. A longer one is not read to its end, another kind not at all. */
export async function readJSON({ req }: Context): Promise<unknown> {
  const type = req.header("content-type")?.split(";")[0]?.trim().toLowerCase();
  if (type !== "application/json") {
    throw new Refusal(415, `content-type ${JSON.stringify(type ?? "")}: send application/json`);
  }
  const bytes = await readBytes(req.raw, req.header("content-length"));
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    throw new Refusal(400, `the body is not JSON: ${(error as Error).message}`);
  }
}

async function readBytes(request: Request, announced: string | undefined): Promise<Uint8Array> {
  if (Number(announced ?? 0) > maxBodyBytes) throw tooLong(`${announced} bytes`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > maxBodyBytes) throw tooLong("the body");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLong(what: string): Refusal {
  return new Refusal(413, `${what} is more than the ${maxBodyBytes} bytes that are read`);
}
