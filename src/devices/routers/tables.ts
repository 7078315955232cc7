declare module '../../platform/schema.ts' {
  interface Schema {
    routerKey: RouterKeyTable
  }
}

export interface RouterKeyTable {
  orgId: string
  deviceId: string
  /** The hash of the public key, in hex. */
  keySha256: string
  /** Of the key that replaces it once the router uses it. */
  renewalKeySha256: string | null
  registeredAt: Date
}
