import fc from 'fast-check'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type GatherOptions, createGatherer } from './gather.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** The error of pg for a broken connection. */
const away = (): Error => new Error('Connection terminated unexpectedly')
/** An error that marks a repetition as useless. */
const refusal = (item: unknown): Error => new TypeError(`refused ${String(item)}`)

type Options<T> = Partial<GatherOptions<T>> & { readonly failure?: (items: readonly T[]) => Error | null }

function start<T = number>({ failure = () => null, ...options }: Options<T> = {}) {
  const tries: T[][] = []
  const refused: T[] = []
  const gatherer = createGatherer<T>({
    name: 'numbers',
    log: pino({ level: 'silent' }),
    batch: { count: 100, bytes: 1000 },
    keepsTrying: true,
    onRefused: (item) => refused.push(item),
    async write(items) {
      tries.push([...items])
      await Promise.resolve()
      const error = failure(items)
      if (error !== null) throw error
    },
    ...options,
  })
  return { gatherer, tries, refused, addAll: (items: readonly T[]) => items.map((item) => gatherer.add(item)) }
}

const run = (ms = 0) => vi.advanceTimersByTimeAsync(ms)

test('no gatherer has both a fixed wait and a spacing', () => {
  // @ts-expect-error -- One of them would have no effect.
  const both: Options<number> = { wait: { ms: 20, count: 3 }, spacing: { ms: 100, arrivalsPerS: 10 } }
  expect(Object.keys(both)).toEqual(['wait', 'spacing'])
})

