import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRange } from './range.ts'

const size = fc.integer({ min: 1, max: 2 ** 40 })

describe('parseRange', () => {
  it.each([
    [undefined, 'whole'],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=2-', { start: 2, end: 9 }],
    ['bytes=2-100', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-100', { start: 0, end: 9 }],
    ['BYTES=1-2', { start: 1, end: 2 }],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=5-4', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=0-1,3-4', 'whole'],
    ['lines=0-1', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['bytes=1.5-2', 'whole'],
  ])('parses %j of ten bytes as %j', (header, expected) => {
    expect(parseRange(header, 10)).toEqual(expected)
  })

  it('never exceeds the file', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^bytes=\d{0,17}-\d{0,17}$/)), size, (header, bytes) => {
        const range = parseRange(header, bytes)
        if (typeof range === 'string') return
        expect(range.start).toBeGreaterThanOrEqual(0)
        expect(range.end).toBeGreaterThanOrEqual(range.start)
        expect(range.end).toBeLessThan(bytes)
      }),
    )
  })

  it('resumes: the part before a byte and the part from it form the whole file', () => {
    fc.assert(
      fc.property(size, fc.double({ min: 0, max: 1, noNaN: true }), (bytes, share) => {
        const cut = Math.min(bytes - 1, Math.floor(bytes * share))
        expect(parseRange(`bytes=${cut}-`, bytes)).toEqual({ start: cut, end: bytes - 1 })
      }),
    )
  })
})
