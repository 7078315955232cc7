import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  at,
  command,
  commanded,
  expected,
  ms,
  online,
  planned,
  rebooting,
  running,
  updated,
} from '../../../test/support/fleets/targets.ts'
import { unlimited } from './decide-capacity.ts'
import {
  countDownloads,
  findUnreadyPhase,
  hasImage,
  haveImages,
  installingStates,
  listDownloadMoves,
  passDownloadGate,
} from './decide-downloads.ts'
import { decideNext } from '../rounds/decide-next.ts'
import { phaseRulesOf } from './decide-phase-rules.ts'
import {
  OFFLINE,
  type SiteDownloads,
  type TargetState,
  type UpgradePlan,
  defaultRolloutOptions,
  noCounts,
} from '../rollout.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow } from '../targets/target.ts'
import { keysOf } from '../../platform/records.ts'

const now = { now: at(300), nowMs: ms(300), graceUntilMs: 0, crowdedMs: null, options: defaultRolloutOptions }
const twoSteps = { ...online, commands: ['stage', 'activate'] as const }

/** A site upgrade in the first of two phases, and in the first of its phases of the downloads. */
function site(targets: readonly TargetNow[], more: Partial<UpgradePlan> = {}): SiteUpgradeNow {
  const counts: Record<string, number> = { ...noCounts, upgraded: 1 }
  for (const { state } of targets) counts[state] = (counts[state] ?? 0) + 1
  const downloads = { strategy: 'canary', scope: 'org', phase_sizes: [1, 2], gates: null } as const
  return {
    ...running,
    plan: {
      strategy: 'canary',
      phase_scope: 'org',
      phases: 2,
      phase_sizes: [0, 2],
      gates: null,
      max_failure_percentage: null,
      stages: true,
      downloads,
      planned: 3,
      timezone: 'UTC',
      ...more,
    },
    counts: { ...noCounts, ...counts },
    downloads: { current: 1, gate_passed: 0, failures: {}, downloaded: {} },
    targets,
  }
}

describe('a site without a device in the open phase of the reboots', () => {
  const loading: TargetNow = { ...planned, phase: 2, downloadPhase: 1, device: twoSteps }
  const dueOf = (targets: readonly TargetNow[], capacity = unlimited, more: Partial<UpgradePlan> = {}) =>
    decideNext(site(targets, more), now, capacity).siteUpgrade.dueMs

  test('sleeps until the next phase opens', () => {
    expect(dueOf([])).toBeNull()
  })

  test('looks again while a download waits for others, or for its device', () => {
    expect(dueOf([loading], { inFlight: Infinity, downloads: 0 })).toBe(ms(301))
    expect(dueOf([{ ...loading, device: { ...expected, commands: twoSteps.commands } }])).toBe(ms(301))
  })

  test('wakes when the maintenance window opens for which a download waits', () => {
    // The current time is five minutes past midnight.
    expect(dueOf([loading], unlimited, { windows: [{ start: '01:00', end: '02:00' }] })).toBe(ms(3600))
  })
})

describe('a device that downloads and reboots in one step, in a phase of the downloads', () => {
  const rulesOf = (target: TargetNow, others: readonly TargetNow[], isDue = true) => {
    const upgrade = site([target, ...others], { ranked: true, phases: 1 })
    return phaseRulesOf({ ...upgrade, isDue }, 0)(target)
  }
  const oneStep: TargetNow = { ...planned, downloadPhase: 1, rank: 2 }
  const hanging: TargetNow = { ...planned, deviceId: 'e', downloadPhase: 1, rank: 1 }
  const waits = { rebootMs: Infinity, mayDownload: false }

  test('waits with both for what hangs on it, so that its phase waits for it', () => {
    expect(rulesOf(oneStep, [])).toEqual({ rebootMs: 0, mayDownload: true })
    expect(rulesOf(oneStep, [hanging])).toEqual(waits)
    expect(rulesOf(oneStep, [{ ...commanded('sent'), deviceId: 'e', downloadPhase: 1, rank: 1 }])).toEqual(waits)
    // Only a full read shows the devices that restart.
    expect(rulesOf(oneStep, [], false)).toEqual(waits)
  })

  test('waits for none that waits for images of a later phase of the downloads', () => {
    const staged: TargetNow = { ...hanging, state: 'downloaded', staged: true, device: twoSteps }
    const later: TargetNow = { ...hanging, deviceId: 'f', downloadPhase: 2, device: twoSteps }
    expect(rulesOf(oneStep, [staged, later])).toEqual({ rebootMs: 0, mayDownload: true })
    expect(rulesOf(oneStep, [staged])).toEqual(waits)
    expect(rulesOf(oneStep, [{ ...hanging, device: twoSteps }, later])).toEqual(waits)
  })
})

