import { expect } from 'vitest'
import type { Context } from '../../src/platform/context.ts'
import { awaitsImage, hasImage } from '../../src/rollout/phases/decide-downloads.ts'
import { imagesOf, splitImages } from '../../src/rollout/targets/hops/hops.ts'
import {
  NOT_REBOOTED,
  OFFLINE,
  REMOVED,
  type SiteDownloads,
  type TargetState,
  type UpgradeHop,
  isInFlight,
  isTerminal,
} from '../../src/rollout/rollout.ts'

function isRelease(reason: string | null): boolean {
  return (
    reason === REMOVED || reason === NOT_REBOOTED || /^(?:taken over by upgrade|excluded by|runs) /.test(reason ?? '')
  )
}

/** Those that only had to download count, too. */
function isSuccess({ state }: { readonly state: TargetState }): boolean {
  return state === 'upgraded' || state === 'staged'
}

/** Asserts the invariants of all upgrades in every committed state. */
export async function expectConsistent({ db }: Context): Promise<void> {
  const siteUpgrades = await db
    .selectFrom('siteUpgrade')
    .select(['id', 'orgUpgradeId', 'counts', 'total', 'finishedAt', 'stopping', 'currentPhase', 'upgradedByPhase'])
    .select(['released', 'stopReason', 'downloads'])
    .execute()
  const targets = await db
    .selectFrom('upgradeTarget')
    .select(['upgradeId', 'deviceId', 'imageId', 'targetVersion', 'path'])
    .select(['state', 'phase', 'reason', 'attempt', 'downloadPhase', 'staged', 'fetched'])
    .orderBy('deviceId')
    .execute()
  const bySiteUpgrade = Map.groupBy(targets, ({ upgradeId }) => upgradeId)
  for (const { id, counts, total, upgradedByPhase, released, stopping, stopReason, downloads } of siteUpgrades) {
    const mine = bySiteUpgrade.get(id) ?? []
    expect(mine).toHaveLength(total)
    for (const [state, count] of Object.entries(counts))
      expect(mine.filter((one) => one.state === state)).toHaveLength(count)
    const gone = mine.filter(({ state, reason }) => state === 'cancelled' && isRelease(reason))
    expect(released).toBeLessThanOrEqual(gone.length)
    // Another upgrade may have taken over targets that a stop would have ended.
    if (stopping === null && stopReason === null) expect(released).toBe(counts.cancelled)
    const upgraded = Map.groupBy(mine.filter(isSuccess), ({ phase }) => String(phase))
    expect(upgradedByPhase).toEqual(Object.fromEntries([...upgraded].map(([phase, some]) => [phase, some.length])))
    if (downloads !== null) expectDownloads(downloads, mine)
  }
  const open = targets.filter(({ state }) => !isTerminal(state))
  const active = await db
    .selectFrom('deviceUpgrade')
    .select(['deviceId', 'upgradeId', 'orgUpgradeId', 'imageId', 'laterImages', 'inFlight'])
    .where((where) => where.or([where('upgradeId', 'is not', null), where('inFlight', '=', true)]))
    .orderBy('deviceId')
    .execute()
  const orgUpgradeIds = new Map(siteUpgrades.map(({ id, orgUpgradeId }) => [id, orgUpgradeId]))
  const wanted = open.map((target) => {
    const { deviceId, upgradeId, state } = target
    const place = { deviceId, upgradeId, orgUpgradeId: orgUpgradeIds.get(upgradeId), inFlight: isInFlight(state) }
    return Object.assign(place, splitImages(imagesOf(target)))
  })
  expect(active).toEqual(wanted)
  const loading = await db.selectFrom('orgUpgrade').selectAll().where('downloadPlan', 'is not', null).execute()
  for (const { id, downloadPlan, downloads } of loading) {
    const mine = siteUpgrades.filter(({ orgUpgradeId }) => orgUpgradeId === id)
    const all = mine.flatMap((site) => bySiteUpgrade.get(site.id) ?? [])
    if (downloads !== null) expectDownloads(downloads, all)
    for (const [index, size] of downloadPlan?.phase_sizes.entries() ?? []) {
      const inPhase = all.filter(({ downloadPhase }) => downloadPhase === index + 1)
      expectCount(size, inPhase.length, all.filter(hasLeft).length)
      expect(downloads?.pending[index + 1] ?? 0).toBe(inPhase.filter(awaitsImage).length)
    }
  }
  const upgrades = await db.selectFrom('orgUpgrade').selectAll().where('phasePlan', 'is not', null).execute()
  for (const upgrade of upgrades) {
    const mine = siteUpgrades.filter(({ orgUpgradeId }) => orgUpgradeId === upgrade.id)
    const all = mine.flatMap(({ id }) => bySiteUpgrade.get(id) ?? []).filter(({ phase }) => phase > 0)
    for (const index of upgrade.phasePlan?.phase_sizes.keys() ?? []) {
      const inPhase = all.filter(({ phase }) => phase === index + 1)
      expect(inPhase).toHaveLength(upgrade.phasePlan?.phase_sizes[index] ?? 0)
      const pending = inPhase.filter(({ state }) => state === 'planned' || state === 'downloaded' || isInFlight(state))
      expect(upgrade.pendingByPhase[index + 1] ?? 0).toBe(pending.length)
      const failed = inPhase.filter(
        ({ state, reason }) => state === 'rolling_back' || (state === 'failed' && reason !== 'offline'),
      )
      expect(upgrade.failuresByPhase[index + 1] ?? 0).toBe(failed.length)
      const upgraded = inPhase.filter(isSuccess)
      expect(upgrade.upgradedByPhase[index + 1] ?? 0).toBe(upgraded.length)
    }
    const early = all.filter(({ phase, attempt }) => phase > upgrade.currentPhase && attempt > 0)
    expect(early.filter(({ downloadPhase }) => downloadPhase === null)).toEqual([])
    const going = mine.filter(({ finishedAt, stopping }) => finishedAt === null && stopping === null)
    for (const { currentPhase } of going) expect(currentPhase).toBe(upgrade.currentPhase)
  }
}

