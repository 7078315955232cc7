import { describe, expect, test } from 'vitest'
import { candidateOf, catalogEntry } from '../../test/support/fleets/candidates.ts'
import type { Candidate } from '../rollout/store-candidates.ts'
import { planPhasing } from './planning/plan-downloads.ts'
import { planAtOnce } from './planning/plan-phases.ts'
import type { Planned } from './planning/plan-targets.ts'
import { parseOrgUpgrade } from './wire-parse.ts'
import type { OrgUpgradeBody } from './wire.ts'

function device(mac: string, steps: 1 | 2): Planned {
  const traits: Partial<Candidate> =
    steps === 2 ? { type: 'switch', commands: ['stage', 'activate'] } : { commands: ['upgrade'] }
  return { kind: 'upgrade', device: candidateOf(mac, traits), entry: catalogEntry('2.0'), force: false }
}

const apart = [device('a', 2), device('b', 2)]
const mixed = [...apart, device('c', 1)]
const planOf = (body: OrgUpgradeBody, plans = apart) => planPhasing(parseOrgUpgrade(body), plans)

describe('downloads have phases of their own', () => {
  test.each([
    [{ download_strategy: 'canary' }, 4],
    [{ download_strategy: 'serial', reboot_strategy: 'canary' }, 2],
    [{ reboot_strategy: 'canary' }, 1],
    [{ reboot_strategy: 'serial', max_failure_percentage: 0 }, 1],
    [{ strategy: 'serial', download_strategy: 'big_bang' }, 1],
    [{ strategy: 'canary', reboot_at: 2_000_000_000 }, 4],
    [{ download_strategy: 'big_bang', reboot_strategy: 'canary', max_failures: [0, 0, 0, 0] }, 1],
  ] as const)('with %j', (body, phases) => {
    const { downloads } = planOf(body as OrgUpgradeBody)
    const targets = apart.map((plan) => plan.device)
    expect(downloads && planAtOnce(downloads, targets, { upgradeId: 'u' })).toHaveLength(phases)
  })

  test.each([{}, { strategy: 'canary' }, { strategy: 'serial' }, { reboot_at: 2_000_000_000 }] as const)(
    'but not with %j',
    (body) => expect(planOf(body).downloads).toBeNull(),
  )

  test('but not where no device downloads apart from its reboot', () => {
    const plan = planOf({ download_strategy: 'serial', reboot_strategy: 'canary' }, [device('c', 1)])
    expect(plan).toMatchObject({ downloads: null, notes: [{ reason: expect.stringContaining('1 of the 1 devices') }] })
  })
})

test('devices with one step are in the phases of the downloads only where big_bang demands nothing of their reboots', () => {
  expect(planOf({ download_strategy: 'serial' }, mixed).onlyTwoSteps).toBe(false)
  expect(planOf({ download_strategy: 'serial', reboot_strategy: 'canary' }, mixed).onlyTwoSteps).toBe(true)
  // Before the reboots begin they can't download, and their phase would have no success.
  const later = planOf({ download_strategy: 'serial', reboot_at: 2_000_000_000 }, mixed)
  expect(later.onlyTwoSteps).toBe(true)
  const reason = '1 of the 3 devices download and reboot in one step, in the phases of the reboot_strategy big_bang'
  expect(later.notes).toEqual([{ reason }])
})

describe('a gate that waits for a person', () => {
  const gates = (kind?: 'downloads' | 'reboots') => [
    { phase: 1, wait_for: 'approval' as const, ...(kind && { phase_of: kind }) },
  ]
  const both = { download_strategy: 'canary', reboot_strategy: 'canary', reboot_at: 2_000_000_000 } as const
  const waits = (body: OrgUpgradeBody, plans = apart) => {
    const { phasing, downloads } = planOf(body, plans)
    return [phasing.gate(1)?.wait_for, downloads?.gate(1)?.wait_for]
  }

  test('is one of the reboots, unless only the downloads have phases, or the request says so', () => {
    expect(waits({ ...both, phase_gates: gates() })).toEqual(['approval', undefined])
    expect(waits({ ...both, phase_gates: gates('downloads') })).toEqual([undefined, 'approval'])
    expect(waits({ ...both, phase_gates: [...gates('downloads'), ...gates('reboots')] })).toEqual([
      'approval',
      'approval',
    ])
    expect(waits({ reboot_strategy: 'canary', phase_gates: gates() })).toEqual(['approval', undefined])
    expect(waits({ download_strategy: 'canary', phase_gates: gates() })).toEqual([undefined, 'approval'])
    expect(waits({ download_strategy: 'canary', phase_gates: gates() }, [device('c', 1)])).toEqual([
      'approval',
      undefined,
    ])
  })

  test.each<[string, OrgUpgradeBody, string]>([
    [
      'of reboots with big_bang',
      { download_strategy: 'canary', phase_gates: gates('reboots') },
      'the strategy big_bang',
    ],
    [
      'of serial downloads',
      { ...both, download_strategy: 'serial', phase_gates: gates('downloads') },
      'the strategy serial',
    ],
    ['of serial reboots', { reboot_strategy: 'serial', phase_gates: gates() }, 'the strategy serial'],
    ['of batches of access points', { reboot_strategy: 'rrm', phase_gates: gates() }, 'the strategy rrm'],
    [
      'of downloads without phases',
      { strategy: 'canary', phase_gates: gates('downloads') },
      'has phase_of downloads, but',
    ],
    ['of each site', { ...both, phase_scope: 'site', phase_gates: gates('downloads') }, 'with the phase_scope site'],
  ])('is refused where it would have no effect: %s', (_, body, reason) => {
    expect(() => planOf(body)).toThrow('Invalid field phase_gates: ')
    expect(() => planOf(body)).toThrow(reason)
  })

  test('is refused twice after the same phase, but not after phases of the two kinds', () => {
    const twice = [...gates('downloads'), ...gates('downloads')]
    expect(() => planOf({ ...both, phase_gates: twice })).toThrow('phase_gates.1.phase: is 1, which another gate')
  })
})
