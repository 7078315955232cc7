import type { OrgScope } from '../../access/scope.ts'
import type { Tx } from '../../platform/database/db.ts'
import { appendUpgradeChange } from '../events/append-events.ts'
import { presentPhase } from '../phases/present-phase.ts'
import type { Hold } from './decide-hold.ts'
import { pauseSiteUpgrades } from './store-hold.ts'

/**
 * Pauses an upgrade at a gate, with its event. The caller has locked the upgrade.
 * @returns False, without an event, if no site runs that could wait.
 */
export async function holdUpgrade(
  tx: Tx,
  scope: OrgScope,
  id: string,
  { hold, phase, now }: Hold & { readonly now: Date },
): Promise<boolean> {
  if ((await pauseSiteUpgrades(tx, scope, id, hold)) === 0) return false
  await appendHeld(tx, scope, id, { hold, phase, now })
  return true
}

/** Appends the event of an upgrade that waits at a gate. */
export async function appendHeld(
  tx: Tx,
  scope: OrgScope,
  id: string,
  { hold: { reason, of }, phase, now }: Hold & { readonly now: Date },
): Promise<void> {
  const held = { type: 'UPGRADE_HELD', upgrade_id: id, ...presentPhase({ phase, of }), reason } as const
  await appendUpgradeChange(tx, scope, { ...held, message: `Upgrade ${id} held: ${reason}` }, now)
}
