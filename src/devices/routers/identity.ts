const NAME = /^ssr-([0-9a-f]{12})$/

/**
 * Returns the common name of a router's certificate. It is not a plain MAC address, so that it opens no session of a
 * device that proves its identity otherwise.
 * @param mac Twelve lower-case hex digits.
 */
export function routerNameOf(mac: string): string {
  return `ssr-${mac}`
}

/** Returns the MAC in a router's common name; null for a name that is not a router's. */
export function parseRouterName(name: string): string | null {
  return NAME.exec(name)?.[1] ?? null
}
