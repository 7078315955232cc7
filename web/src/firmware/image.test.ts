import { expect, test } from 'vitest'
import { usesOf } from './image.ts'

test('an image says for which models and packages it is', () => {
  const image = { id: 'id', org_id: 'org', sha256: '', size: 1, created_time: 1 }
  const versions = [
    { model: 'AP45', version: '1.0', reported: [], tag: 'stable' },
    { model: 'AP63', version: '1.0', reported: [], channel: 'beta' as const, tag: 'latest' },
  ]
  const packages = [{ package: 'tunterm', version: '2.0', channel: 'stable' as const, default: true, distro: 'noble' }]
  expect(usesOf({ ...image, versions, packages })).toEqual([
    'AP45 1.0 (stable)',
    'AP63 1.0 (latest, beta)',
    'tunterm 2.0 (noble, stable, default)',
  ])
})
