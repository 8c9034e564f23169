const pollMs = 1000;

/** Polls at once and then every second; a poll that fails proves nothing, so polling continues. */
export function pollUntilEmpty(find: () => Promise<unknown[]>, callback: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOpen = true;
  const poll = async () => {
    const isEmpty = await find().then((found) => found.length === 0, () => false);
    if (!isOpen) return;
    if (isEmpty) callback();
    else timer = setTimeout(poll, pollMs);
  };
  void poll();
  return () => {
    isOpen = false;
    clearTimeout(timer);
  };
}
