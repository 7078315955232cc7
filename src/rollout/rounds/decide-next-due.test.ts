import { describe, expect, test } from 'vitest'
import {
  at,
  command,
  commanded,
  downloaded,
  expected,
  ms,
  offline,
  online,
  ordered,
  planned,
  running,
  staging,
  updated,
  verifying,
} from '../../../test/support/fleets/targets.ts'
import { type TargetState, type UpgradePlan, defaultRolloutOptions, noCounts } from '../rollout.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow } from '../targets/target.ts'
import { decideNext, decideStop } from './decide-next.ts'

const options = defaultRolloutOptions
/** Five minutes after midnight, and after the first phase has opened. */
const now = { now: at(300), nowMs: ms(300), graceUntilMs: 0, crowdedMs: null, options }
const AT_ONCE = 0
const IN_FLIGHT = 1
const DEFERRED = 5
const hold = { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } as const

interface More extends Partial<Omit<SiteUpgradeNow, 'plan' | 'counts'>> {
  readonly plan?: Partial<UpgradePlan>
  /** Targets that are not read. */
  readonly others?: Partial<Record<TargetState, number>>
}

function upgradeOf(targets: readonly TargetNow[], { plan, others = {}, ...more }: More): SiteUpgradeNow {
  const counts: Record<string, number> = { ...noCounts, ...others }
  for (const { state } of targets) counts[state] = (counts[state] ?? 0) + 1
  return {
    ...running,
    plan: {
      ...{ strategy: 'canary', phase_scope: 'site', phases: 2, phase_sizes: [1, 1], gates: null },
      ...{ max_failure_percentage: null, stages: false, planned: 2, timezone: 'UTC' },
      ...plan,
    },
    ...more,
    counts: { ...noCounts, ...counts },
    targets,
  }
}

const decide = (targets: readonly TargetNow[], more: More = {}) => decideNext(upgradeOf(targets, more), now)

/** The seconds to the next round; null: it has none. */
function dueIn(targets: readonly TargetNow[], more: More = {}): number | null {
  const { dueMs } = decide(targets, more).siteUpgrade
  return dueMs === null ? null : (dueMs - now.nowMs) / 1000
}

const sent = commanded('sent')
const settled: TargetNow = { ...verifying, device: updated }
const path = ['2.0', '3.0'].map((version) => ({ version, image_id: version, reported: [] }))
const stage = (state: 'sent' | 'done'): TargetNow => ordered('stage', state)
const closed = { windows: [{ start: '01:00', end: '02:00' }] }
const nearlyOver = { windows: [{ start: '00:00', end: '00:12' }] }

describe('before its first instant, an upgrade waits', () => {
  const before = { phaseOpenedMs: null, status: 'created' } as const
  test.each<[string, More, number]>([
    ['for the reboots, if nothing happens before them', { rebootAt: at(400) }, 100],
    ['for the start that is behind them', { rebootAt: at(400), startAt: at(500) }, 200],
    ['for the start, if devices download first', { rebootAt: at(600), startAt: at(500), plan: { stages: true } }, 200],
    ['for the maintenance window', { plan: closed }, 3300],
  ])('%s', (_, more, seconds) => {
    const { siteUpgrade, steps } = decide([planned], { ...before, ...more })
    expect(siteUpgrade).toMatchObject({ status: 'queued', dueMs: ms(300 + seconds), phaseOpenedMs: null })
    expect(siteUpgrade.waitsUntil).toEqual(more.plan?.windows === undefined ? null : at(3600))
    expect(steps).toEqual([])
  })

  test('unless it stops, or has begun', () => {
    for (const more of [{ rebootAt: at(400) }, { plan: closed }]) {
      const stopped = decide([planned], { ...before, ...more, stopping: 'cancelled' })
      expect(stopped.siteUpgrade).toMatchObject({ status: 'cancelled', finishedAt: now.now, dueMs: null })
    }
    expect(decide([planned], { rebootAt: at(400) }).steps).toMatchObject([{ order: 'upgrade' }])
  })
})

