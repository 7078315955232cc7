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
  registeredAt: Date
}
