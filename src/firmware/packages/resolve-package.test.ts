import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compareVersions } from './compare-versions.ts'
import { type CatalogPackage, channels } from './package.ts'
import { resolvePackage } from './resolve-package.ts'

let made = 0
const entry = (version: string, traits: Partial<CatalogPackage> = {}): CatalogPackage => ({
  package: 'tunterm',
  version,
  distro: null,
  channel: 'stable',
  isDefault: false,
  imageId: String((made += 1)),
  ...traits,
})
const wanted = { service: 'tunterm', wanted: 'latest', channel: 'stable', distro: 'bookworm' } as const

describe('resolvePackage', () => {
  test('takes the newest for latest, of the channel and the steadier ones', () => {
    const catalog = [entry('1.9'), entry('1.10'), entry('2.0', { channel: 'beta' }), entry('3.0', { channel: 'alpha' })]
    const latest = channels.map((channel) => resolvePackage(catalog, { ...wanted, channel })?.version)
    expect(latest).toEqual(['1.10', '2.0', '3.0'])
  })

  test('takes what is marked for default, even if it is older, and nothing where nothing is', () => {
    const catalog = [entry('1.0', { isDefault: true }), entry('2.0')]
    expect(resolvePackage(catalog, { ...wanted, wanted: 'default' })?.version).toBe('1.0')
    expect(resolvePackage(catalog.slice(1), { ...wanted, wanted: 'default' })).toBeNull()
  })

  test('takes a version from any channel, and only that version', () => {
    const catalog = [entry('1.0', { channel: 'alpha' }), entry('1.00')]
    expect(resolvePackage(catalog, { ...wanted, wanted: '1.0' })).toBe(catalog[0])
    expect(resolvePackage(catalog, { ...wanted, wanted: '1.1' })).toBeNull()
  })

  test('leaves out other packages and other distributions, and prefers the own one to any', () => {
    const own = entry('1.0', { distro: 'bookworm' })
    const catalog = [entry('1.0'), own, entry('2.0', { distro: 'bullseye' }), entry('3.0', { package: 'mxagent' })]
    expect(resolvePackage(catalog, wanted)).toBe(own)
    expect(resolvePackage(catalog, { ...wanted, distro: null })).toBe(catalog[0])
    expect(resolvePackage(catalog, { ...wanted, distro: 'buster' })).toBe(catalog[0])
  })

  test('does not depend on the order of the catalog, and finds nothing newer on offer than latest', () => {
    const version = fc.constantFrom('1.0', '1.1', '1.1~rc1', '2:0.1', '10')
    const entries = fc.uniqueArray(
      fc.record({ version, channel: fc.constantFrom(...channels), distro: fc.constantFrom('bookworm', 'bullseye') }),
      { selector: ({ version: name, distro }) => `${name} ${distro}` },
    )
    fc.assert(
      fc.property(entries, fc.constantFrom(...channels), (all, channel) => {
        const catalog = all.map(({ version: name, ...traits }) => entry(name, traits))
        const found = resolvePackage(catalog, { ...wanted, channel })
        expect(resolvePackage(catalog.toReversed(), { ...wanted, channel })).toBe(found)
        const offered = catalog.filter(
          (one) => one.distro === 'bookworm' && channels.indexOf(one.channel) <= channels.indexOf(channel),
        )
        expect(found === null).toBe(offered.length === 0)
        for (const one of offered) expect(compareVersions(one.version, found?.version ?? '')).toBeLessThanOrEqual(0)
      }),
    )
  })
})
