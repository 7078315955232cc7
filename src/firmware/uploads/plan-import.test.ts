import { expect, test } from 'vitest'
import { type ImportFile, planImport } from './plan-import.ts'
import type { ModelOffer, PackageOffer } from './upload-image.ts'

const empty = { images: [], versions: [], packages: [] }

function image(sha256: string, version: string, traits: Partial<ModelOffer> = {}): ImportFile {
  const given = { models: ['AP45'], tag: null, channel: null, reported: [], minVersion: null }
  return { sha256, version, signature: null, as: { kind: 'models', ...given, ...traits } }
}

function tunterm(sha256: string, version: string, traits: Partial<PackageOffer> = {}): ImportFile {
  const given = { package: 'tunterm', distro: null, channel: 'stable', isDefault: false } as const
  return { sha256, version, signature: null, as: { kind: 'package', ...given, ...traits } }
}

const stepsOf = (...files: readonly ImportFile[]) =>
  planImport(empty, files).map((step) => (step.kind === 'refused' ? step.problem : step.kind))

test('a file that a manifest names twice is imported once', () => {
  expect(stepsOf(image('a', '1'), image('a', '1'))).toEqual(['new', 'present'])
  const byDefault = tunterm('a', '1', { isDefault: true })
  expect(stepsOf(byDefault, byDefault)).toEqual(['new', 'present'])
  expect(stepsOf(image('a', '1'), image('a', '1', { models: ['AP45', 'AP34'] }))).toEqual(['new', 'changed'])
})

test('a version that a manifest names twice with different values is refused, because no import would be the last', () => {
  const problem = 'AP45 has version 1 twice, with different values'
  expect(stepsOf(image('a', '1'), image('a', '1', { tag: 'latest' }))).toEqual(['new', problem])
  expect(stepsOf(image('a', '1', { reported: ['x'] }), image('a', '1', { reported: ['y'] }))).toEqual(['new', problem])
  expect(
    stepsOf(tunterm('a', '1', { distro: 'bookworm' }), tunterm('a', '1', { distro: 'bookworm', channel: 'beta' })),
  ).toEqual(['new', 'tunterm for bookworm has version 1 twice, with different values'])
})

test('the same bytes with two signatures are refused, because no import would be the last', () => {
  const signed = (signature: string | null, model: string) => ({ ...image('a', '1', { models: [model] }), signature })
  expect(stepsOf(signed('x', 'AP45'), signed('y', 'AP34'))).toEqual([
    'new',
    'The same bytes have two signatures, but an image has one',
  ])
  expect(stepsOf(signed('x', 'AP45'), signed(null, 'AP34'), signed('x', 'AP33'))).toEqual(['new', 'changed', 'changed'])
})

test('two packages are not both the default of a channel, but may be of two', () => {
  const [one, two] = [tunterm('a', '1', { isDefault: true }), tunterm('b', '2', { isDefault: true })]
  expect(stepsOf(one, two)).toEqual(['new', 'tunterm has two defaults in the channel stable'])
  expect(stepsOf(one, tunterm('b', '2', { isDefault: true, channel: 'beta' }))).toEqual(['new', 'new'])
  expect(stepsOf(one, tunterm('b', '2', { isDefault: true, distro: 'bookworm' }))).toEqual(['new', 'new'])
})

test('the same bytes with a new signature are updated', () => {
  const known = { id: 'id', sha256: 'a', signature: 'old' }
  const versions = [
    {
      model: 'AP45',
      version: '1',
      imageId: 'id',
      tag: null,
      channel: null,
      reported: [],
      minVersion: null,
      createdAt: new Date(0),
    },
  ]
  const kindWith = (signature: string | null) =>
    planImport({ images: [known], versions, packages: [] }, [{ ...image('a', '1'), signature }])[0]?.kind
  expect([kindWith(null), kindWith('old'), kindWith('new')]).toEqual(['present', 'present', 'changed'])
})
