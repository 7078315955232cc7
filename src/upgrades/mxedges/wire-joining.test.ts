import { expect, test } from 'vitest'
import type { CatalogPackage } from '../../firmware/packages/package.ts'
import { type MxedgeTargetCounts, noCounts } from '../../mxedges/upgrades/upgrade.ts'
import { candidate } from '../../../test/support/fleets/mxedge-candidates.ts'
import { decodeJoining, encodeJoining, pinPackages, pinVersions, planMxedgeInclusion } from './plan-joining.ts'
import { parseMxedgeUpgrade } from './wire-parse.ts'

const entry = (version: string, more: Partial<CatalogPackage> = {}): CatalogPackage => {
  return { package: 'tunterm', version, distro: null, channel: 'stable', isDefault: false, imageId: version, ...more }
}

test('what may join is stored with the request, and nothing may join without a request for it', () => {
  const request = parseMxedgeUpgrade({
    ...{ include_new: true, strategy: 'serial', channel: 'beta', distro: 'trixie' },
    ...{ versions: { tunterm: 'latest' }, allow_downgrades: { tunterm: true } },
    maintenance_windows: [{ start: '01:00', end: '02:00' }],
  })
  const { channel, distro, versions, downgrades, windows } = request
  expect(decodeJoining(JSON.parse(JSON.stringify(encodeJoining(request))))).toEqual({
    ...{ channel, distro, versions, downgrades, windows },
    joins: 'own_phase',
  })
  expect(encodeJoining(parseMxedgeUpgrade({}))).toBeNull()
})

test('packages that others have got count alone, where one fits the distribution', () => {
  const catalog = [entry('3.0'), entry('2.0'), entry('2.0', { distro: 'trixie', imageId: 'trixie' })]
  const agent = entry('7.0', { package: 'mxagent' })
  const pin = (images: readonly string[], distro: string | null) =>
    pinPackages([...catalog, agent], new Set(images), distro).map(({ imageId }) => imageId)
  expect(pin(['2.0'], null)).toEqual(['2.0', '7.0'])
  expect(pin(['trixie'], 'trixie')).toEqual(['trixie', '7.0'])
  expect(pin(['trixie'], 'bookworm')).toEqual(['3.0', '2.0', 'trixie', '7.0'])
})

test('a service keeps the version that others have got once its packages were deleted', () => {
  const installed = [{ service: 'tunterm', version: '2.0', imageId: '2.0' }]
  const versions = parseMxedgeUpgrade({ versions: { tunterm: 'latest', mxagent: 'latest' } }).versions
  const pin = (...catalog: CatalogPackage[]) => pinVersions(versions, installed, catalog).get('tunterm')
  expect(pin(entry('2.0'), entry('3.0'))).toBe('latest')
  expect(pin(entry('3.0'))).toBe('2.0')
  expect(pinVersions(versions, installed, []).get('mxagent')).toBe('latest')
})

const plan = {
  ...{ strategy: 'canary', phases: 2, phase_sizes: [1, 2], max_failure_percentage: null, planned: 3 },
  gates: [{ max_failures: 0, max_failure_percentage: null, min_upgraded: 1 }, null],
}
const counts: MxedgeTargetCounts = { ...noCounts, planned: 2, upgraded: 1 }
const notes = [
  { reason: 'whole' },
  { mxedge_id: '1', reason: 'skipped: why' },
  { mxedge_id: '9', reason: 'skipped: why' },
]
const upgrade = { plan, counts, notes, status: 'upgrading' as const, phaseOpenedMs: 1, finishedAt: null }
const skipped = new Map<string, string>()
const idle: [] = []
const extent = { packages: [], lastOrdinal: 4, lastWave: 2, siteIds: [] }
const joining = [null, 'cluster', 'cluster'].map((clusterId, index) => {
  return { appliance: Object.assign({}, candidate, { id: String(index), clusterId }), steps: [], reasons: [] }
})

