import { expect, test } from 'vitest'
import { LARGE_PLAN } from '../rollout.ts'
import { leavesMuchGarbage } from './decide-garbage.ts'

const options = { targetsPerRound: 1000 }
const large = { planned: LARGE_PLAN }
const reading = (...counts: number[]) => counts.map((length) => ({ targets: Array.from({ length }) }))

test.each([
  ['a large upgrade with many targets', [large], reading(500), true],
  [
    'a large upgrade with many targets at several sites',
    [large],
    reading(...Array.from({ length: 50 }, () => 10)),
    true,
  ],
  ['a large upgrade of which few devices have changed', [large], reading(499), false],
  ['an upgrade that is not large', [{ planned: LARGE_PLAN - 1 }], reading(1000), false],
  ['several upgrades of which one is large', [{ planned: 3 }, large], reading(3, 600), true],
])('a round of %s leaves much garbage: %#', (_, orgUpgrades, siteUpgrades, expected) => {
  expect(leavesMuchGarbage(orgUpgrades, siteUpgrades, options)).toBe(expected)
})
