import type { DeviceNow, TargetNow, TargetRules } from '../target.ts'

/** True if the device has booted since its latest command was sent. */
export function hasRebooted(
  { bootCount, command }: TargetNow,
  device: DeviceNow,
  { now }: Pick<TargetRules, 'now'>,
): boolean {
  if (bootCount === null || device.bootCount <= bootCount) return false
  if (command === null || command.sentAt === null || device.bootedAt === null) return true
  // A boot between creating and sending the command is not its effect. A sending time in the future proves that the
  // clock has been set back since, so the two times can't be compared.
  return device.bootedAt >= command.sentAt || command.sentAt > now
}
