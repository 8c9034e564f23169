import assert from "node:assert/strict";

/** Reads a stream piece by piece. */
export function readerOf(answer: Response) {
  const reader = answer.body!.getReader();
  let text = "";
  return {
    async until(end: string) {
      while (!text.endsWith(end)) {
        const { value, done } = await reader.read();
        assert.ok(!done, `the stream ended with ${JSON.stringify(text)}`);
        text += new TextDecoder().decode(value);
      }
      return text;
    },
    /** Reads until there are `count` lines. */
    async lines(count: number) {
      while (text.split("\n").length <= count) {
        const { value, done } = await reader.read();
        assert.ok(!done, `the stream ended with ${JSON.stringify(text)}`);
        text += new TextDecoder().decode(value);
      }
      return text;
    },
    async rest() {
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return text;
        text += new TextDecoder().decode(value);
      }
    },
    cancel: () => reader.cancel(),
  };
}
