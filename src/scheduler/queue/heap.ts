/** A binary heap: the item that comes first by `before` is on top. Any item can be removed. */
export class Heap<T> {
  readonly #before: (one: T, other: T) => boolean;
  readonly #items: T[] = [];
  readonly #indexes = new Map<T, number>();

  constructor(before: (one: T, other: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    if (this.#indexes.has(item)) return;
    this.#set(item, this.#items.length);
    this.#rise(this.#items.length - 1);
  }

  pop(): T | undefined {
    const top = this.#items[0];
    if (top !== undefined) this.remove(top);
    return top;
  }

  remove(item: T): boolean {
    const at = this.#indexes.get(item);
    if (at === undefined) return false;
    this.#indexes.delete(item);
    const last = this.#items.pop()!;
    if (last !== item) {
      this.#set(last, at);
      this.#rise(at);
      this.#sink(this.#indexes.get(last)!);
    }
    return true;
  }

  #rise(at: number): void {
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#before(this.#items[at]!, this.#items[parent]!)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(at: number): void {
    for (;;) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let first = at;
      if (left < this.#items.length && this.#before(this.#items[left]!, this.#items[first]!)) first = left;
      if (right < this.#items.length && this.#before(this.#items[right]!, this.#items[first]!)) first = right;
      if (first === at) return;
      this.#swap(at, first);
      at = first;
    }
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#items[a]!, this.#items[b]!];
    this.#set(second, a);
    this.#set(first, b);
  }

  #set(item: T, at: number): void {
    this.#items[at] = item;
    this.#indexes.set(item, at);
  }
}
