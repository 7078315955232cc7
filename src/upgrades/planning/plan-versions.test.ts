import { describe, expect, test } from 'vitest'
import { catalogEntry } from '../../../test/support/fleets/candidates.ts'
import { type CatalogEntry, type VersionChoice, findVersion, resolveVersion } from './plan-versions.ts'

const entry = (model: string, version: string, tag: string | null = null): CatalogEntry =>
  catalogEntry(version, { model, tag, imageId: `${model} ${version}` })
const choice = (more: Partial<VersionChoice>): VersionChoice => ({
  firmwareType: null,
  version: null,
  modelVersion: new Map(),
  force: false,
  ...more,
})
const ap = { type: 'ap' as const, model: 'AP-1' }

const catalog = [
  entry('AP-1', '0.14.9', 'stable'),
  entry('AP-1', '0.14.10', 'stable'),
  entry('AP-1', '0.15.1', 'alpha'),
  entry('SW-1', '23.4R2', 'suggested'),
]

describe('a version of a model', () => {
  test('with no label of its own is meant by the name of its channel, and by latest unless it is unsteady', () => {
    const inChannel = (version: string, channel: CatalogEntry['channel']) => ({ ...entry('AP-1', version), channel })
    const all = [
      inChannel('3.0', 'alpha'),
      inChannel('1.10', 'beta'),
      inChannel('1.0', 'stable'),
      inChannel('1.9', 'beta'),
    ]
    const found = ['latest', 'stable', 'beta', 'alpha', 'suggested'].map(
      (label) => findVersion(all, 'AP-1', label)?.version,
    )
    expect(found).toEqual(['1.0', '1.0', '1.10', '3.0', undefined])
    // A version with the label itself comes before the channel.
    expect(findVersion([...all, entry('AP-1', '1.1', 'beta')], 'AP-1', 'beta')?.version).toBe('1.1')
  })

  test.each([
    ['0.14.9', '0.14.9'],
    ['stable', '0.14.10'],
    ['alpha', '0.15.1'],
    ['latest', '0.14.10'],
    ['suggested', undefined],
    ['9.9', undefined],
  ])('%s is %s', (wanted, version) => {
    expect(findVersion(catalog, 'AP-1', wanted)?.version).toBe(version)
  })

  test('is not meant by latest if its tag or its channel is beta or alpha', () => {
    const versions = [
      entry('AP-2', '1.0', 'suggested'),
      entry('AP-2', '2.0', 'beta'),
      { ...entry('AP-2', '3.0', 'alpha'), channel: 'stable' as const },
      { ...entry('AP-2', '4.0', 'suggested'), channel: 'beta' as const },
    ]
    expect(findVersion(versions, 'AP-2', 'latest')?.version).toBe('1.0')
    expect(findVersion([entry('AP-3', '1.0', 'alpha')], 'AP-3', 'latest')).toBeUndefined()
  })

  test('the label latest counts where something bears it', () => {
    expect(findVersion([...catalog, entry('AP-1', '0.13.0', 'latest')], 'AP-1', 'latest')?.version).toBe('0.13.0')
  })
})

describe('resolving', () => {
  test('a version for the model beats the one for all', () => {
    const choices = [choice({ version: 'latest', modelVersion: new Map([['AP-1', '0.14.9']]), force: true })]
    expect(resolveVersion(ap, choices, catalog)).toEqual({ kind: 'found', entry: catalog[0], force: true })
  })

  test('the first choice that covers type and model counts', () => {
    const choices = [
      choice({ firmwareType: 'junos', version: 'suggested' }),
      choice({ firmwareType: 'ap', modelVersion: new Map([['AP-2', '1']]) }),
      choice({ firmwareType: 'ap', version: 'stable' }),
    ]
    expect(resolveVersion(ap, choices, catalog)).toMatchObject({ entry: { version: '0.14.10' } })
    expect(resolveVersion({ type: 'switch', model: 'SW-1' }, choices, catalog)).toMatchObject({
      entry: { version: '23.4R2' },
    })
  })

  test('of several alternatives, the first that the catalog has for the model', () => {
    const either = ['0.14.9', '23.4R2'].map((version) => choice({ version, isAlternative: true }))
    expect(resolveVersion(ap, either, catalog)).toMatchObject({ entry: { version: '0.14.9' } })
    const sw = { type: 'switch' as const, model: 'SW-1' }
    expect(resolveVersion(sw, either, catalog)).toMatchObject({ entry: { version: '23.4R2' } })
    expect(resolveVersion({ ...ap, model: 'AP-9' }, either, catalog)).toEqual({
      kind: 'none',
      reason: 'no firmware 0.14.9 for model AP-9',
    })
  })

  test('a choice that the catalog lacks for the model leaves no room for the next one, unless that is an alternative', () => {
    const missing = { kind: 'none', reason: 'no firmware 9.9 for model AP-1' }
    expect(resolveVersion(ap, [choice({ version: '9.9' }), choice({ version: 'stable' })], catalog)).toEqual(missing)
  })

  test.each([
    ['stable', true, true],
    ['0.14.9', true, undefined],
    ['stable', false, undefined],
  ])('a higher version is kept by %s: %s', (version, wanted, keepsHigher) => {
    const found = resolveVersion(ap, [choice({ version, keepsHigher: wanted })], catalog)
    expect(found.kind === 'found' ? found.keepsHigher : null).toBe(keepsHigher)
  })

  test('nothing covers it, or the catalog has none', () => {
    const models = choice({ modelVersion: new Map([['AP-2', '1']]) })
    const reason = 'no version requested for model AP-1'
    expect(resolveVersion(ap, [models], catalog)).toEqual({ kind: 'none', reason })
    expect(resolveVersion(ap, [choice({ firmwareType: 'junos', version: 'latest' })], catalog)).toMatchObject({
      kind: 'none',
    })
    expect(resolveVersion({ ...ap, model: 'AP-9' }, [choice({ version: 'latest' })], catalog)).toEqual({
      kind: 'none',
      reason: 'no firmware latest for model AP-9',
    })
  })
})
