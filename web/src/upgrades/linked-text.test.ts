import { expect, it } from 'vitest'
import { partsOf, plainText, shortName } from './linked-text.ts'

const [one, other] = ['0199c0de-0000-7000-8000-00000000000a', '0199c0de-0000-7000-8000-00000000000b']

it('finds the upgrades that a text names', () => {
  expect(partsOf(`it is in upgrade ${one}`)).toEqual(['it is in ', { upgradeId: one }])
  expect(partsOf(`upgrade ${one} takes it over from upgrade ${other}, now`)).toEqual([
    { upgradeId: one },
    ' takes it over from ',
    { upgradeId: other },
    ', now',
  ])
})

it('finds their names', () => {
  const name = 'Fri "(7)"'
  expect(partsOf(`in upgrade "${name}" (${one}), not upgrade ${other}`)).toEqual([
    'in ',
    { upgradeId: one, name },
    ', not ',
    { upgradeId: other },
  ])
  expect(shortName({ upgradeId: one, name: 'Friday' })).toBe('upgrade "Friday"')
  expect(plainText(`in upgrade "Friday" (${one}), not upgrade ${other}`)).toBe(
    'in upgrade "Friday", not upgrade …00000b',
  )
})

it('leaves texts without one', () => {
  for (const text of ['in another upgrade', 'upgrade 7', `device ${one}`, `upgrade ${one}0`])
    expect(partsOf(text)).toEqual([text])
  expect(partsOf('')).toEqual([])
})

it('names an upgrade by the end of its id, because ids of the same time begin alike', () => {
  expect(shortName({ upgradeId: one })).toBe('upgrade …00000a')
})
