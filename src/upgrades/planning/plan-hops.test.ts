import { describe, expect, it } from 'vitest'
import { catalogEntry } from '../../../test/support/fleets/candidates.ts'
import { findTooLow } from '../../firmware/lowest-version.ts'
import { bindTarget, noteHops, planHops } from './plan-hops.ts'
import type { CatalogEntry } from './plan-versions.ts'

const entry = (version: string, minVersion: string | null = null, more: Partial<CatalogEntry> = {}): CatalogEntry =>
  catalogEntry(version, { minVersion, ...more })
const running = (fromVersion: string | null, memberVersions: readonly string[] = []) => ({
  fromVersion,
  memberVersions,
})
const versionsOf = (via: readonly CatalogEntry[] | null) => via?.map(({ version }) => version) ?? null

const catalog = [
  entry('1.0'),
  entry('1.5', '1.0'),
  entry('2.0', '1.5'),
  entry('2.1', '1.6'),
  entry('2.5', '2.0', { channel: 'beta' }),
  entry('3.0', '2.0'),
  entry('4.0', '3.0'),
]

describe('a version that can not be installed directly is reached', () => {
  it.each([
    ['over one that can', '1.5', '3.0', ['2.0']],
    ['over as few as possible', '1.0', '4.0', ['1.5', '2.0', '3.0']],
    ['over what the lowest one asks for exactly', '2.0', '4.0', ['3.0']],
  ])('%s', (_, from, to, via) => {
    const wanted = catalog.find(({ version }) => version === to) ?? entry(to)
    expect(versionsOf(planHops(running(from), wanted, catalog))).toEqual(via)
  })

  it.each([
    ['is in no stable channel', running('2.2'), [entry('3.5', null, { channel: 'beta' })]],
    ['has the tag of a trial version', running('2.2'), [entry('3.5', null, { tag: 'alpha' })]],
    ['is later than the wanted one', running('2.2'), [entry('5.0')]],
    ['is earlier than what runs', running('2.2'), [entry('2.0')]],
    ['belongs to another product', running('2.2'), [entry('x3.0')]],
    ['can not be installed itself', running('2.2'), [entry('3.0', '2.9')]],
    ['suits one member of a Virtual Chassis only', running('2.2', ['2.2', '1.9']), [entry('3.0', '2.0')]],
    ['follows a version that nobody knows', running(null), [entry('3.0')]],
  ])('over nothing that %s', (_, device, others) => {
    expect(planHops(device, entry('4.0', '3.0'), others)).toBeNull()
  })
})

it('a way is found for each wanted version, and for what it demands', () => {
  const wanted = (version: string, minVersion: string) => planHops(running('1.0'), entry(version, minVersion), catalog)
  expect(versionsOf(wanted('2.0', '1.5'))).toEqual(['1.5'])
  expect(versionsOf(wanted('4.0', '3.0'))).toEqual(['1.5', '2.0', '3.0'])
  expect(versionsOf(wanted('4.0', '1.5'))).toEqual(['1.5'])
  const trial = { channel: 'beta' } as const
  expect(versionsOf(planHops(running('2.2'), entry('4.0', '3.0'), [entry('3.5')]))).toEqual(['3.5'])
  expect(versionsOf(planHops(running('2.2'), entry('4.0', '3.0'), [entry('3.5', null, trial), entry('3.1')]))).toEqual([
    '3.1',
  ])
})

it('every hop can be installed on the one before, rises, and no way with fewer hops exists', () => {
  const digits = [1, 2, 3, 4, 5, 6, 7]
  let seed = 7
  const random = (below: number): number => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return Math.floor((seed / 2147483648) * below)
  }
  let found = 0
  for (let round = 0; round < 500; round += 1) {
    const some = digits.map((digit) => entry(`${digit}.0`, random(4) === 0 ? null : `${1 + random(digit)}.0`))
    const wanted = { ...entry('9.0', `${2 + random(6)}.0`) }
    const via = planHops(running('1.0'), wanted, some)
    expect(via?.length ?? null).toBe(shortest('1.0', wanted, some))
    if (via === null || via.length === 0) continue
    found += 1
    const way = ['1.0', ...via.map(({ version }) => version)]
    for (const [index, next] of [...via, wanted].entries())
      expect(findTooLow(running(way[index] ?? ''), next, some)).toBeNull()
    expect(way).toEqual(way.toSorted())
  }
  expect(found).toBeGreaterThan(50)
})

/** Finds it by trying all paths, in the order of their lengths. */
function shortest(from: string, wanted: CatalogEntry, some: readonly CatalogEntry[]): number | null {
  let reached = new Set([from])
  for (let hops = 0; hops <= some.length; hops += 1) {
    if ([...reached].some((at) => findTooLow(running(at), wanted, some) === null)) return hops
    reached = new Set(
      [...reached].flatMap((at) =>
        [at].concat(
          some
            .filter((one) => one.version > at && findTooLow(running(at), one, some) === null)
            .map((one) => one.version),
        ),
      ),
    )
  }
  return null
}

it('a target begins with its first hop and ends with the version that is wanted', () => {
  const wanted = entry('3.0', '2.0')
  expect(bindTarget(wanted)).toEqual({ imageId: 'image 3.0', targetVersion: '3.0', reported: null, path: null })
  expect(bindTarget(wanted, [entry('2.0', '1.5', { reported: ['2.0-stock'] })])).toEqual({
    imageId: 'image 2.0',
    targetVersion: '2.0',
    reported: ['2.0-stock'],
    path: [
      { version: '2.0', image_id: 'image 2.0', reported: ['2.0-stock'] },
      { version: '3.0', image_id: 'image 3.0', reported: [] },
    ],
  })
})

it('the record says how many devices take which way', () => {
  const plan = { kind: 'upgrade', entry: entry('3.0'), via: [entry('2.0')] }
  expect(noteHops([plan, plan, { kind: 'upgrade', entry: entry('3.0') }, { kind: 'leave_out' }])).toEqual([
    { reason: '2 devices reboot more than once: they install 2.0, then 3.0' },
  ])
})
