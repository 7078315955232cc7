import { expect, test } from 'vitest'
import { candidateOf, catalogEntry } from '../../test/support/fleets/candidates.ts'
import { type Joining, decodeJoining, encodeJoining, planJoining } from './planning/plan-joining.ts'
import type { UpgradePlan } from '../rollout/rollout.ts'
import type { LaterSites } from './planning/plan-later-sites.ts'
import { type JoiningSelection, allDevices } from './planning/plan-selection.ts'
import type { Candidate } from '../rollout/store-candidates.ts'
import type { OrgUpgradeBody } from './wire.ts'
import { parseOrgUpgrade } from './wire-parse.ts'

function stored(body: OrgUpgradeBody, laterSites: LaterSites | null = null): Joining {
  const request = parseOrgUpgrade({ include_new: true, ...body })
  if (request.includeNew === null) throw new Error('nothing may join')
  return decodeJoining(
    JSON.parse(JSON.stringify(encodeJoining(request, { selection: request.includeNew, laterSites }))),
  )
}

const ap = candidateOf('5c5b35000001', { model: 'AP45', name: 'Hall 1' })
const catalog = ['1.0', '2.0', '3.0'].map((version) => catalogEntry(version, { model: 'AP45' }))
const parsedPlan: UpgradePlan = {
  ...{ strategy: 'big_bang', phase_scope: 'site', phases: 1, phase_sizes: null, gates: null, stages: false },
  ...{ max_failure_percentage: null, planned: 0, timezone: 'UTC' },
}
const sites = [{ siteId: 'site', windows: null }]

function versionOf(body: OrgUpgradeBody, device: Candidate = ap, pinned?: string): string | undefined {
  const versions =
    pinned === undefined ? [] : [{ model: 'AP45', targetVersion: pinned, reported: [], imageId: `image ${pinned}` }]
  return planJoining(stored(body), [device], { sites, catalog, versions }).joining[0]?.targetVersion
}

test.each<[string, OrgUpgradeBody, Partial<Candidate>, string | undefined]>([
  ['gets the latest version', {}, {}, '3.0'],
  ['gets the version of its model', { versions: [{ version: '3.0', model_version: { AP45: '2.0' } }] }, {}, '2.0'],
  ['does not join on that version', { version: '2.0' }, { fromVersion: '2.0' }, undefined],
  ['joins on that version if forced', { version: '2.0', force: true }, { fromVersion: '2.0' }, '2.0'],
  ['does not join if it can not be upgraded', {}, { upgradeRefusal: 'no' }, undefined],
  ['joins by its name', { rules: [{ 'match_name[0:4]': 'Hall' }] }, {}, '3.0'],
  ['does not join by another name', { rules: [{ 'match_name[0:4]': 'Hall' }] }, { name: 'Attic' }, undefined],
  ['does not join batches of access points', { strategy: 'rrm' }, { type: 'switch' }, undefined],
  ['does not join as another type', { device_type: 'switch' }, {}, undefined],
])('a device %s', (_, body, device, version) => {
  expect(versionOf(body, { ...ap, ...device })).toBe(version)
})

test('a device gets what others of its model have got, and goes back to no older version', () => {
  expect(versionOf({}, ap, '2.0')).toBe('2.0')
  expect(versionOf({}, { ...ap, fromVersion: '2.0' }, '2.0')).toBeUndefined()
  expect(versionOf({}, { ...ap, fromVersion: '3.0' }, '2.0')).toBeUndefined()
  expect(versionOf({}, { ...ap, fromVersion: '2.5' }, '2.0')).toBeUndefined()
})

test('the lowest version that counts is that of the version which others of the model have got', () => {
  const needs = (version: string, minVersion: string) =>
    catalog.map((entry) => (entry.version === version ? { ...entry, minVersion } : entry))
  const versions = [{ model: 'AP45', targetVersion: '2.0', reported: [], imageId: 'image 2.0' }]
  const join = (entries: typeof catalog) =>
    planJoining(stored({}), [ap], { sites, catalog: entries, versions }).joining.map(
      ({ targetVersion }) => targetVersion,
    )
  expect(join(needs('2.0', '1.5'))).toEqual([])
  expect(join(needs('3.0', '1.5'))).toEqual(['2.0'])
})

test('a device joins only where a window of its site is long enough', () => {
  const join = (end: string) =>
    planJoining(stored({}), [ap], {
      sites: [{ siteId: 'site', windows: [{ start: '01:00', end }] }],
      catalog,
      versions: [],
    }).joining
  // Ten minutes are over before the engine looks.
  expect([join('01:10').length, join('01:11').length]).toEqual([0, 1])
})

test.each<[string, Partial<JoiningSelection>, boolean]>([
  ['an SSR router', {}, true],
  ['one that the request could have named', { except: new Set([ap.id]) }, false],
  ['a device of another kind', { onlySsr: true }, false],
])('of routers joins %s', (_, limits, joins) => {
  const selection = { ...allDevices, ...limits }
  const { versions, phasing, ...request } = parseOrgUpgrade({ version: '2.0' })
  const document = encodeJoining({ ...request, versions, phasing }, { selection, laterSites: null })
  const joining = decodeJoining(JSON.parse(JSON.stringify(document)))
  expect(planJoining(joining, [ap], { sites, catalog, versions: [] }).joining).toHaveLength(joins ? 1 : 0)
})

test('a device that cannot do the only part of the upgrade stays outside', () => {
  const request = {
    ...parseOrgUpgrade({ version: '2.0', include_new: true }),
    only: { field: 'reboot_at', part: 'stage' as const },
  }
  const joining = decodeJoining(
    JSON.parse(JSON.stringify(encodeJoining(request, { selection: allDevices, laterSites: null }))),
  )
  const join = (device: Candidate) => planJoining(joining, [device], { sites, catalog, versions: [] }).joining.length
  expect([join(ap), join({ ...ap, commands: ['stage', 'activate'] })]).toEqual([0, 1])
})

test('what an upgrade does at later sites is stored with its times', () => {
  const at = new Date('2026-06-13T12:00:00Z')
  const laterSites: LaterSites = {
    plan: parsedPlan,
    start: { field: 'start_time', time: { kind: 'instant', at } },
    reboot: { field: 'reboot_datetime', time: { kind: 'local', localMs: at.getTime() } },
    windows: [{ start: '01:00', end: '02:00' }],
  }
  expect(stored({}, laterSites).laterSites).toEqual(laterSites)
  expect(stored({}).laterSites).toBeNull()
})
