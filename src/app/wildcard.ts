/** True if a server that listens on the address listens on all addresses of the machine. */
export function isWildcard(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
