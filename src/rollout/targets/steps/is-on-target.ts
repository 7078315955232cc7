import type { DeviceNow, TargetNow } from '../target.ts'

/** Every member of a Virtual Chassis included. */
export function isOnTarget({ targetVersion }: TargetNow, { firmware, memberFirmware }: DeviceNow): boolean {
  return firmware === targetVersion && memberFirmware.every((version) => version === targetVersion)
}
