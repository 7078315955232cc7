import { expect, it } from 'vitest'
import { MANY_CHOICES, nextChoice, shortenChoices, withMissing } from './choices.ts'

it('keeps what was chosen and has gone among the choices, first and marked', () => {
  const choices = [{ value: 'a', label: 'Lobby' }]
  expect(withMissing(choices, ['b', 'a'], 'no longer here')).toEqual([
    { value: 'b', label: 'b (no longer here)' },
    ...choices,
  ])
  expect(withMissing(choices, ['a'], 'no longer here')).toEqual(choices)
})

it('shows the first of many choices, those that are chosen, or those that a text finds', () => {
  const sites = Array.from({ length: 100 }, (_, index) => ({ value: String(index), label: `Site ${index}` }))
  const { shown, more } = shortenChoices(sites, { chosen: ['99', '3'], text: ' ' })
  expect(shown).toEqual([...sites.slice(0, MANY_CHOICES), sites[99]])
  expect(more).toBe(100 - MANY_CHOICES - 1)
  const found = shortenChoices(sites, { chosen: ['3'], text: ' SITE 9' })
  expect(found).toEqual({ shown: [sites[9], ...sites.slice(90)], more: 0 })
  const few = sites.slice(0, MANY_CHOICES)
  expect(shortenChoices(few, { chosen: [], text: '' })).toEqual({ shown: few, more: 0 })
})

it('goes from choice to choice, and around the ends', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((value) => ({ value, label: value }))
  const all = [a, b, c].filter((choice) => choice !== undefined)
  expect([nextChoice(all, a, 1), nextChoice(all, c, 1), nextChoice(all, a, -1)]).toEqual([b, a, c])
  expect([nextChoice(all, undefined, 1), nextChoice(all, undefined, -1), nextChoice([], a, 1)]).toEqual([
    a,
    c,
    undefined,
  ])
})
