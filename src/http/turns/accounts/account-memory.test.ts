import { expect, it } from 'vitest'
import { createAccountMemory } from './account-memory.ts'

it('finds the account of credentials until they are forgotten', () => {
  const memory = createAccountMemory()
  const found = (): unknown[] => ['a', 'b'].map((credentials) => memory.find(credentials))
  expect(found()).toEqual([undefined, undefined])
  memory.remember('a', 'first')
  memory.remember('b', 'second')
  expect(found()).toEqual(['first', 'second'])
  memory.forget('a')
  expect(found()).toEqual([undefined, 'second'])
})

it('forgets the oldest of more than ten thousand', () => {
  const memory = createAccountMemory()
  for (let number = 0; number <= 10_000; number += 1) memory.remember(String(number), 'account')
  const found = ['0', '1', '10000'].map((credentials) => memory.find(credentials))
  expect(found).toEqual([undefined, 'account', 'account'])
})
