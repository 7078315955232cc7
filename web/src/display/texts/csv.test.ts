import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { csvOf } from './csv.ts'

it('is read as it was written', () => {
  const text = fc.string().filter((cell) => !/^[=+\-@\t\r]/.test(cell))
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { minLength: 1 }), (rows) => {
      expect(parse(csvOf(['a', 'b'], rows), { relax_column_count: false })).toEqual([['a', 'b'], ...rows])
    }),
  )
})

it('has no formulas', () => {
  expect(csvOf(['name'], [['=1+1'], ['-x'], ['@a'], ['1-1']])).toBe("name\r\n'=1+1\r\n'-x\r\n'@a\r\n1-1\r\n")
})
