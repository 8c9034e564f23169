/** The longest message of an event: newer event APIs take no more. */
const maxLength = 1024;

/**
 * A text that may be shown to all who can read events: what addresses carry beside host and path (passwords, signed queries) is
 * cut out, control characters become spaces, and the rest is of bounded length.
 */
export function safeMessage(text: string): string {
  const clean = text
    .replace(/\b([a-z][a-z0-9+]{0,15}:\/\/)[^\s/?#@]*@/gi, "$1…@")
    // What follows a longer path is cut off below; without a bound, a text of many addresses takes the square of its length.
    .replace(/\b([a-z][a-z0-9+]{0,15}:\/\/[^\s?#]{0,1024})[?#][^\s"')]*?(?=[:,.;]?(?:[\s"')]|$))/gi, "$1?…")
    // Line ends stay: the last lines of a log are several.
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, " ");
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength - 1)}…`;
}
