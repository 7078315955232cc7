import { expect, test } from 'vitest'
import { type Joining, decodeJoining, encodeJoining, planJoining } from './plan-joining.ts'
import type { Candidate } from '../rollout/store-create.ts'
import type { OrgUpgradeBody } from './wire.ts'
import { parseOrgUpgrade } from './wire-parse.ts'

const stored = (body: OrgUpgradeBody): Joining =>
  decodeJoining(JSON.parse(JSON.stringify(encodeJoining(parseOrgUpgrade(body)))))

const ap: Candidate = {
  ...{ id: 'id', siteId: 'site', mac: '5c5b35000001', type: 'ap', model: 'AP45', name: 'Hall 1', role: null },
  ...{ connected: true, fromVersion: '1.0', memberVersions: [], commands: [] },
  ...{ snapshotRefusal: null, upgradeRefusal: null, mayRestore: true },
}
const catalog = ['1.0', '2.0', '3.0'].map((version) => ({
  model: 'AP45',
  version,
  tag: null,
  imageId: `image-${version}`,
  channel: null,
  reported: [],
  minVersion: null,
}))
const sites = [{ id: 'upgrade', siteId: 'site', windows: null }]

function versionOf(body: OrgUpgradeBody, device: Candidate = ap, pinned?: string): string | undefined {
  const versions =
    pinned === undefined ? [] : [{ model: 'AP45', targetVersion: pinned, reported: [], imageId: 'pinned' }]
  return planJoining(stored(body), [device], { sites, catalog, versions })[0]?.targetVersion
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
  const versions = [{ model: 'AP45', targetVersion: '2.0', reported: [], imageId: 'pinned' }]
  const join = (entries: typeof catalog | ReturnType<typeof needs>) =>
    planJoining(stored({}), [ap], { sites, catalog: entries, versions }).map(({ targetVersion }) => targetVersion)
  expect(join(needs('2.0', '1.5'))).toEqual([])
  expect(join(needs('3.0', '1.5'))).toEqual(['2.0'])
})

test('a device joins only where a window of its site is long enough', () => {
  const join = (end: string) =>
    planJoining(stored({}), [ap], {
      sites: [{ id: 'upgrade', siteId: 'site', windows: [{ start: '01:00', end }] }],
      catalog,
      versions: [],
    })
  // Ten minutes are over before the engine looks.
  expect([join('01:10').length, join('01:11').length]).toEqual([0, 1])
})
