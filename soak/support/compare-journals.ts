import type { DeviceState } from '../../src/simulator/ucentral/device.ts'

/** The devices' own records before and after an upgrade. */
export interface Journals {
  readonly before: ReadonlyMap<string, DeviceState>
  readonly after: ReadonlyMap<string, DeviceState>
}

export interface Effects {
  readonly bootedTwice: number
  readonly flashedTwice: number
  /** Devices that did not boot the version. */
  readonly leftBehind: number
  /** One sentence per violation. */
  readonly failed: readonly string[]
}

/** Compares the effects of an upgrade on its devices with their own records. */
export function compareJournals(macs: readonly string[], { before, after }: Journals, version: string): Effects {
  const effects = macs.map((mac) => {
    const then = before.get(mac)?.counts
    const now = after.get(mac)
    return {
      mac,
      firmware: now?.firmware,
      activity: now?.activity.kind,
      boots: (now?.counts.boots ?? 0) - (then?.boots ?? 0),
      flashes: (now?.counts.flashes ?? 0) - (then?.flashes ?? 0),
    }
  })
  const bootedTwice = effects.filter(({ boots }) => boots > 1)
  const flashedTwice = effects.filter(({ flashes }) => flashes > 1)
  const leftBehind = effects.filter(({ firmware, boots }) => firmware !== version || boots === 0)
  return {
    bootedTwice: bootedTwice.length,
    flashedTwice: flashedTwice.length,
    leftBehind: leftBehind.length,
    failed: [
      ...bootedTwice.map(({ mac, boots }) => `${mac} booted ${boots} times`),
      ...flashedTwice.map(({ mac, flashes }) => `${mac} flashed ${flashes} times`),
      ...leftBehind.map(({ mac, firmware, activity }) => `${mac} runs ${firmware ?? '1.0.0'} (${activity ?? 'idle'})`),
    ],
  }
}
