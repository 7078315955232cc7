// What holds at every moment of the random test of upgrades.
import { expect } from 'vitest'
import type { MaintenanceWindow } from '../../../src/orgs/windows/windows.ts'
import type { Context } from '../../../src/platform/context.ts'
import { isInFlight, isTerminal } from '../../../src/rollout/rollout.ts'
import type { OrgUpgradeBody } from '../../../src/upgrades/wire.ts'

/** The commands that each paused upgrade has sent, without those that restore devices. */
export async function commandsOfHeld({ db }: Context): Promise<ReadonlyMap<string, number>> {
  const held = await db.selectFrom('orgUpgrade').select(['id', 'hold']).where('hold', 'is not', null).execute()
  const sent = await db
    .selectFrom('deviceCommand as command')
    .innerJoin('siteUpgrade as part', 'part.id', 'command.siteUpgradeId')
    .select(['part.orgUpgradeId', 'command.id'])
    .where('command.kind', '<>', 'restore_backup')
    .execute()
  return new Map(
    held.map(({ id, hold }) => [`${id} since ${hold?.since_ms}`, sent.filter((one) => one.orgUpgradeId === id).length]),
  )
}

/** No upgrade commands more devices at a time than it may, or ends with an unfinished one. */
export async function expectLimits({ db }: Context): Promise<void> {
  const upgrades = await db.selectFrom('orgUpgrade').select(['id', 'request']).execute()
  const targets = await db
    .selectFrom('upgradeTarget as target')
    .innerJoin('siteUpgrade as part', 'part.id', 'target.upgradeId')
    .select(['part.orgUpgradeId', 'part.finishedAt', 'target.state'])
    .execute()
  for (const { id, request } of upgrades) {
    const mine = targets.filter(({ orgUpgradeId }) => orgUpgradeId === id)
    const { max_in_flight: limit = Infinity }: OrgUpgradeBody = request
    expect(mine.filter(({ state }) => isInFlight(state)).length).toBeLessThanOrEqual(limit)
    expect(mine.filter(({ state, finishedAt }) => finishedAt !== null && !isTerminal(state))).toEqual([])
  }
}

/** @param at On the clock of all sites. No windows: at any time. */
function isWithin(windows: readonly MaintenanceWindow[], at: Date): boolean {
  const clock = at.toISOString().slice(11, 16)
  const isOpen = ({ start, end }: MaintenanceWindow) =>
    start < end ? start <= clock && clock < end : start <= clock || clock < end
  return windows.length === 0 || windows.some(isOpen)
}

/** No device is commanded out of the windows or after the end of its upgrade, nor before the instant of its phase, unless a person has opened it. */
export async function expectTimes({ db }: Context): Promise<void> {
  const commands = await db
    .selectFrom('deviceCommand as command')
    .innerJoin('siteUpgrade as part', 'part.id', 'command.siteUpgradeId')
    .innerJoin('orgUpgrade as upgrade', 'upgrade.id', 'part.orgUpgradeId')
    .innerJoin('upgradeTarget as target', (join) =>
      join.onRef('target.upgradeId', '=', 'part.id').onRef('target.deviceId', '=', 'command.deviceId'),
    )
    .select(['command.kind', 'command.createdAt', 'target.phase', 'part.plan', 'upgrade.phasePlan', 'approvals'])
    .where('command.kind', '<>', 'restore_backup')
    .execute()
  for (const { kind, createdAt, phase, plan, phasePlan, approvals } of commands) {
    const atS = createdAt.getTime() / 1000
    expect(atS).toBeLessThan(plan.ends_s ?? Infinity)
    const instant = phasePlan?.gates?.[phase - 2]?.not_before_s ?? 0
    expect(isWithin(plan.windows ?? [], createdAt)).toBe(true)
    if (kind !== 'stage' && !approvals.some(({ early }) => early)) expect(atS).toBeGreaterThanOrEqual(instant)
  }
}
