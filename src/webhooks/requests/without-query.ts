/** Returns the address without the part after its path, which often contains a password. */
export function withoutQuery(url: string): string {
  return /^[^?#]*/.exec(url)?.[0] ?? ''
}
