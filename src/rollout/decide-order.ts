import type { CommandKind } from '../devices/tables.ts'
import type { UpgradeOrder } from './target.ts'

interface Capable {
  /** What the driver of a device can ask it to do. */
  readonly commands: readonly CommandKind[]
}

/** Whether the device downloads apart from its reboot. */
export function canStage({ commands }: Capable): boolean {
  return commands.includes('stage') && commands.includes('activate')
}

/**
 * The next step of an upgrade. A device that has neither two steps nor one is asked for the one, and refuses with a reason.
 * @param staged Whether the device has the image.
 */
export function nextOrder(device: Capable, staged: boolean): UpgradeOrder {
  if (!canStage(device)) return 'upgrade'
  return staged ? 'activate' : 'stage'
}
