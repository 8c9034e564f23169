import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { validateWritten } from "../../src/api/validate/validate.ts";
import { checkout } from "../harness/parts.ts";

const pages = ["*.md", "crd/*.md", "examples/*.md", "docs/**/*.md"].flatMap((glob) =>
  globSync(glob, { cwd: checkout })
);

test("every file named in the map and the recipes exists", () => {
  for (const page of ["docs/architecture.md", "CONTRIBUTING.md"]) {
    const text = readFileSync(join(checkout, page), "utf8");
    const paths = [...text.matchAll(/`([\w-]+(?:\/[\w.-]+)+\.ts)`/g)].map(([, path]) => path!)
      .filter((path) => !path.includes("NAME"));
    assert.ok(paths.length > 20, `${page} names ${paths.length} files`);
    const missing = paths.filter((path) =>
      !["", "src"].some((base) => existsSync(join(checkout, base, path)))
    );
    assert.deepEqual(missing, [], page);
  }
});

test("every link to a heading leads to one", () => {
  const anchors = (page: string) =>
    new Set(
      [...readFileSync(join(checkout, page), "utf8").matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
        title!.toLowerCase().replaceAll(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-")
      ),
    );
  for (const page of pages) {
    const text = readFileSync(join(checkout, page), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*\.md)?#([^)\s]+)\)/g)];
    const lost = links.filter(([, file, anchor]) =>
      !anchors(file ? join(dirname(page), file) : page).has(anchor!)
    );
    assert.deepEqual(lost.map(([link]) => link), [], page);
  }
});

test("every NCApp on a page is valid", () => {
  for (const page of pages) {
    const text = readFileSync(join(checkout, page), "utf8");
    const manifests = [
      ...text.matchAll(/^```yaml\n(apiVersion: app\.example\.com\S*\nkind: NCApp\n[^]*?)^```/gm),
    ];
    for (const [, manifest] of manifests) assert.deepEqual(validateWritten(load(manifest!)), [], page);
  }
});

test("every relative link of a page leads to a file", () => {
  for (const page of pages) {
    const text = readFileSync(join(checkout, page), "utf8");
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)].map(([, link]) => link!);
    assert.deepEqual(links.filter((link) => !existsSync(join(checkout, dirname(page), link))), [], page);
  }
});
