import type { InOrg } from '../../access/scope.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { type Tx, json } from '../../platform/database/db.ts'
import { columnsOf, updateRows } from '../../platform/database/rows.ts'
import { ofAppliances } from '../../rollout/gates/decide-hold.ts'
import { noteReplaced } from '../../rollout/phases/note-replaced.ts'
import { type Exchange, exchangePlaces, listAbsent } from './decide-exchange.ts'
import type { Now } from './decide-upgrade.ts'
import { type LockedTarget, type LockedUpgrade, listTargets } from './store.ts'

/** Locked upgrades with the targets that a round reads of them. */
export interface UpgradesRead {
  readonly upgrades: readonly LockedUpgrade[]
  readonly targets: readonly LockedTarget[]
}

/**
 * Lets connected appliances of later phases take the places of those of the open phase that are absent, as devices do. The sizes of the
 * phases stay. The caller has locked the upgrades, and reads their targets again.
 * @returns True if appliances have changed places.
 */
export async function replaceAbsent(
  tx: Tx,
  scope: InOrg,
  { upgrades, targets }: UpgradesRead,
  at: Pick<Now, 'now' | 'nowMs' | 'options'>,
): Promise<boolean> {
  const open = Map.groupBy(targets, ({ upgradeId }) => upgradeId)
  let isChanged = false
  for (const upgrade of upgrades) {
    const absent = listAbsent({ ...upgrade, targets: open.get(upgrade.id) ?? [] }, at)
    if (absent.length === 0) continue
    const all = await listTargets(tx, scope, [{ ...upgrade, currentPhase: upgrade.plan.phases }])
    const exchanges = exchangePlaces({ ...upgrade, targets: all }, absent, at)
    if (exchanges.length === 0) continue
    await swapPlaces(tx, scope, upgrade, exchanges)
    isChanged = true
  }
  return isChanged
}

const placeColumns = columnsOf('mxedgeUpgradeTarget', {
  orgId: 'uuid',
  upgradeId: 'uuid',
  mxedgeId: 'uuid',
  phase: 'integer',
  wave: 'integer',
  ordinal: 'integer',
})

async function swapPlaces(
  tx: Tx,
  { orgId }: InOrg,
  { id, currentPhase }: Pick<LockedUpgrade, 'id' | 'currentPhase'>,
  exchanges: readonly Exchange<LockedTarget>[],
): Promise<void> {
  const rows = exchanges.flatMap(({ absent, online }) => [
    placeIn(orgId, absent, online),
    placeIn(orgId, online, absent),
  ])
  await updateRows(tx, placeColumns, rows, { key: ['orgId', 'upgradeId', 'mxedgeId'] })
  const { notes } = await tx
    .selectFrom('mxedgeUpgrade')
    .select('notes')
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  const replaced = exchanges.map(({ absent, online }) => ({ absent: absent.name, online: online.name }))
  await tx
    .updateTable('mxedgeUpgrade')
    .set({ notes: json(noteReplaced(notes, { phase: currentPhase, units: ofAppliances.units }, replaced)) })
    .where('orgId', '=', orgId)
    .where('id', '=', id)
    .execute()
  noteChanges(tx, 'mxedge_upgrade', [{ orgId, id }])
}

function placeIn(orgId: string, { upgradeId, mxedgeId }: LockedTarget, { phase, wave, ordinal }: LockedTarget) {
  return { orgId, upgradeId, mxedgeId, phase, wave, ordinal }
}
