/** Returns the known name that the user probably meant, or undefined if none is close. */
export function closest(name: string, known: readonly string[]): string | undefined {
  const wanted = name.toLowerCase();
  const [nearest] = known
    .map((candidate) => ({ candidate, distance: editDistance(wanted, candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const isNear = nearest && nearest.distance <= Math.max(1, Math.floor(nearest.candidate.length / 3));
  return isNear ? nearest.candidate : undefined;
}

// Levenshtein distance with swaps of neighboring characters, row by row. No known name has more than 64 characters.
function editDistance(a: string, b: string): number {
  if (a.length > 64) return Infinity;
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Infinity;
      next.push(Math.min(replaced, swapped, row[j]! + 1, next[j - 1]! + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
