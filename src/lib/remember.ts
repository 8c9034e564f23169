/**
 * A function that works its answer out once for each object and then knows it, as long as somebody holds the object. Only for what
 * is never changed in place.
 */
export function remember<Key extends WeakKey, Value>(workOut: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>();
  return (key) => {
    let entry = known.get(key);
    if (!entry) known.set(key, entry = { value: workOut(key) });
    return entry.value;
  };
}
