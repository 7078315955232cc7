/** A property of objects that other code has created, such as requests. Only its owner sees it. */
export interface HiddenProperty<K extends object, V> {
  /** Returns undefined for an object that lacks it. */
  get(object: K): V | undefined
  set(object: K, value: V | undefined): void
}

/**
 * Declares a property that replaces a weak map, for short-lived objects. Minor collections of V8 keep the values of a long-lived weak
 * map. A value that refers to its key then keeps the key as well, until the next full collection; see decision 577.
 * @param name The name for debuggers.
 */
export function hiddenProperty<K extends object, V>(name: string): HiddenProperty<K, V> {
  const key: unique symbol = Symbol(name)
  interface Holder {
    [key]?: V | undefined
  }
  return {
    get: (object) => (object as Holder)[key],
    set(object, value) {
      const holder: Holder = object
      holder[key] = value
    },
  }
}