test('appliances that join come last, members of a cluster one after the other', () => {
  const inclusion = planMxedgeInclusion(upgrade, joining, {
    joins: 'last_phase',
    extent,
    idle,
    places: [],
    skipped,
    nowMs: 7,
  })
  expect(inclusion.plan).toEqual({ ...plan, phase_sizes: [1, 5], planned: 6 })
  expect(inclusion.counts).toEqual({ ...counts, planned: 5 })
  expect(inclusion.targets.map(({ phase, wave, ordinal }) => [phase, wave, ordinal])).toEqual([
    [2, 3, 5],
    [2, 3, 6],
    [2, 4, 7],
  ])
})

test.each([
  [upgrade, { status: 'upgrading', phaseOpenedMs: 1 }],
  [
    { ...upgrade, status: 'completed' as const, finishedAt: new Date(0) },
    { status: 'upgrading', phaseOpenedMs: 7 },
  ],
  [
    { ...upgrade, status: 'completed' as const, phaseOpenedMs: null, finishedAt: new Date(0) },
    { status: 'queued', phaseOpenedMs: null },
  ],
])('an upgrade that has ended continues with those that join', (before, standing) => {
  const facts = { joins: 'last_phase' as const, extent, idle, places: [], skipped, nowMs: 7 }
  expect(planMxedgeInclusion(before, joining, facts)).toMatchObject(standing)
})

test('each has a phase of its own where few are upgraded at once, and brings the windows of its site', () => {
  const places = [{ site_id: 'site', timezone: 'UTC', windows: [{ start: '01:00', end: '02:00' }] }]
  const inclusion = planMxedgeInclusion(upgrade, joining.slice(1), {
    joins: 'own_phase',
    extent,
    idle,
    places,
    skipped,
    nowMs: 7,
  })
  expect(inclusion.plan).toMatchObject({ phases: 4, phase_sizes: [1, 2, 1, 1], planned: 5, windows: places })
  expect(inclusion.plan.gates).toHaveLength(4)
  expect(inclusion.targets.map(({ phase, wave }) => [phase, wave])).toEqual([
    [3, 1],
    [4, 1],
  ])
})

test('those that the plan skipped are no longer skipped, nor noted', () => {
  const before = { ...upgrade, counts: { ...counts, skipped: 2 } }
  const facts = {
    joins: 'last_phase' as const,
    extent,
    idle,
    places: [],
    skipped: new Map([
      ['1', 'why'],
      ['9', 'why'],
    ]),
    nowMs: 7,
  }
  const inclusion = planMxedgeInclusion(before, joining, facts)
  expect(inclusion.counts).toEqual({ ...counts, planned: 5, skipped: 1 })
  expect(inclusion.notes).toEqual([{ reason: 'whole' }, { mxedge_id: '9', reason: 'skipped: why' }])
})

test('services of those that join are noted if they stay at their versions', () => {
  const facts = { joins: 'last_phase' as const, extent, idle, places: [], skipped, nowMs: 7 }
  const planned = joining.slice(0, 1).map((each) => Object.assign({}, each, { reasons: ['it has no service mxagent'] }))
  const { notes: after } = planMxedgeInclusion(upgrade, planned, facts)
  expect(after).toEqual([...notes, { mxedge_id: '0', reason: 'it has no service mxagent' }])
})

test('those that stay skipped are noted with their present reason, which the others keep', () => {
  const planned = ['1', '7', '8', '9'].map((id) => {
    const upgradeId = id === '8' ? 'other' : null
    return { appliance: { ...candidate, id, upgradeId }, steps: [], reasons: id === '9' ? ['why'] : ['new', 'newer'] }
  })
  const known = new Map(['1', '8', '9'].map((id) => [id, 'why']))
  const facts = { joins: 'last_phase' as const, extent, idle: planned, places: [], skipped: known, nowMs: 7 }
  const { notes: after, skipReasons } = planMxedgeInclusion(upgrade, [], facts)
  expect([...skipReasons]).toEqual([
    ['1', 'new; newer'],
    ['8', 'new; newer'],
  ])
  expect(after).toEqual([
    { reason: 'whole' },
    { mxedge_id: '9', reason: 'skipped: why' },
    { mxedge_id: '1', reason: 'skipped: new; newer' },
    { mxedge_id: '8', reason: 'skipped: new; newer', kind: 'in_another_upgrade' },
  ])
})
