/** A client certificate of a device, as TLS has verified it. */
export interface DeviceCertificate {
  /** Twelve lower-case hex digits. */
  readonly mac: string
  /** As plainSerial() returns it. */
  readonly serial: string
}

/** Returns the serial number of a certificate in lower-case hex without leading zeros, as programs differ in both. */
export function plainSerial(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(':', '')
    .replace(/^0+(?=.)/, '')
}
