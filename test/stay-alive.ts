/** Keeps the process alive until the end of the block, for tests whose promises no file, socket or timer will settle. */
export function stayAlive(): Disposable {
  const timer = setInterval(() => {}, 60_000);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
