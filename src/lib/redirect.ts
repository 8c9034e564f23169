/**
 * Where a redirect may lead. Pure.
 *
 * Guarantees: https stays https, and no other scheme is ever followed; a row of redirects ends; user and password of a URL are
 * told to no other origin; messages show no URL with user, password or query.
 */

/** A redirect that is not followed. */
export interface RedirectRefusal {
  /** `broken`: the server does not say where to; `forbidden`: it does, and must not be followed. */
  kind: "broken" | "forbidden";
  message: string;
}

export const maxRedirects = 5;

/** The URL to ask next. `followed` counts the redirects before this one. */
export function followRedirect(
  url: URL,
  location: string | undefined,
  followed: number,
  max: number = maxRedirects,
): URL | RedirectRefusal {
  const next = location ? URL.parse(location, url) : null;
  if (!next) return { kind: "broken", message: "a redirect that says not where to" };
  if (next.protocol !== url.protocol) {
    const target = JSON.stringify(withoutSecrets(next).slice(0, longestShown));
    return { kind: "forbidden", message: `redirects to ${target}: another scheme is never followed` };
  }
  if (followed >= max) return { kind: "forbidden", message: `more than ${max} redirects` };
  // What the user gave for one server is not told to another.
  if (next.origin === url.origin && !next.username) {
    [next.username, next.password] = [url.username, url.password];
  }
  return next;
}

/** A URL without user, password, query and fragment, which may be secrets: they are for the server only. */
export function withoutSecrets(url: URL): string {
  const shown = new URL(url);
  [shown.username, shown.password, shown.search, shown.hash] = ["", "", "", ""];
  return shown.href;
}

/** Enough of an address to know it by. */
const longestShown = 200;
