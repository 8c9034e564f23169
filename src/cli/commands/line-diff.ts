/** The lines that differ between two texts, as `diff -u` marks them: with `-` and `+`, and some equal lines around them. Pure. */
export function diffLines(before: string[], after: string[], { context = 3 } = {}): string[] {
  const all = marked(before, after);
  const isNear = all.map((_, index) =>
    all.slice(Math.max(0, index - context), index + context + 1).some(([mark]) => mark !== " ")
  );
  return all.flatMap(([mark, line], index) => {
    if (isNear[index]) return [mark + line];
    return isNear[index - 1] ? ["…"] : [];
  });
}

type Marked = [mark: " " | "-" | "+", line: string];

// Beyond this, a table of all pairs of lines takes too long: everything is taken as changed.
const maxPairs = 4_000_000;

/** All lines of both texts: a longest common subsequence keeps its order, the others are removed or added. */
function marked(before: string[], after: string[]): Marked[] {
  if (before.length * after.length > maxPairs) {
    return [...before.map((line): Marked => ["-", line]), ...after.map((line): Marked => ["+", line])];
  }
  // common[i][j]: the length of the longest common subsequence of the texts from their lines i and j on.
  const common = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i]![j] = before[i] === after[j]
        ? common[i + 1]![j + 1]! + 1
        : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const result: Marked[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      result.push([" ", before[i++]!]);
      j++;
    } else if (j === after.length || i < before.length && common[i + 1]![j]! >= common[i]![j + 1]!) {
      result.push(["-", before[i++]!]);
    } else result.push(["+", after[j++]!]);
  }
  return result;
}