test('more failed downloads than a phase of the site tolerates stop its upgrade', () => {
  const gate = { max_failures: 0, max_failure_percentage: null, min_upgraded: 0 }
  const downloads = { strategy: 'canary', scope: 'site', phase_sizes: [1, 2], gates: [gate, gate] } as const
  const failing: TargetNow = {
    ...commanded('sent', { phase: 2, downloadPhase: 1, device: twoSteps }),
    command: command('rejected', { kind: 'stage', refusal: 'bad', refusalIsFinal: true }),
  }
  const { siteUpgrade, isStopped } = decideNext(site([failing], { phase_scope: 'site', downloads }), now)
  expect([siteUpgrade, isStopped]).toMatchObject([
    { stopping: 'failed', stopReason: 'more than 0 failures in download phase 1' },
    true,
  ])
})

describe('the table of the states of a site upgrade whose downloads have phases', () => {
  const gate = { max_failures: null, max_failure_percentage: 0, min_upgraded: 1 }
  const downloads = { strategy: 'canary', scope: 'site', phase_sizes: [1, 2], gates: [gate, gate] } as const
  const sent: TargetNow = {
    ...commanded('sent', { phase: 2, downloadPhase: 1, device: twoSteps }),
    command: command('sent', { kind: 'stage' }),
  }
  const answered = (state: 'done' | 'rejected'): TargetNow => ({
    ...sent,
    command: command(state, { kind: 'stage', refusal: 'bad', refusalIsFinal: true }),
  })
  const next: TargetNow = { ...planned, deviceId: 'e', phase: 2, downloadPhase: 2, device: twoSteps }
  const returning: TargetNow = {
    ...rebooting,
    state: 'rolling_back',
    command: command('expired', { kind: 'restore_backup' }),
    device: { ...updated, commands: ['upgrade', 'restore_backup'] },
  }
  /** The findings of a round. */
  const found = {
    'a download runs': [sent],
    'a download ends': [answered('done'), next],
    'the only download of a phase fails': [answered('rejected'), next],
    'the phase has all its images': [next],
    'a device has its turn': [{ ...next, downloadPhase: 1 }],
    'a device has no turn yet': [sent, next],
    'a restore was not sent': [returning, next],
  } as const satisfies Record<string, readonly TargetNow[]>
  const hold = { by: 'user', reason: 'paused', since_s: 0, since_ms: 0 } as const
  const upgrades = {
    open: {},
    'outside of the windows': {},
    held: { hold },
    'stopping (failed)': { stopping: 'failed', stopReason: 'x' },
    'stopping (cancelled)': { stopping: 'cancelled', stopReason: 'x' },
  } as const satisfies Record<string, Partial<SiteUpgradeNow>>
  type State = keyof typeof upgrades

  const decided = (state: State, targets: readonly TargetNow[]): string => {
    const windows = state === 'outside of the windows' ? [{ start: '01:00', end: '02:00' }] : undefined
    const plan = { phase_scope: 'site' as const, rollback: true as const, downloads, ...(windows && { windows }) }
    const isLoading = targets.some((target) => target.downloadPhase === 1)
    const counters = { current: 1, gate_passed: 0, failures: {}, downloaded: isLoading ? {} : { 1: 1 } }
    const upgrade = { ...site(targets, plan), ...upgrades[state], currentPhase: 2, downloads: counters }
    const { siteUpgrade, steps, fences } = decideNext(upgrade, now)
    const orders = steps.flatMap(({ order }) => order ?? [])
    return [
      `phase ${siteUpgrade.downloads?.current}`,
      ...(siteUpgrade.hold === null || state === 'held' ? [] : [`held by ${siteUpgrade.hold.by}`]),
      ...(siteUpgrade.finishedAt === null ? [] : [siteUpgrade.status]),
      ...[...orders, ...fences.map(() => 'fence')],
    ].join(', ')
  }

  const stopping = {
    'a download runs': 'phase 1, fence',
    'a download ends': 'phase 1',
    'a device has no turn yet': 'phase 1, fence',
    // Nothing prevents it.
    'a restore was not sent': 'phase 1, restore_backup',
  }
  const table: Readonly<Record<State, Readonly<Record<keyof typeof found, string>>>> = {
    open: {
      'a download runs': 'phase 1',
      // The next round evaluates the gate; it follows immediately.
      'a download ends': 'phase 1',
      'the only download of a phase fails': 'phase 1, held by gate',
      'the phase has all its images': 'phase 2',
      'a device has its turn': 'phase 1, stage',
      'a device has no turn yet': 'phase 1',
      'a restore was not sent': 'phase 2, restore_backup',
    },
    'outside of the windows': {
      'a download runs': 'phase 1',
      'a download ends': 'phase 1',
      'the only download of a phase fails': 'phase 1, held by gate',
      'the phase has all its images': 'phase 2',
      'a device has its turn': 'phase 1',
      'a device has no turn yet': 'phase 1',
      'a restore was not sent': 'phase 2, restore_backup',
    },
    held: {
      'a download runs': 'phase 1',
      'a download ends': 'phase 1',
      'the only download of a phase fails': 'phase 1',
      'the phase has all its images': 'phase 1',
      'a device has its turn': 'phase 1',
      'a device has no turn yet': 'phase 1',
      'a restore was not sent': 'phase 1, restore_backup',
    },
    'stopping (failed)': {
      ...stopping,
      'the only download of a phase fails': 'phase 1, failed',
      'the phase has all its images': 'phase 1, failed',
      'a device has its turn': 'phase 1, failed',
    },
    'stopping (cancelled)': {
      ...stopping,
      'the only download of a phase fails': 'phase 1, cancelled',
      'the phase has all its images': 'phase 1, cancelled',
      'a device has its turn': 'phase 1, cancelled',
    },
  }

  test.each(keysOf(upgrades))('%s', (state) => {
    const row = Object.entries(found).map(([name, targets]) => [name, decided(state, targets)])
    expect(Object.fromEntries(row)).toEqual(table[state])
  })
})

