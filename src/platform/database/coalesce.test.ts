import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { coalesceEqual, coalesceReads } from './coalesce.ts'

/** Waits as many turns of the event loop as a batch gathers at most. */
async function gathered(): Promise<void> {
  for (let turn = 0; turn < 4; turn += 1) await nextTurn()
}

/** Loads that a test ends by hand, in the order in which they started. */
function heldLoads<I>() {
  const started: { readonly input: I; readonly end: () => void; readonly fail: (error: Error) => void }[] = []
  return {
    started,
    hold: (input: I) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      started.push({ input, end: resolve, fail: reject })
      return promise
    },
  }
}

describe('coalesceReads', () => {
  it('puts what waits at the same time into one batch, each key once', async () => {
    const loads: (readonly string[])[] = []
    const read = coalesceReads(async (keys) => {
      loads.push(keys)
      return new Map(keys.filter((key) => key !== 'none').map((key) => [key, key.toUpperCase()]))
    })
    expect(await Promise.all(['a', 'b', 'a', 'none'].map(read))).toEqual(['A', 'B', 'A', undefined])
    expect(loads).toEqual([['a', 'b', 'none']])
  })

  it('fails all reads of a batch that fails, and none of the next', async () => {
    let fails = true
    const read = coalesceReads(async (keys) => {
      if (fails) throw new Error('gone')
      return new Map(keys.map((key) => [key, 1]))
    })
    const results = await Promise.allSettled([read('a'), read('b')])
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    fails = false
    expect(await read('a')).toBe(1)
  })

  it('never joins a batch that has started, and runs two at most', async () => {
    const { started, hold } = heldLoads<readonly string[]>()
    const read = coalesceReads(async (keys) => {
      await hold(keys)
      return new Map(keys.map((key) => [key, started.length]))
    })
    const reads = [read('a')]
    await nextTurn()
    reads.push(read('a'))
    await nextTurn()
    reads.push(read('a'), read('c'))
    await gathered()
    expect(started.map(({ input }) => input)).toEqual([['a'], ['a']])
    started[0]?.end()
    await reads[0]
    expect(started.map(({ input }) => input)).toEqual([['a'], ['a'], ['a', 'c']])
    for (const { end } of started) end()
    await Promise.all(reads)
  })

  it('starts the next turn for a read that stays alone, and gathers a few turns while more come', async () => {
    const { started, hold } = heldLoads<readonly string[]>()
    const read = coalesceReads(async (keys) => {
      await hold(keys)
      return new Map<string, never>()
    })
    const reads = [read('alone')]
    await nextTurn()
    expect(started.map(({ input }) => input)).toEqual([['alone']])
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      reads.push(read(key), read(key))
      await nextTurn()
    }
    expect(started[1]?.input).toEqual(['a', 'b', 'c', 'd'])
    started[0]?.end()
    await gathered()
    for (const { end } of started) end()
    await Promise.all(reads)
  })

  it('answers with nothing older than the moment of the call', () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 3 }), { minLength: 1, maxLength: 40 }), async (turns) => {
        let version = 0
        const read = coalesceReads(async (keys) => {
          const seen = version
          await nextTurn()
          return new Map(keys.map((key) => [key, seen]))
        })
        const answers: Promise<readonly [number, number | undefined]>[] = []
        for (const wait of turns) {
          version += 1
          const atCall = version
          answers.push(read(`key ${wait}`).then((seen) => [atCall, seen] as const))
          for (let turn = 0; turn < wait; turn += 1) await nextTurn()
        }
        for (const [atCall, seen] of await Promise.all(answers)) expect(seen).toBeGreaterThanOrEqual(atCall)
      }),
    ))
})

interface Read {
  readonly id: string
}

describe('coalesceEqual', () => {
  it('shares the answer of equal reads only', async () => {
    const loads: string[] = []
    const read = coalesceEqual(async ({ id }: Read) => {
      loads.push(id)
      return { id }
    })
    const [a, b, again] = await Promise.all(['a', 'b', 'a'].map((id) => read({ id })))
    expect([a, b]).toEqual([{ id: 'a' }, { id: 'b' }])
    expect(again).toBe(a)
    expect(loads.toSorted()).toEqual(['a', 'b'])
  })

  it('reads again for later callers, and does not wait for a different slow read', async () => {
    const { started, hold } = heldLoads<string>()
    const read = coalesceEqual(async ({ id }: Read) => {
      if (id === 'slow') await hold(id)
      return {}
    })
    const slow = [read({ id: 'slow' })]
    await nextTurn()
    const first = await read({ id: 'fast' })
    expect(await read({ id: 'fast' })).not.toBe(first)
    slow.push(read({ id: 'slow' }))
    await nextTurn()
    expect(started).toHaveLength(2)
    for (const { end } of started) end()
    expect(await slow[0]).not.toBe(await slow[1])
  })

  it('passes a failure only to the callers that share it', async () => {
    const { started, hold } = heldLoads<string>()
    const read = coalesceEqual(({ id }: Read) => hold(id))
    const failing = Promise.allSettled([read({ id: 'a' }), read({ id: 'a' })])
    await gathered()
    started[0]?.fail(new Error('gone'))
    expect((await failing).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const next = read({ id: 'a' })
    await nextTurn()
    started[1]?.end()
    await expect(next).resolves.toBeUndefined()
  })
})
