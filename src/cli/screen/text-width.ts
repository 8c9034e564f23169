/**
 * How many columns of a terminal text takes. Pure.
 *
 * Guarantees: never less than what a terminal uses, so that a line cut to a width fits.
 * Caveat: more for some emoji, whose parts a few terminals join into one.
 */

/** East Asian wide and fullwidth characters (Unicode 16), and emoji. */
const wide =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{16fe0}-\u{18aff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks that stand above or below another character, and characters without a picture. */
const zero = /[\p{Mn}\p{Me}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;
/** Turns the character before it into a wide one. */
const emojiStyle = "\ufe0f";
const narrow = /^[\x20-\x7e]*$/;

export function textWidth(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** Cuts text to a width, with an ellipsis if something is missing. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  return width < 1 ? "" : `${headOf(text, width - 1)}…`;
}

/** Cuts and pads text to exactly this width. */
export function fitText(text: string, width: number, align: "left" | "right" = "left"): string {
  const cut = cutText(text, width);
  const space = " ".repeat(Math.max(0, width - textWidth(cut)));
  return align === "left" ? cut + space : space + cut;
}

/** Returns the text in pieces of at most this width; a character that is wider than that becomes an ellipsis. */
export function wrapText(text: string, width: number): string[] {
  const pieces: string[] = [];
  let rest = text;
  while (textWidth(rest) > width) {
    const head = headOf(rest, width);
    pieces.push(head || "…");
    rest = rest.slice(head.length || String.fromCodePoint(rest.codePointAt(0)!).length);
  }
  return [...pieces, ...(rest === "" && pieces.length > 0 ? [] : [rest])];
}

function headOf(text: string, width: number): string {
  let [used, end] = [0, 0];
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function widthOf(character: string): number {
  if (character === emojiStyle) return 1;
  return zero.test(character) ? 0 : wide.test(character) ? 2 : 1;
}
