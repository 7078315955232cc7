import { describe, expect, test } from 'vitest'
import { expected, online, planned, running, staging } from '../../../test/support/fleets/targets.ts'
import { type DownloadPlan, noCounts } from '../rollout.ts'
import type { SiteUpgradeNow } from '../site-upgrade-now.ts'
import type { TargetNow } from '../targets/target.ts'
import { phaseRulesOf } from './decide-phase-rules.ts'

const REBOOT_MS = 1000
const loads: DownloadPlan = { strategy: 'canary', scope: 'org', phase_sizes: [1, 1], gates: null }

interface More extends Partial<Omit<SiteUpgradeNow, 'plan'>> {
  readonly ranked?: true
}

function rulesOf(target: TargetNow, others: readonly TargetNow[], { ranked, ...more }: More) {
  const upgrade: SiteUpgradeNow = {
    ...running,
    plan: {
      ...{ strategy: 'canary', phase_scope: 'org', phases: 3, phase_sizes: [1, 1, 1], gates: null },
      ...{ max_failure_percentage: null, stages: true, planned: 3, timezone: 'UTC', downloads: loads },
      ...(ranked && { ranked }),
    },
    currentPhase: 2,
    counts: noCounts,
    downloads: { current: 1, gate_passed: 0, failures: {}, downloaded: {} },
    ...more,
    targets: [target, ...others],
  }
  const { rebootMs, mayDownload } = phaseRulesOf(upgrade, REBOOT_MS)(target)
  return [rebootMs === REBOOT_MS, mayDownload]
}

const target: TargetNow = { ...planned, phase: 2, downloadPhase: 1, device: staging }
const staged: TargetNow = { ...target, state: 'downloaded', staged: true }
const other: TargetNow = { ...target, deviceId: 'e' }
const ranked: More = { ranked: true }

describe('a device may reboot and download', () => {
  test.each<[string, TargetNow, readonly TargetNow[], More, readonly [boolean, boolean]]>([
    ['both in open phases', staged, [], {}, [true, true]],
    ['only the latter before the phase of its reboot', { ...target, phase: 3 }, [], {}, [false, true]],
    ['not the latter before the phase of its download', { ...staged, downloadPhase: 2 }, [], {}, [true, false]],
    ['both in none of the phases of the downloads', { ...target, downloadPhase: null }, [], {}, [true, true]],
    ['only the latter while its phase waits for images', staged, [other], {}, [false, true]],
    ['both where a later phase waits for images', { ...staged, phase: 1 }, [other], {}, [true, true]],
    ['both where a phase that is not open waits for images', staged, [{ ...other, phase: 3 }], {}, [true, true]],
    ['both without phases of the downloads', staged, [other], { downloads: null }, [true, true]],
    ['both while the upgrade stops', { ...target, phase: 3 }, [other], { stopping: 'failed' }, [true, true]],
    ['only the latter in a partial read', staged, [], { isDue: false }, [false, true]],
    [
      'both in a partial read once it is in flight',
      { ...staged, state: 'rebooting' },
      [],
      { isDue: false },
      [true, true],
    ],
    ['both in a partial read in one step', { ...target, device: online }, [], { isDue: false }, [true, true]],
    [
      'both after those that hang on it',
      { ...staged, rank: 1 },
      [{ ...other, staged: true, rank: 2 }],
      ranked,
      [true, true],
    ],
    [
      'only the latter before them',
      { ...staged, rank: 2 },
      [{ ...other, staged: true, rank: 1 }],
      ranked,
      [false, true],
    ],
    [
      'neither before them in one step',
      { ...target, device: online, rank: 2 },
      [{ ...other, staged: true, rank: 1 }],
      ranked,
      [false, false],
    ],
    [
      'neither before them without phases of the downloads',
      { ...target, downloadPhase: null, device: online, rank: 2 },
      [{ ...other, rank: 1 }],
      { ...ranked, downloads: null },
      [false, false],
    ],
    [
      'both before those whose download has no turn',
      { ...target, downloadPhase: null, rank: 2 },
      [{ ...other, rank: 1, downloadPhase: 2 }],
      ranked,
      [true, true],
    ],
    [
      'both before those of a phase that is not open',
      { ...staged, rank: 2 },
      [{ ...other, phase: 3, rank: 1 }],
      ranked,
      [true, true],
    ],
    [
      'both once it is in flight',
      { ...staged, state: 'rebooting', rank: 2 },
      [{ ...other, rank: 1 }],
      ranked,
      [true, true],
    ],
    [
      'neither in a partial read where restarts have an order',
      { ...target, device: online, rank: 1 },
      [],
      { ...ranked, isDue: false },
      [false, false],
    ],
    [
      'neither before them on its way back',
      { ...target, device: expected, rank: 2 },
      [{ ...other, staged: true, rank: 1 }],
      ranked,
      [false, false],
    ],
    [
      'neither before them once it has left',
      { ...target, device: null, rank: 2 },
      [{ ...other, staged: true, rank: 1 }],
      ranked,
      [false, false],
    ],
  ])('%s', (...[, one, others, more, rules]) => {
    expect(rulesOf(one, others, more)).toEqual(rules)
  })
})
