import type { InOrg, PlaceScope } from '../../access/scope.ts'
import { releaseDevices } from '../../devices/commands/store-upgrades.ts'
import { counted } from '../../platform/counted.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { invalidField } from '../../platform/errors.ts'
import { INSTALLS, exclusionReason, findExclusionRefusal, isReleasable } from '../../rollout/changes/plan-exclusion.ts'
import type { ReleasedTarget } from '../../rollout/changes/plan-release.ts'
import { type NamedTarget, lockNamed } from '../../rollout/changes/store-exclusion.ts'
import { updateReleased } from '../../rollout/changes/store-release.ts'
import { appendUpgradeChange } from '../../rollout/events/append-events.ts'
import { appendReleasedDevices } from '../../rollout/events/append-released.ts'
import { presentMacs } from '../../rollout/events/present-named.ts'
import { countReleasedDevices } from '../../rollout/metrics.ts'
import type { UpgradeKind } from '../../rollout/rollout.ts'
import { haltTargets } from '../../rollout/stops/store.ts'
import { type ChangedUpgrade, lockChanged } from './lock-changed.ts'
import type { SkippedDevice } from './skipped-device.ts'

export interface Exclusion {
  /** The number of devices that the upgrade has lost. */
  readonly excluded: number
  readonly skipped: readonly SkippedDevice[]
}

interface Wanted {
  readonly id: string
  readonly kind?: UpgradeKind
  readonly macs: readonly string[]
  readonly note: string | null
}

/**
 * Excludes devices from an upgrade that has not changed them yet, as a cancellation would: after the commit they are not
 * commanded and don't get their image any more. They count as cancelled and are free for another upgrade. Without such a
 * device nothing changes. At a site, only its own devices are concerned.
 * @throws AppError not_found; invalid for a device that is not in the upgrade. Nothing is changed then.
 */
export async function excludeDevices(
  ctx: Context,
  scope: PlaceScope,
  { id: named, kind = 'device', macs, note }: Wanted,
): Promise<Exclusion> {
  const now = ctx.clock.now()
  const nowMs = ctx.serviceClock.nowMs()
  const { released, skipped } = await inTx(ctx, async (tx) => {
    const changed = await lockChanged(tx, scope, { id: named, kind })
    const only = changed.part?.id ?? null
    const targets = await lockNamed(tx, scope, { orgUpgradeId: changed.id, only, macs })
    refuseUnknown(macs, targets)
    const halted = await halt(tx, scope, targets, now)
    if (halted.released.length === 0) return halted
    const reason = exclusionReason(scope.actor.name, note)
    await updateReleased(tx, scope, halted.released, { reason, now, nowMs })
    await releaseDevices(
      tx,
      scope,
      halted.released.map(({ deviceId }) => deviceId),
      now,
    )
    await appendExclusion(tx, scope, halted.released, { ...changed, note, now })
    await appendReleasedDevices(tx, scope, halted.released, { reason, now })
    wakeAfterCommit(tx, 'rollouts')
    return halted
  })
  countReleasedDevices(ctx.metrics, released.length)
  return { excluded: released.length, skipped }
}

function refuseUnknown(macs: readonly string[], named: readonly NamedTarget[]): void {
  const known = new Set(named.map(({ mac }) => mac))
  for (const [index, mac] of macs.entries())
    if (!known.has(mac)) throw invalidField(`macs.${index}`, `${mac} is not a device of this upgrade`)
}

type Releasing = NamedTarget & ReleasedTarget

/** Stops what the devices are commanded to do, as far as it can be stopped. */
async function halt(
  tx: Tx,
  scope: InOrg,
  named: readonly NamedTarget[],
  at: Date,
): Promise<{ readonly released: readonly Releasing[]; readonly skipped: readonly SkippedDevice[] }> {
  const possible = named.flatMap((target): Releasing[] => {
    const { state } = target
    return isReleasable(state) ? [Object.assign(target, { state })] : []
  })
  const [inFlight = []] = await haltTargets(tx, scope, {
    groups: [[...new Set(possible.map(({ upgradeId }) => upgradeId))]],
    deviceIds: possible.map(({ deviceId }) => deviceId),
    at,
  })
  const flashing = new Set(inFlight)
  const skipped = named.flatMap(({ mac, state }): SkippedDevice[] => {
    if (!isReleasable(state)) return [{ mac, reason: findExclusionRefusal(state) }]
    return flashing.has(mac) ? [{ mac, reason: INSTALLS }] : []
  })
  return { released: possible.filter(({ mac }) => !flashing.has(mac)), skipped }
}

async function appendExclusion(
  tx: Tx,
  scope: InOrg,
  released: readonly Releasing[],
  { id, place, note, now }: ChangedUpgrade & Pick<Wanted, 'note'> & { readonly now: Date },
): Promise<void> {
  const excluded = { type: 'UPGRADE_DEVICES_EXCLUDED', ...place, total: released.length } as const
  const message = `Exclude ${counted(released.length, 'device')} from upgrade ${id}`
  const after = { id, ...presentMacs(released.map(({ mac }) => mac)), note }
  await appendUpgradeChange(tx, scope, { ...excluded, ...(note !== null && { note }), message, after }, now)
}
