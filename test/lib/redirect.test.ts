import assert from "node:assert/strict";
import { test } from "node:test";
import { followRedirect, withoutSecrets } from "../../src/lib/redirect.ts";

const page = new URL("https://me:secret@example.com/dir/apps.yaml?token=secret");
const follow = (location: string | undefined, from = page, followed = 0) => {
  const next = followRedirect(from, location, followed);
  return next instanceof URL ? next.href : next;
};

test("a redirect within an origin keeps user and password, one to another origin does not", () => {
  assert.equal(follow("other.yaml"), "https://me:secret@example.com/dir/other.yaml");
  assert.equal(follow("https://example.com:443/x?y"), "https://me:secret@example.com/x?y");
  for (
    const elsewhere of [
      "https://example.com:444/b",
      "https://www.example.com/b",
      "https://example.com.evil/b",
    ]
  ) {
    assert.equal(follow(elsewhere), elsewhere);
  }
});

test("a redirect to another scheme is refused, and the message shows no secrets", () => {
  assert.deepEqual(follow("http://me:secret@example.com/x?token=secret#secret"), {
    kind: "forbidden",
    message: 'redirects to "http://example.com/x": a redirect must not change the scheme',
  });
  const plain = new URL("http://example.com/");
  for (const location of ["https://example.com/", "file:///etc/passwd", "data:,x"]) {
    assert.match(JSON.stringify(follow(location, plain)), /a redirect must not change the scheme/, location);
  }
  assert.ok(JSON.stringify(follow(`ftp://example.com/${"x".repeat(9000)}`)).length < 400);
});

test("a sixth redirect is refused, and one without a valid Location is broken", () => {
  assert.equal(typeof follow("/x", page, 4), "string");
  assert.deepEqual(follow("/x", page, 5), { kind: "forbidden", message: "more than 5 redirects" });
  for (const location of [undefined, "", "https://["]) {
    assert.deepEqual(follow(location), { kind: "broken", message: "redirect without a valid Location" });
  }
});

test("withoutSecrets() leaves scheme, host, port and path", () => {
  assert.equal(withoutSecrets(page), "https://example.com/dir/apps.yaml");
  assert.equal(withoutSecrets(new URL("http://u@127.0.0.1:8080?a#b")), "http://127.0.0.1:8080/");
});
