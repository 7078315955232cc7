declare module '../../platform/database/schema.ts' {
  interface Schema {
    issuedCertificate: IssuedCertificateTable
    revokedCertificate: RevokedCertificateTable
  }
}

export interface IssuedCertificateTable {
  /** Twelve lower-case hex digits. */
  mac: string
  /** As plainSerial() returns it. */
  serial: string
  issuedAt: Date
}

export interface RevokedCertificateTable {
  mac: string
  /** Empty: all certificates of the device that were not issued since. */
  serial: string
  revokedAt: Date
}