interface LoadingTarget {
  readonly state: TargetState
  readonly reason: string | null
  readonly downloadPhase: number | null
  readonly staged: boolean
  readonly fetched: boolean
  readonly path: readonly UpgradeHop[] | null
}

/** True if the target may have left a phase of the downloads with its image, when it went on to a later hop. */
function hasLeft({ downloadPhase, path }: Pick<LoadingTarget, 'downloadPhase' | 'path'>): boolean {
  return downloadPhase === null && (path ?? []).some(({ done_ms: doneMs }) => doneMs !== undefined)
}

/** @param left How many targets may have been counted that are not in their phase any more. */
function expectCount(count: number, found: number, left: number): void {
  expect(count).toBeGreaterThanOrEqual(found)
  expect(count).toBeLessThanOrEqual(found + left)
}

function expectDownloads({ failures, downloaded }: Counters, targets: readonly LoadingTarget[]): void {
  const failed = targets.filter((one) => one.state === 'failed' && one.reason !== OFFLINE && !hasImage(one))
  expect(some(failures)).toEqual(countByDownload(failed))
  const having = countByDownload(targets.filter(hasImage))
  for (const phase of new Set([...Object.keys(having), ...Object.keys(downloaded)]))
    expectCount(downloaded[phase] ?? 0, having[phase] ?? 0, targets.filter(hasLeft).length)
}

type Counters = Pick<SiteDownloads, 'failures' | 'downloaded'>

function countByDownload(targets: readonly LoadingTarget[]): Record<string, number> {
  const byPhase = Map.groupBy(targets, ({ downloadPhase }) => downloadPhase)
  return Object.fromEntries([...byPhase].flatMap(([phase, all]) => (phase === null ? [] : [[phase, all.length]])))
}

/** Counters without those that are zero. */
function some(counts: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0))
}
