/** Shared by all command lines that the program builds. */

/** The PATH of programs that the agent starts. The agent's own PATH is not passed on. */
export const cleanPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Quotes any text for a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