describe('the counters of a phase of the downloads', () => {
  const downloads = { current: 1, gate_passed: 0, failures: {}, downloaded: {} }
  const installs = (state: TargetState): boolean => installingStates.some((one) => one === state)
  /** The target after a step, as the store writes it. */
  const after = (target: TargetNow, to: TargetState, staged: boolean): TargetNow => {
    return { ...target, state: to, staged, fetched: target.fetched || installs(to) }
  }
  const stepTo = (
    target: TargetNow,
    to: TargetState,
    { staged, reason }: { staged: boolean; reason: string | null },
  ) => {
    return { target, to, reason, staged, failedAttempts: 0, lostAttempts: 0, retryAtMs: null, order: null }
  }
  const walk = (moves: readonly (readonly [TargetState, boolean])[], reason: string | null = 'refused') => {
    let target: TargetNow = { ...planned, downloadPhase: 1 }
    let counted: SiteDownloads = downloads
    for (const [to, staged] of moves) {
      counted = countDownloads(counted, [stepTo(target, to, { staged, reason })])
      target = after(target, to, staged)
    }
    return { target, counted }
  }

  test('equal a recount after any steps of a run', () => {
    const state = fc.constantFrom<TargetState>(
      ...(['planned', 'deferred', 'dl_requested', 'downloading', 'downloaded', 'reboot_requested'] as const),
      ...(['rebooting', 'verifying', 'snapshotting', 'rolling_back'] as const),
    )
    const end = fc.constantFrom<TargetState>('failed', 'cancelled', 'skipped', 'upgraded')
    const move = fc.tuple(state, fc.boolean())
    const reasons = fc.constantFrom('refused', OFFLINE)
    fc.assert(
      fc.property(fc.array(move, { maxLength: 8 }), fc.tuple(end, fc.boolean()), reasons, (moves, last, reason) => {
        const restores = moves.findIndex(([to]) => to === 'rolling_back')
        // A restore is the last step before the end.
        const { target, counted } = walk([...moves.slice(0, restores < 0 ? Infinity : restores + 1), last], reason)
        const has = hasImage(target)
        expect(counted.downloaded).toEqual(has ? { 1: 1 } : expect.not.objectContaining({ 1: 1 }))
        const failed = target.state === 'failed' && reason !== OFFLINE && !has
        expect(counted.failures).toEqual(failed ? { 1: 1 } : {})
      }),
    )
  })

  test.each([
    [
      'a device that reboots, keeps its version and downloads again',
      ['dl_requested', 'rebooting', 'dl_requested', 'failed'],
      1,
      0,
    ],
    ['a device that is verified at once', ['dl_requested', 'verifying', 'failed'], 1, 0],
    ['a device that fails without its image', ['dl_requested', 'failed'], 0, 1],
    [
      'a device that lost its image before it rebooted',
      ['downloaded', 'reboot_requested', 'dl_requested', 'failed'],
      0,
      1,
    ],
    ['a device that was away when it got its version', ['deferred', 'verifying', 'upgraded'], 1, 0],
  ] as const)('%s', (_, states, downloaded, failures) => {
    const { counted } = walk(states.map((state) => [state, state === 'downloaded'] as const))
    expect([counted.downloaded[1] ?? 0, counted.failures[1] ?? 0]).toEqual([downloaded, failures])
  })
})

