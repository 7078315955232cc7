import { pino } from 'pino'
import { expect, test } from 'vitest'
import { createJournal } from './journal.ts'

test('keeps what it could not write, in order, until it can', async () => {
  const written: number[] = []
  let broken = true
  const journal = createJournal<number>(
    async (items) => {
      await Promise.resolve()
      if (broken) throw new Error('the database is away')
      written.push(...items)
    },
    pino({ level: 'silent' }),
  )
  journal.add(1)
  journal.add(2)
  await journal.flush()
  expect(written).toEqual([])
  broken = false
  journal.add(3)
  await journal.flush()
  expect(written).toEqual([1, 2, 3])
  await journal.flush()
  expect(written).toEqual([1, 2, 3])
})
