import { expect } from 'vitest'
import { installMs } from '../../../../src/mxedges/upgrades/decide-window.ts'
import { defaultMxedgeUpgradeOptions } from '../../../../src/mxedges/upgrades/options.ts'
import { isInFlight, isTerminal } from '../../../../src/mxedges/upgrades/upgrade.ts'
import { findOpening } from '../../../../src/orgs/windows/windows.ts'
import type { Context } from '../../../../src/platform/context.ts'

/** Reads the upgrades of an organization, with their targets that still exist and their commands. */
export async function readUpgrades({ db }: Context, orgId: string) {
  const [upgrades, targets, commands] = await Promise.all([
    db.selectFrom('mxedgeUpgrade').selectAll().where('orgId', '=', orgId).execute(),
    db
      .selectFrom('mxedgeUpgradeTarget as target')
      .innerJoin('mxedge', 'mxedge.id', 'target.mxedgeId')
      .selectAll('target')
      .select('mxclusterId')
      .where('target.orgId', '=', orgId)
      .execute(),
    db.selectFrom('mxedgeCommand').selectAll().where('orgId', '=', orgId).where('upgradeId', 'is not', null).execute(),
  ])
  return { upgrades, targets, commands }
}
export type Rows = Awaited<ReturnType<typeof readUpgrades>>

/** Returns everything but the names of the upgrades. */
export function withoutNames({ upgrades, ...rows }: Rows): Rows {
  const unnamed = upgrades.map((upgrade) => Object.assign({}, upgrade, { request: { ...upgrade.request, name: '' } }))
  return { ...rows, upgrades: unnamed }
}

/** Counts, phases, approvals, clusters, and at most one upgrade of each appliance. */
export function expectConsistent({ upgrades, targets }: Rows): void {
  const isTwice = (values: readonly unknown[]): boolean => new Set(values).size < values.length
  const open = targets.filter(({ state }) => !isTerminal(state))
  expect(isTwice(open.map(({ mxedgeId }) => mxedgeId))).toBe(false)
  const installing = targets.filter(({ state }) => isInFlight(state))
  expect(isTwice(installing.flatMap(({ mxclusterId }) => mxclusterId ?? []))).toBe(false)
  for (const { id, counts, finishedAt, currentPhase, plan, approvals } of upgrades) {
    const mine = targets.filter(({ upgradeId }) => upgradeId === id)
    for (const [state, count] of Object.entries(counts))
      expect(mine.filter((one) => one.state === state)).toHaveLength(count)
    if (finishedAt !== null) expect(mine.filter(({ state }) => !isTerminal(state))).toEqual([])
    expect(mine.filter(({ phase, attempt }) => attempt > 0 && phase > currentPhase)).toEqual([])
    const closed = findClosedPhase(plan, approvals)
    expect(mine.filter(({ phase, attempt }) => attempt > 0 && phase >= closed)).toEqual([])
  }
}

/** Returns the first phase that nobody has approved; Infinity: all are open. */
function findClosedPhase(
  { start_gate: start, gates, phase_sizes: sizes }: Rows['upgrades'][number]['plan'],
  approvals: Rows['upgrades'][number]['approvals'],
): number {
  const isApproved = (phase: number): boolean => approvals.some((one) => one.by === 'approval' && one.phase === phase)
  if (start !== undefined && !isApproved(0)) return 1
  const index = (gates ?? []).findIndex((gate, place) => {
    const waits = gate?.wait_for === 'approval' && (gate.emptied === true || (sizes[place] ?? 0) > 0)
    return waits && !isApproved(place + 1)
  })
  return index < 0 ? Infinity : index + 2
}

/** No appliance with a single step is commanded before the start of its upgrade, after its end, or outside of its windows. */
export function expectTimes({ upgrades, targets, commands }: Rows): void {
  for (const { upgradeId, mxedgeId, kind, createdAt } of commands) {
    const { plan, startAt } = upgrades.find(({ id }) => id === upgradeId) ?? {}
    const target = targets.find((one) => one.upgradeId === upgradeId && one.mxedgeId === mxedgeId)
    const fromMs = createdAt.getTime()
    expect(fromMs).toBeGreaterThanOrEqual(startAt?.getTime() ?? 0)
    expect(fromMs / 1000).toBeLessThan(plan?.ends_s ?? Infinity)
    const place = plan?.windows?.find(({ site_id }) => site_id === target?.plannedSiteId)
    if (place === undefined || target === undefined) continue
    const needMs = kind === 'upgrade_service' ? installMs(target.steps, defaultMxedgeUpgradeOptions) : 0
    expect(findOpening(place.windows, place.timezone, { fromMs, needMs })).toBe(fromMs)
  }
}

/** An upgrade that waits for a person, or stops, sends no further command. */
export function expectRest(before: Rows, { upgrades, commands }: Rows): void {
  const count = ({ commands: all }: Pick<Rows, 'commands'>, id: string) =>
    all.filter(({ upgradeId }) => upgradeId === id).length
  for (const { id, hold, stopping, finishedAt } of upgrades) {
    const earlier = before.upgrades.find((one) => one.id === id)
    const isSame = earlier?.hold?.since_ms === hold?.since_ms && earlier?.stopping === stopping
    if (isSame && finishedAt === null && (hold !== null || stopping !== null))
      expect(count({ commands }, id)).toBe(count(before, id))
  }
}
