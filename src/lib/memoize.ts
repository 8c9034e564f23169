/**
 * Returns a function that computes its result once for each object and keeps it as long as the object lives. Only for objects
 * that are never changed in place.
 */
export function memoize<Key extends WeakKey, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { value: Value }>();
  return (key) => {
    let entry = known.get(key);
    if (!entry) known.set(key, entry = { value: compute(key) });
    return entry.value;
  };
}
