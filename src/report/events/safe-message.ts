/** The longest message of an event: newer event APIs accept no more. */
const maxLength = 1024;

/**
 * Makes a text safe for everyone who can read events: removes passwords and queries from URLs, replaces control characters
 * with spaces, and limits the length.
 */
export function safeMessage(text: string): string {
  const clean = text
    .replace(/\b([a-z][a-z0-9+]{0,15}:\/\/)[^\s/?#@]*@/gi, "$1…@")
    // A longer path is cut off below. Without the bound, a text with many URLs takes quadratic time.
    .replace(/\b([a-z][a-z0-9+]{0,15}:\/\/[^\s?#]{0,1024})[?#][^\s"')]*?(?=[:,.;]?(?:[\s"')]|$))/gi, "$1?…")
    // Newlines stay: the last lines of a log are more than one.
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, " ");
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength - 1)}…`;
}
