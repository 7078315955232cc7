declare module '../../platform/database/schema.ts' {
  interface Schema {
    routerKey: RouterKeyTable
  }
}

export interface RouterKeyTable {
  orgId: string
  deviceId: string
  /** The hash of the public key, in hex. */
  keySha256: string
  /** The SHA-256 of the key that replaces the present one once the router uses it. */
  renewalKeySha256: string | null
  registeredAt: Date
}
