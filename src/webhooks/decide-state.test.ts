import { expect, it } from 'vitest'
import { decideState } from './decide-state.ts'

const signs = { enabled: true, pending: 0, failures: 0, openUntil: null, lastError: null }

it('is healthy until an attempt fails, whatever waits', () => {
  expect(decideState({ ...signs, pending: 9, lastError: 'answered 500' })).toEqual({ state: 'healthy', reason: null })
})

it('says how often the receiver failed, what waits and why', () => {
  expect(decideState({ ...signs, failures: 1, pending: 1, lastError: 'answered 500' })).toEqual({
    state: 'failing',
    reason: 'The last attempt failed, and 1 message waits: answered 500',
  })
  expect(decideState({ ...signs, failures: 7, pending: 3, openUntil: new Date() })).toEqual({
    state: 'paused',
    reason: 'The last 7 attempts failed, and 3 messages wait',
  })
})

it('says that the receiver has asked for a pause', () => {
  const reason = 'The receiver has asked for a pause, and 2 messages wait'
  expect(decideState({ ...signs, pending: 2, openUntil: new Date() })).toEqual({ state: 'paused', reason })
})

it('is disabled first of all', () => {
  expect(decideState({ ...signs, enabled: false, failures: 7, pending: 3 })).toEqual({
    state: 'disabled',
    reason: 'The webhook is disabled, and 3 messages wait',
  })
})
