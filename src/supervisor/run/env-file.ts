/**
 * Reads `spec.envFile` with the rights of the app's user: no app gets variables from a file that its user may not read.
 */
import { Buffer } from "node:buffer";
import { parseEnvFile } from "../../api/env-file.ts";
import { errorCode } from "../../lib/files.ts";
import type { UserFiles } from "../launcher/launcher.ts";
import { StartError } from "../types.ts";

/** More than execve accepts of all variables has no use. */
const maxBytes = 1 << 20;

export interface EnvFileDeps {
  user: string;
  files: UserFiles;
  /** Called with the lines that are no assignments: systemd skips them, too. */
  onSkipped: (where: string) => void;
}

/** Returns the variables of the file; none for a missing file whose path has a leading "-". */
export async function readEnvFile(
  envFile: string,
  { user, files, onSkipped }: EnvFileDeps,
): Promise<[name: string, value: string][]> {
  const [, optional, path = ""] = /^(-?)(.*)$/s.exec(envFile) ?? [];
  const label = `spec.envFile: ${JSON.stringify(path)}`;
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    await files.read(path, { user, label }, (chunk) => {
      length += chunk.length;
      if (length > maxBytes) throw new Error(`${label}: exceeds the limit of ${maxBytes} bytes`);
      chunks.push(chunk);
    });
    const { variables, others } = parseEnvFile(Buffer.concat(chunks).toString("utf8"));
    if (others.length > 0) onSkipped(`${label}: ${describeLines(others)}`);
    return variables;
  } catch (cause) {
    const code = errorCode(cause);
    if (optional && code === "ENOENT") return [];
    throw new StartError("InvalidEnvironment", problemOf(label, cause as Error, code), { cause });
  }
}

const meanings: Record<string, string | undefined> = {
  ENOENT: "no such file on this node",
  EACCES: "the user of the app may not read it",
  EISDIR: "is a folder, not a file",
};

function problemOf(label: string, { message }: Error, code: string): string {
  const meaning = meanings[code];
  if (meaning) return `${label}: ${meaning}`;
  return message.startsWith(label) ? message : `${label}: ${message}`;
}

const namedLines = 5;

function describeLines(others: { line: number }[]): string {
  const shown = others.slice(0, namedLines).map(({ line }) => line).join(", ");
  return `line ${shown}${others.length > namedLines ? ` and ${others.length - namedLines} more` : ""}`;
}
