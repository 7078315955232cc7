/** Returns the keys of an object that has no others than its type declares, which Object.keys() loses. */
export function keysOf<T extends object>(record: T): (keyof T & string)[] {
  return Object.keys(record) as (keyof T & string)[]
}
