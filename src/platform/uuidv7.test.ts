import { UUID } from 'uuidv7'
import { beforeEach, expect, it } from 'vitest'
import { Uuidv7Generator } from './uuidv7.ts'

let generator: Uuidv7Generator
beforeEach(() => (generator = new Uuidv7Generator()))

const at = Date.UTC(2026, 2, 1)
const timeOf = (id: string): number => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)

it('makes ids of version 7 that contain the time', () => {
  for (let ms = at; ms < at + 100; ms += 1) {
    const id = generator.next(ms)
    const parsed = UUID.parse(id)
    expect([parsed.getVersion(), parsed.getVariant(), parsed.toString()]).toEqual([7, 'VAR_10', id])
    expect(timeOf(id)).toBe(ms)
  }
})

it('makes each id greater than the one before, even if the clock goes back for a moment', () => {
  const ids = Array.from({ length: 20_000 }, (_, index) =>
    generator.next(at + (index % 7) * 100 - Math.floor(index / 7)),
  )
  expect(ids).toEqual([...new Set(ids)].toSorted())
})

it('follows a clock that goes back by more than ten seconds', () => {
  generator.next(at)
  expect(timeOf(generator.next(at - 10_001))).toBe(at - 10_001)
})

it('makes other ids than another process', () => {
  const other = new Uuidv7Generator()
  expect(new Set(Array.from({ length: 1000 }, () => [generator.next(at), other.next(at)]).flat()).size).toBe(2000)
})
