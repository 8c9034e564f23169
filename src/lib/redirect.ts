/**
 * Decides whether to follow a redirect. Pure.
 *
 * Guarantees: the scheme never changes, so https stays https; a chain of redirects ends; user and password of a URL are sent
 * to no other origin; messages show no user, password or query of a URL.
 */

export interface RedirectRefusal {
  /** `broken`: the Location is missing or invalid; `forbidden`: it must not be followed. */
  kind: "broken" | "forbidden";
  message: string;
}

export const maxRedirects = 5;

/** Returns the URL to request next. `followed` counts the redirects before this one. */
export function followRedirect(
  url: URL,
  location: string | undefined,
  followed: number,
  max: number = maxRedirects,
): URL | RedirectRefusal {
  const next = location ? URL.parse(location, url) : null;
  if (!next) return { kind: "broken", message: "redirect without a valid Location" };
  if (next.protocol !== url.protocol) {
    const target = JSON.stringify(withoutSecrets(next).slice(0, longestShown));
    return { kind: "forbidden", message: `redirects to ${target}: a redirect must not change the scheme` };
  }
  if (followed >= max) return { kind: "forbidden", message: `more than ${max} redirects` };
  // Credentials for one server are not sent to another.
  if (next.origin === url.origin && !next.username) {
    [next.username, next.password] = [url.username, url.password];
  }
  return next;
}

/** Returns a URL without user, password, query and fragment: they may be secrets. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  [shown.username, shown.password, shown.search, shown.hash] = ["", "", "", ""];
  return shown.href;
}

/** Enough of a URL to recognize it. */
const longestShown = 200;
