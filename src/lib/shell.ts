/** What every command line of the program shares. */

/** The PATH of programs that the agent starts: the agent's own never gets to them. */
export const cleanPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Quotes any text for a POSIX shell. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
