declare module '../../platform/database/schema.ts' {
  interface Schema {
    deviceHostKey: DeviceHostKeyTable
    callHomeSecret: CallHomeSecretTable
  }
}

export interface DeviceHostKeyTable {
  orgId: string
  deviceId: string
  /** As OpenSSH writes it: `SHA256:` and 43 characters of base64. */
  fingerprint: string
  createdAt: Date
}

export interface CallHomeSecretTable {
  orgId: string
  generation: number
}
