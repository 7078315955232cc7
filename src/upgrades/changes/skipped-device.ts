/** A device that a change of an upgrade names, and leaves as it is. */
export interface SkippedDevice {
  readonly mac: string
  readonly reason: string
}
