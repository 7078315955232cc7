import type { Profile } from './ucentral/device.ts'

/** Returns 0..1, smooth in time, with a phase per device: figures that change and yet are the same in each run. */
export function wave({ mac }: Pick<Profile, 'mac'>, seconds: number): number {
  const phase = Number.parseInt(mac.slice(6), 16) % 628
  return (Math.sin(seconds / 60 + phase / 100) + 1) / 2
}

/** A whole number from 0 to `below - 1` that stays the same for the device. `salt` gives independent ones. */
export function traitOf({ mac }: Pick<Profile, 'mac'>, below: number, salt = 0): number {
  return ((Number.parseInt(mac.slice(6), 16) + salt * 7919) * 40_503) % below
}

const LOCAL_MACS = 4096

/**
 * A MAC address of the device's own that is administered locally, as devices write it. Fleets have consecutive
 * addresses, so each device has a block of them.
 * @param index Below 4096.
 */
export function localMac({ mac }: Pick<Profile, 'mac'>, index: number): string {
  const tail = (Number.parseInt(mac.slice(2), 16) * LOCAL_MACS + index) % 2 ** 40
  const digits = `${(Number.parseInt(mac.slice(0, 2), 16) | 2).toString(16).padStart(2, '0')}${tail.toString(16).padStart(10, '0')}`
  return digits.replaceAll(/..(?!$)/g, '$&:')
}
