import type { Telemetry } from './telemetry.ts'

/** The bytes of one entry as JSON: a usual one, with all of its members. */
const entryBytes = {
  unit: 384,
  radio: 512,
  port: 320,
  interface: 384,
  neighbor: 512,
  scanned: 48,
  wireless: 448,
  wired: 80,
} as const

/**
 * Estimates the bytes of telemetry as JSON from the numbers of its entries. Encoding it would cost as much as parsing a
 * tenth of the report. An entry with the longest permitted texts and lists takes up to five times as much.
 */
export function estimateBytes(telemetry: Telemetry): number {
  const { radios, ports, interfaces, neighbors, scan, wireless, wired } = telemetry
  return (
    entryBytes.unit +
    radios.length * entryBytes.radio +
    ports.length * entryBytes.port +
    interfaces.length * entryBytes.interface +
    neighbors.length * entryBytes.neighbor +
    (scan?.cells.length ?? 0) * entryBytes.scanned +
    wireless.length * entryBytes.wireless +
    wired.length * entryBytes.wired
  )
}
