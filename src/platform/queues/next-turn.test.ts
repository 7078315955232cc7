import { expect, test } from 'vitest'
import { type Steps, atOnce, inTurns } from './next-turn.ts'

/** Each of `steps` steps takes `stepMs`. */
function* compute(steps: number, stepMs: number): Steps<number> {
  for (let step = 0; step < steps; step += 1) {
    for (const start = performance.now(); performance.now() - start < stepMs;);
    yield
  }
  return steps
}

test('a long computation lets others have their turn', async () => {
  let turns = 0
  const count = (): void => {
    turns += 1
    immediate = setImmediate(count)
  }
  let immediate = setImmediate(count)
  expect(await inTurns(compute(10, 11))).toBe(10)
  clearImmediate(immediate)
  expect(turns).toBeGreaterThanOrEqual(9)
})

test('a computation at once lets no other work run in between', () => {
  let turns = 0
  const immediate = setImmediate(() => (turns += 1))
  expect(atOnce(compute(3, 11))).toBe(3)
  clearImmediate(immediate)
  expect(turns).toBe(0)
})

test('an error of a step is that of the computation', async () => {
  // oxlint-disable-next-line require-yield -- It fails before.
  function* fail(): Steps<never> {
    throw new Error('no')
  }
  await expect(inTurns(fail())).rejects.toThrow('no')
})