describe('the next round of an upgrade', () => {
  test.each<[string, readonly TargetNow[], More, number | null]>([
    ['is soon while a device is in flight', [sent], {}, IN_FLIGHT],
    ['is soon while a device is on its way back', [{ ...planned, device: expected }], {}, IN_FLIGHT],
    [
      'is later while all are absent',
      [{ ...planned, state: 'deferred', device: offline }],
      { currentPhase: 2 },
      DEFERRED,
    ],
    ['is none while it is paused', [planned], { hold }, null],
    ['is soon while it is paused and a device is in flight', [sent], { hold }, IN_FLIGHT],
    ['is at once after a command was taken back', [commanded('queued')], { hold }, AT_ONCE],
    ['is at once after a download was fenced', [sent], { stopping: 'cancelled' }, AT_ONCE],
    [
      'is at once where a stop has to read more targets',
      [planned],
      { stopping: 'failed', others: { planned: 1 } },
      AT_ONCE,
    ],
    ['is soon where a stop finds nothing', [], { stopping: 'failed', others: { planned: 1 } }, IN_FLIGHT],
    [
      'is soon where a stop waits for a device',
      [planned, commanded('done', { state: 'rebooting' })],
      { stopping: 'failed' },
      IN_FLIGHT,
    ],
    ['is at once after a download, which a reboot may follow', [stage('done')], {}, AT_ONCE],
    [
      'is later after a download before the reboots',
      [stage('done')],
      { rebootAt: at(600), plan: { stages: true } },
      DEFERRED,
    ],
    ['is that of the reboots if these are sooner', [stage('done')], { rebootAt: at(302), plan: { stages: true } }, 2],
    [
      'is soon while a download runs before the reboots',
      [stage('sent')],
      { rebootAt: at(600), plan: { stages: true } },
      IN_FLIGHT,
    ],
    ['is at once where a device goes on to its next version', [{ ...settled, path }], {}, AT_ONCE],
    ['is at once where a device is to take a snapshot', [settled], { plan: { snapshot: true } }, AT_ONCE],
    ['is at once where its next phase opens', [settled], { others: { planned: 1 } }, AT_ONCE],
    [
      'is none while it waits for a phase of the whole upgrade',
      [settled],
      { plan: { phase_scope: 'org' }, others: { planned: 1 } },
      null,
    ],
    [
      'is later then, if a device is absent',
      [settled],
      { plan: { phase_scope: 'org' }, others: { planned: 1, deferred: 1 } },
      DEFERRED,
    ],
    ['is at the end of a pause', [commanded('rejected', { retryAtMs: ms(300) + 500 })], {}, 0.5],
    [
      'is at the end of the wait for absent devices',
      [{ ...planned, state: 'deferred', device: offline }],
      { currentPhase: 2, phaseOpenedMs: ms(302) - options.offlineDeadlineMs },
      2,
    ],
    [
      'does not end that wait in an earlier phase',
      [{ ...planned, state: 'deferred', device: offline }],
      { plan: { phase_scope: 'org' }, phaseOpenedMs: ms(302) - options.offlineDeadlineMs },
      DEFERRED,
    ],
    [
      'is later before the reboots while a device is on its way back',
      [{ ...planned, device: expected }],
      { rebootAt: at(600), plan: { stages: true } },
      DEFERRED,
    ],
    ['is when the window opens', [planned], { plan: closed }, 3300],
    ['is soon outside of the window while a device is in flight', [planned, sent], { plan: closed }, IN_FLIGHT],
    ['is later in a window that has not enough time left for its devices', [planned], { plan: nearlyOver }, DEFERRED],
  ])('%s', (_, targets, more, seconds) => {
    expect(dueIn(targets, more)).toBe(seconds)
  })

  test('waits for the first window that is long enough for a device, as far as one waits', () => {
    const waitsUntil = (targets: readonly TargetNow[], plan: Partial<UpgradePlan>) =>
      decide(targets, { plan }).siteUpgrade.waitsUntil
    expect(waitsUntil([planned], nearlyOver)).toEqual(at(86_400))
    expect(waitsUntil([sent], nearlyOver)).toBeNull()
    expect(waitsUntil([planned], closed)).toEqual(at(3600))
    expect(waitsUntil([planned, sent], closed)).toEqual(at(3600))
    expect(waitsUntil([planned], {})).toBeNull()
  })
})