describe('when a batch is written', () => {
  test('writes together what came in one turn, and a lone item without a wait', async () => {
    const { gatherer, tries, addAll } = start()
    const added = Promise.all(addAll([1, 2, 3]))
    expect(tries).toEqual([])
    await run()
    await added
    void gatherer.add(4)
    await run()
    expect(tries).toEqual([[1, 2, 3], [4]])
  })

  test('what arrives during a write makes the next batch, and writes never overlap', async () => {
    const ends: (() => void)[] = []
    const write = vi.fn(async (_items: readonly number[]) => new Promise<void>((resolve) => ends.push(resolve)))
    const { gatherer } = start({ write })
    void gatherer.add(1)
    await run()
    void gatherer.add(2)
    void gatherer.add(3)
    await run(1000)
    expect(write.mock.calls).toEqual([[[1]]])
    ends.shift()?.()
    await run()
    expect(write.mock.calls).toEqual([[[1]], [[2, 3]]])
    ends.shift()?.()
    await gatherer.flush()
  })

  test('waits for more until there are enough or the time is over', async () => {
    const { gatherer, tries, addAll } = start({ wait: { ms: 20, count: 3 } })
    void addAll([1, 2])
    await run(19)
    expect(tries).toEqual([])
    await run(1)
    expect(tries).toEqual([[1, 2]])
    void addAll([3, 4, 5])
    await run()
    expect(tries).toEqual([
      [1, 2],
      [3, 4, 5],
    ])
    await run(100)
    expect(vi.getTimerCount()).toBe(0)
    void gatherer.add(6)
    await gatherer.flush()
    expect(tries.at(-1)).toEqual([6])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('waits for more after a write as well, unless there are enough or somebody asks for a flush', async () => {
    const ends: (() => void)[] = []
    const write = vi.fn(async (_items: readonly number[]) => new Promise<void>((resolve) => ends.push(resolve)))
    const { gatherer, addAll } = start({ write, wait: { ms: 20, count: 3 } })
    const endWrite = async (): Promise<void> => {
      ends.shift()?.()
      await run()
    }
    void addAll([1, 2, 3])
    void gatherer.add(4)
    await endWrite()
    expect(write.mock.calls).toEqual([[[1, 2, 3]]])
    await run(20)
    void addAll([5, 6, 7])
    await endWrite()
    void gatherer.add(8)
    void gatherer.flush()
    void gatherer.add(9)
    await endWrite()
    expect(write.mock.calls.slice(1)).toEqual([[[4]], [[5, 6, 7]], [[8, 9]]])
    await endWrite()
    expect(vi.getTimerCount()).toBe(0)
  })

  test('spaces the batches of a stream until one is full, and writes a lone item at once', async () => {
    const { gatherer, tries, addAll } = start({
      batch: { count: 5, bytes: Infinity },
      spacing: { ms: 100, arrivalsPerS: 10 },
    })
    void addAll([1, 2])
    await run()
    expect(tries).toEqual([[1, 2]])
    void addAll([3])
    await run(60)
    void addAll([4])
    await run(39)
    expect(tries).toHaveLength(1)
    await run(2)
    expect(tries.at(-1)).toEqual([3, 4])
    void addAll([5, 6, 7, 8, 9])
    await run()
    expect(tries.at(-1)).toEqual([5, 6, 7, 8, 9])
    void addAll([10])
    await run()
    expect(tries).toHaveLength(3)
    void gatherer.flush()
    await run()
    expect(tries.at(-1)).toEqual([10])
    expect(vi.getTimerCount()).toBe(0)
    await run(2000)
    void addAll([11])
    await run()
    expect(tries.at(-1)).toEqual([11])
  })

  test('spaces items that arrive during a write by the start of that write', async () => {
    const ends: (() => void)[] = []
    const write = vi.fn(async (_items: readonly number[]) => new Promise<void>((resolve) => ends.push(resolve)))
    const { gatherer, addAll } = start({ write, spacing: { ms: 100, arrivalsPerS: 10 } })
    void addAll([1, 2])
    await run(30)
    void gatherer.add(3)
    await run(30)
    ends.shift()?.()
    await run(39)
    expect(write.mock.calls).toEqual([[[1, 2]]])
    await run(2)
    expect(write.mock.calls).toEqual([[[1, 2]], [[3]]])
    ends.shift()?.()
    await gatherer.stop()
  })

  test('does not space what a stop or a flush waits for', async () => {
    const { gatherer, tries, addAll } = start({ spacing: { ms: 100, arrivalsPerS: 10 } })
    void addAll([1, 2])
    await run()
    void addAll([3, 4])
    await run()
    expect(tries).toHaveLength(1)
    const stopped = gatherer.stop()
    await run()
    await stopped
    void addAll([5])
    await run()
    expect(tries).toEqual([[1, 2], [3, 4], [5]])
    expect(vi.getTimerCount()).toBe(0)
  })

  test('limits a batch in items and bytes; an item that is too large goes alone', async () => {
    const { tries, addAll } = start({ batch: { count: 3, bytes: 10 }, bytesOf: (item) => item })
    void addAll([1, 1, 1, 1, 9, 50, 2])
    await run()
    expect(tries).toEqual([[1, 1, 1], [1, 9], [50], [2]])
  })

  test('never puts a key twice into one batch', async () => {
    const { tries, addAll } = start({ keyOf: (item) => item % 10 })
    void addAll([1, 2, 11, 21, 3])
    await run()
    expect(tries).toEqual([[1, 2], [11], [21, 3]])
  })

  test('keeps the last item of a key, for as long as it waits', async () => {
    const { tries, addAll } = start({ keyOf: (item) => item % 10, keepsLast: true, bytesOf: (item) => item })
    const added = Promise.all(addAll([1, 2, 11, 21]))
    await run()
    await added
    expect(tries).toEqual([[21, 2]])
    void addAll([31])
    await run()
    expect(tries).toEqual([[21, 2], [31]])
  })
})

test('has room until too many items or bytes are unwritten, and again once they are written', async () => {
  const { gatherer, addAll } = start({ room: { count: 3, bytes: 100 }, bytesOf: (item) => item })
  void addAll([1, 1])
  expect(gatherer.hasRoom()).toBe(true)
  void addAll([1])
  expect(gatherer.hasRoom()).toBe(false)
  await run()
  expect(gatherer.hasRoom()).toBe(true)
  void addAll([100])
  expect(gatherer.hasRoom()).toBe(false)
  await run()
  expect(gatherer.hasRoom()).toBe(true)
})

describe('when a write fails', () => {
  test('repeats it with growing pauses while the database is away, in order, and loses nothing', async () => {
    let isAway = true
    const { gatherer, tries, addAll } = start({ failure: () => (isAway ? away() : null) })
    void addAll([1, 2])
    await run()
    void gatherer.add(3)
    await run(100 + 200)
    expect(tries).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ])
    await run(399)
    expect(tries).toHaveLength(3)
    isAway = false
    await run(1)
    expect(tries).toEqual([[1, 2], [1, 2], [1, 2], [1, 2], [3]])
  })

  test('never pauses for longer than three seconds', async () => {
    const { gatherer, tries } = start({ failure: away })
    void gatherer.add(1)
    await run(60_000)
    const before = tries.length
    await run(3000)
    expect(tries).toHaveLength(before + 1)
    await gatherer.stop()
  })

  test('a refused item fails alone', async () => {
    const { tries, refused, addAll } = start({ failure: (items) => (items.includes(3) ? refusal(3) : null) })
    const added = Promise.allSettled(addAll([1, 2, 3, 4, 5]))
    await run()
    expect((await added).map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true])
    expect(refused).toEqual([3])
    expect(tries).toEqual([[1, 2, 3, 4, 5], [1, 2, 3], [1, 2], [3], [4, 5]])
  })

  test('is not repeated where the callers decide, except to find the items at fault', async () => {
    const { tries, addAll } = start({ keepsTrying: false, failure: (items) => (items.includes(2) ? away() : null) })
    const added = Promise.allSettled(addAll([1, 2]))
    await run(10_000)
    expect((await added).map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(tries).toEqual([[1, 2], [1], [2]])
  })

  test('refuses the later items of a series, and counts none of them as refused by the database', async () => {
    const [one, other] = [{}, {}]
    const items = [
      { series: one, bad: true },
      { series: other, bad: false },
      { series: one, bad: false },
    ]
    const { gatherer, refused, tries, addAll } = start<(typeof items)[number]>({
      seriesOf: ({ series }) => series,
      failure: (some) => (some.some(({ bad }) => bad) ? refusal('bad') : null),
    })
    const added = Promise.allSettled(addAll(items))
    await run()
    expect((await added).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected'])
    expect(refused).toEqual([items[0]])
    const writes = tries.length
    const late = expect(gatherer.add({ series: one, bad: false })).rejects.toThrow('refused bad')
    await run()
    await late
    expect(tries).toHaveLength(writes)
  })
})

describe('stop', () => {
  test('writes what is left at once', async () => {
    const { gatherer, tries } = start({ wait: { ms: 60_000, count: 100 } })
    void gatherer.add(1)
    await gatherer.stop()
    expect(tries).toEqual([[1]])
    expect(vi.getTimerCount()).toBe(0)
  })

  test("ends a pause, tries once more and rejects what can't be written", async () => {
    const { gatherer, tries } = start({ failure: away, batch: { count: 1, bytes: 1 } })
    const added = Promise.allSettled([gatherer.add(1), gatherer.add(2)])
    await run()
    expect(tries).toEqual([[1]])
    await gatherer.stop()
    expect((await added).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(tries).toEqual([[1], [1], [2]])
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each([
    ['', {}],
    [', without waiting for more', { wait: { ms: 60_000, count: 100 } }],
  ])('still writes what is added later, once%s', async (_how, options) => {
    const { gatherer, tries } = start({ failure: (items) => (items.includes(2) ? away() : null), ...options })
    await gatherer.stop()
    const added = Promise.allSettled([gatherer.add(1)])
    await run()
    const lost = Promise.allSettled([gatherer.add(2)])
    await run(10_000)
    expect([...(await added), ...(await lost)].map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(tries).toEqual([[1], [2]])
  })
})

test('flush waits for what was added before it, and for nothing that came later', async () => {
  const ends: (() => void)[] = []
  const { gatherer } = start({ write: async () => new Promise<void>((resolve) => ends.push(resolve)) })
  void gatherer.add(1)
  await run()
  const flushed = vi.fn<() => void>()
  void gatherer.flush().then(flushed)
  void gatherer.add(2)
  await run()
  expect(flushed).not.toHaveBeenCalled()
  ends.shift()?.()
  await run()
  expect(flushed).toHaveBeenCalled()
  ends.shift()?.()
  await gatherer.flush()
})

test('whatever fails, every item is settled once, and each one that is not at fault is written once', async () => {
  vi.useRealTimers()
  const items = fc.array(fc.record({ bytes: fc.nat(20), bad: fc.boolean() }), { maxLength: 40 })
  await fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 8 }), fc.boolean(), async (all, count, keepsTrying) => {
      const written: (typeof all)[number][] = []
      const { gatherer, addAll } = start<(typeof all)[number]>({
        batch: { count, bytes: 30 },
        bytesOf: ({ bytes }) => bytes,
        keepsTrying,
        async write(some) {
          expect(some.length).toBeLessThanOrEqual(count)
          await Promise.resolve()
          if (some.some(({ bad }) => bad)) throw refusal('bad')
          written.push(...some)
        },
      })
      const settled = await Promise.allSettled(addAll(all))
      await gatherer.flush()
      expect(settled.map(({ status }) => status === 'rejected')).toEqual(all.map(({ bad }) => bad))
      expect(written).toEqual(all.filter(({ bad }) => !bad))
      expect(gatherer.hasRoom()).toBe(true)
    }),
  )
})
