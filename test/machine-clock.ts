export interface MachineClock extends Disposable {
  setBack(ms: number): void;
}

/** Lets a test set the machine's clock, as its process sees it. To be taken before what is tested; clocks that are never set go on. */
export function takeMachineClock(): MachineClock {
  const real = Date.now;
  let behind = 0;
  Date.now = () => real() - behind;
  return {
    setBack: (ms) => void (behind += ms),
    [Symbol.dispose]: () => void (Date.now = real),
  };
}
