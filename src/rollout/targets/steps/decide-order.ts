import type { CommandKind } from '../../../devices/tables.ts'
import type { UpgradeOrder } from '../target.ts'

interface Capable {
  /** The commands that the device's driver supports. */
  readonly commands: readonly CommandKind[]
}

/** True if the device downloads separately from its reboot. */
export function canStage({ commands }: Capable): boolean {
  return commands.includes('stage') && commands.includes('activate')
}

/**
 * Returns the next step of an upgrade. A device that supports neither way is sent the one-step command, and refuses it
 * with a reason.
 * @param staged True if the device has the image.
 */
export function nextOrder(device: Capable, staged: boolean): Exclude<UpgradeOrder, 'snapshot' | 'restore_backup'> {
  if (!canStage(device)) return 'upgrade'
  return staged ? 'activate' : 'stage'
}