describe('a phase of the downloads', () => {
  const loads = { strategy: 'canary', scope: 'site', phase_sizes: [1, 1], gates: null } as const
  const counted: SiteDownloads = { current: 1, gate_passed: 0, failures: {}, downloaded: {} }

  test('opens the next one of its site, up to the last, and none of the whole upgrade', () => {
    expect(passDownloadGate(counted, loads, now)).toEqual({ downloads: { ...counted, current: 2 } })
    expect(passDownloadGate({ ...counted, current: 2 }, loads, now)).toBeNull()
    expect(passDownloadGate(counted, { ...loads, scope: 'org' }, now)).toBeNull()
  })

  test('waits at its gate, unless a person has resumed the upgrade there', () => {
    const gate = { max_failures: null, max_failure_percentage: null, min_upgraded: 1 }
    const gated = { ...loads, gates: [gate, gate] }
    const hold = { by: 'gate', of: 'downloads', reason: '0 of 1 devices of download phase 1 have downloaded' }
    expect(passDownloadGate(counted, gated, now)).toMatchObject({ hold })
    expect(passDownloadGate({ ...counted, gate_passed: 1 }, gated, now)).toMatchObject({ downloads: { current: 2 } })
  })

  const waiting: TargetNow = { ...planned, downloadPhase: 1 }
  test.each<[string, Partial<TargetNow>, boolean]>([
    ['has yet to download', {}, true],
    ['downloads', { state: 'downloading' }, true],
    ['was commanded to download', { state: 'dl_requested' }, true],
    ['is planned again with its image', { staged: true }, false],
    ['is absent', { state: 'deferred' }, false],
    ['has downloaded', { state: 'downloaded', staged: true }, false],
    ['is in a later phase', { downloadPhase: 2 }, false],
    ['is in none', { downloadPhase: null }, false],
  ])('waits for a device that %s', (...[, target, waits]) => {
    expect(
      haveImages(
        [
          { ...waiting, state: 'downloaded' },
          { ...waiting, ...target },
        ],
        counted,
      ),
    ).toBe(!waits)
  })

  const twoStep: TargetNow = { ...waiting, phase: 3, device: twoSteps }
  test.each<[string, Partial<TargetNow>, number]>([
    ['has yet to download', {}, 2],
    ['has its image', { staged: true }, 3],
    ['is in none', { downloadPhase: null }, 3],
    ['downloads and reboots in one step', { device: online }, 3],
    ['has left', { device: null }, 3],
  ])('is awaited by the reboots of a device that %s', (...[, target, phase]) => {
    expect(findUnreadyPhase([twoStep, { ...twoStep, phase: 2, ...target }])).toBe(phase)
  })

  const step = { reason: null, failedAttempts: 0, lostAttempts: 0, retryAtMs: null, staged: false, order: null }
  const hop = { version: '3.0', image_id: 'image', reported: [] }
  test.each([
    ['is commanded', { state: 'planned' }, { to: 'dl_requested' }, [0, 0]],
    ['has downloaded', { state: 'downloading' }, { to: 'downloaded', staged: true }, [-1, 1]],
    ['is deferred', { state: 'planned' }, { to: 'deferred' }, [-1, 0]],
    ['is back', { state: 'deferred' }, { to: 'dl_requested' }, [1, 0]],
    ['goes on to its next version', { state: 'verifying', fetched: true }, { to: 'planned', hop }, [0, 0]],
    ['has got to a version by itself', { state: 'planned' }, { to: 'planned', hop }, [0, 0]],
    ['got there by itself with its image', { state: 'planned', staged: true }, { to: 'planned', hop }, [1, -1]],
    ['is in no phase', { state: 'planned', downloadPhase: null }, { to: 'dl_requested' }, []],
  ] as const)('counts a device that %s', (...[, target, more, counts]) => {
    const moves = listDownloadMoves([{ ...step, target: { ...waiting, ...target }, ...more }])
    expect(moves.flatMap(({ pending, downloaded }) => [pending, downloaded])).toEqual(counts)
  })
})

test('a device that has lost its image and got to a later version by itself has yet to download in its phase', () => {
  const target: TargetNow = { ...planned, downloadPhase: 1, fetched: true }
  const hop = { version: '3.0', image_id: 'image', reported: [] }
  const none = { reason: null, failedAttempts: 0, lostAttempts: 0, retryAtMs: null, staged: false, order: null }
  const counted: SiteDownloads = { current: 1, gate_passed: 0, failures: {}, downloaded: { 1: 2 } }
  expect(countDownloads(counted, [{ ...none, target, to: 'planned', hop }]).downloaded).toEqual({ 1: 1 })
  expect(countDownloads(counted, [{ ...none, target, to: 'planned' }]).downloaded).toEqual({ 1: 2 })
})
