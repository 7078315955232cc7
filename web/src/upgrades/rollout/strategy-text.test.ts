import { expect, it } from 'vitest'
import { strategyText, versionText } from './strategy-text.ts'

const phasesOf = (...sizes: readonly number[]) =>
  sizes.map((total, index) => ({ phase: index + 1, total, upgraded: 0, failed: 0, under_way: 0, cancelled: 0 }))

it.each([
  ['big_bang', phasesOf(40), 'big bang, 40 devices at once'],
  ['canary', phasesOf(1, 9, 30), 'canary, in 3 phases of 1, 9 and 30 devices'],
  ['canary', phasesOf(500, 2000, 2500), 'canary, in 3 phases of 500, 2,000 and 2,500 devices'],
  ['serial', phasesOf(1, 1, 1), 'serial, in 3 phases of 1 device each'],
  ['rrm', phasesOf(1, 2, 3, 4, 5, 6, 7), 'rrm, in 7 phases of up to 7 devices'],
  ['canary', [], 'canary'],
])('says how %s goes on', (strategy, phases, text) => {
  expect(strategyText({ strategy, phases }, 'device')).toBe(text)
})

it('names the versions if they are few', () => {
  const devices = 1
  expect(versionText({ target_version: '2', versions: [{ from: '1', to: '2', devices }] })).toBe('1 → 2')
  expect(versionText({ target_version: '2', versions: [{ to: '2', devices }] })).toBe('unknown → 2')
  const many = ['0.8', '0.9', '1'].map((from) => ({ from, to: '2', devices }))
  expect(versionText({ target_version: '2', versions: many })).toBe('3 versions → 2')
})
