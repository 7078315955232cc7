/** Returns a number with the noun that follows it: `1 device`, `2 devices`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}
