/** Returns a number with separators, such as 1,234,567. */
export function grouped(count: number): string {
  return count.toLocaleString('en')
}

/** Returns a number with the right noun, such as "1 device". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}
