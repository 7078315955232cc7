import { expect, it } from 'vitest'
import { withMissing } from './choices.ts'

it('keeps what was chosen and has gone among the choices, first and marked', () => {
  const choices = [{ value: 'a', label: 'Lobby' }]
  expect(withMissing(choices, ['b', 'a'], 'no longer here')).toEqual([
    { value: 'b', label: 'b (no longer here)' },
    ...choices,
  ])
  expect(withMissing(choices, ['a'], 'no longer here')).toEqual(choices)
})
