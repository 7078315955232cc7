import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { gatherUnlocked } from './gather-unlocked.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

function start() {
  const rows = new Set<string>()
  const written: string[][] = []
  const repeats: boolean[] = []
  const refused: string[] = []
  const gatherer = gatherUnlocked<string>({
    name: 'test',
    log: pino({ level: 'silent' }),
    batch: { count: 3, bytes: Infinity },
    keepsTrying: true,
    rowOf: (item) => item.charAt(0),
    onRefused: (item) => void refused.push(item),
    async write(items, isRepeated) {
      repeats.push(isRepeated)
      const free = items.filter((item) => !rows.has(item.charAt(0)))
      if (free.length > 0) written.push(free)
      return rows
    },
  })
  return { gatherer, rows, written, repeats, refused }
}

test('items of a locked row wait, in their order, and others do not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const { gatherer, rows, written, repeats } = start()
    rows.add('a')
    const settled: string[] = []
    for (const item of ['a1', 'b1', 'a2', 'c1', 'a3', 'b2']) void gatherer.add(item).then(() => settled.push(item))
    await gatherer.flush()
    expect(written).toEqual([['b1'], ['c1', 'b2']])
    expect(gatherer.isLocked('a')).toBe(true)
    expect(settled.toSorted()).toEqual(['b1', 'b2', 'c1'])
    const late = gatherer.add('a4')
    await vi.advanceTimersByTimeAsync(20)
    await turn()
    await gatherer.flush()
    expect(written).toHaveLength(2)
    expect(repeats).toContain(true)
    rows.clear()
    await vi.advanceTimersByTimeAsync(40)
    await late
    expect(written.slice(2)).toEqual([['a1', 'a2', 'a3'], ['a4']])
    expect(settled.slice(3)).toEqual(['a1', 'a2', 'a3'])
    expect(gatherer.isLocked('a')).toBe(false)
    await gatherer.stop()
  } finally {
    vi.useRealTimers()
  }
})

test('a stop writes the items of a row that is free again, and rejects the others', async () => {
  const { gatherer, rows, written, refused } = start()
  rows.add('a').add('b')
  const [first, second] = [gatherer.add('a1'), gatherer.add('b1')]
  await gatherer.flush()
  rows.delete('a')
  await gatherer.stop()
  await first
  await expect(second).rejects.toThrow('Another transaction has locked the row')
  expect(written).toEqual([['a1']])
  // The database has not refused it.
  expect(refused).toEqual([])
  await expect(gatherer.add('b2')).rejects.toThrow()
})

test('a stop ends the repetition of a write that the database can not take', async () => {
  const gatherer = gatherUnlocked<string>({
    name: 'test',
    log: pino({ level: 'silent' }),
    batch: { count: 3, bytes: Infinity },
    keepsTrying: true,
    rowOf: (item) => item,
    write: () => Promise.reject(new Error('Connection terminated unexpectedly')),
  })
  const lost = gatherer.add('a')
  await turn()
  await gatherer.stop()
  await expect(lost).rejects.toThrow('Connection terminated unexpectedly')
})