describe('a round', () => {
  test('counts what was upgraded by phase, and the devices that have left', () => {
    const { siteUpgrade } = decide([settled, { ...planned, deviceId: 'e', device: null }], { released: 1 })
    expect(siteUpgrade).toMatchObject({ upgradedByPhase: { 1: 1 }, released: 2, counts: { upgraded: 1, cancelled: 1 } })
  })

  test('opens no phase while a device goes on to its next version', () => {
    const more = { others: { planned: 1 } }
    expect(decide([{ ...settled, path }], more).siteUpgrade.currentPhase).toBe(1)
    expect(decide([settled], more).siteUpgrade.currentPhase).toBe(2)
  })

  test('waits at the gate of its site, unless it was passed', () => {
    const gate = { max_failures: null, max_failure_percentage: 0, min_upgraded: 0 }
    const more = { plan: { gates: [gate, null] }, hardFailures: { 1: 1 }, others: { planned: 1 } }
    const held = { hold: { by: 'gate', since_ms: ms(300) }, currentPhase: 1, dueMs: null }
    expect(decide([settled], more).siteUpgrade).toMatchObject(held)
    const passed = decide([settled], { ...more, gatePassed: 1 }).siteUpgrade
    expect(passed).toMatchObject({ hold: null, currentPhase: 2, phaseOpenedMs: ms(300) })
  })

  test('lets absent devices come back from the start of the reboots, without the time of a pause', () => {
    const opened = (more: More) =>
      decide([stage('sent')], { plan: { stages: true }, ...more }).siteUpgrade.phaseOpenedMs
    expect(opened({ rebootAt: at(600) })).toBe(ms(300))
    expect(opened({ rebootAt: at(600), hold })).toBe(ms(0))
    expect(opened({})).toBe(ms(0))
    expect(opened({ phaseOpenedMs: null })).toBe(ms(300))
  })

  test('commands only the part that is wanted', () => {
    const { steps } = decide([stage('done')], { plan: { only: 'stage' } })
    expect(steps).toMatchObject([{ to: 'staged' }])
    expect(decide([{ ...planned, device: online }], { plan: { only: 'stage' } }).steps).toMatchObject([
      { to: 'failed' },
    ])
  })

  const failing = commanded('rejected', { command: command('rejected', { refusal: 'bad', refusalIsFinal: true }) })
  const another: TargetNow = { ...planned, deviceId: 'e' }
  test('that exceeds a limit commands nothing, and says so once', () => {
    const upgrade = upgradeOf([failing, another], { plan: { max_failure_percentage: 0 } })
    const tripped = decideNext(upgrade, now)
    expect(tripped.isStopped).toBe(true)
    expect(tripped.steps.map(({ to, order }) => [to, order])).toEqual([
      ['failed', null],
      ['cancelled', null],
    ])
    const stopping = { ...upgrade, stopping: 'failed', stopReason: 'before' } as const
    for (const again of [decideNext(stopping, now), decideStop(stopping, 'a sibling', now)]) {
      expect(again.isStopped).toBeUndefined()
      expect(again.siteUpgrade.stopReason).toBe('before')
    }
    expect(decideStop(upgradeOf([another], {}), 'a sibling', now)).toMatchObject({
      isStopped: true,
      siteUpgrade: { status: 'failed', stopReason: 'a sibling' },
    })
  })

  test('commands nothing once the upgrade has come to its end', () => {
    const ended = { plan: { ends_s: at(300).getTime() / 1000 } }
    expect(decide([another], ended).steps).toEqual([])
    expect(decide([{ ...downloaded, device: staging }], ended).steps).toEqual([])
  })
})
