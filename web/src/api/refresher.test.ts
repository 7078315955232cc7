import { expect, it } from 'vitest'
import { createRefresher } from './refresher.ts'

function setUp() {
  const ends: ((tookMs: number) => void)[] = []
  const rests: { readonly run: () => void; readonly ms: number }[] = []
  const refresher = createRefresher({
    refresh: () => new Promise((resolve) => ends.push(resolve)),
    schedule: (run, ms) => rests.push({ run, ms }),
  })
  /** Ends the latest read. */
  async function end(tookMs: number): Promise<void> {
    ends.at(-1)?.(tookMs)
    await Promise.resolve()
  }
  return { refresher, ends, rests, end }
}

it('reads at once, and what changes meanwhile once more after a rest', async () => {
  const { refresher, ends, rests, end } = setUp()
  for (let changes = 0; changes < 3; changes += 1) refresher.request()
  expect(ends).toHaveLength(1)
  await end(1000)
  refresher.request()
  expect([ends.length, rests.map(({ ms }) => ms)]).toEqual([1, [4000]])
  rests[0]?.run()
  expect(ends).toHaveLength(2)
  await end(10)
  expect(rests[1]?.ms).toBe(1500)
  rests[1]?.run()
  expect(ends).toHaveLength(2)
  refresher.request()
  expect(ends).toHaveLength(3)
})

it('reads no more once it is stopped', async () => {
  const { refresher, ends, rests, end } = setUp()
  refresher.request()
  refresher.request()
  await end(10)
  refresher.stop()
  rests[0]?.run()
  refresher.request()
  expect(ends).toHaveLength(1)
})
