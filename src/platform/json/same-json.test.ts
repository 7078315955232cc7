import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseExactJson } from './exact-json.ts'
import { isSameJson } from './same-json.ts'

const values = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)

it('compares as Node.js does', () => {
  const few = fc.constantFrom('{}', '[]', 'null', '0', '1', '""', '{"a":1}', '{"a":1,"b":[]}', '{"b":[],"a":1}', '[[]]')
  const pairs = fc.oneof(
    fc.tuple(values, values),
    fc.tuple(few, few).map((pair) => pair.map((text) => JSON.parse(text))),
  )
  fc.assert(
    fc.property(pairs, ([one, other]) => {
      expect(isSameJson(one, other)).toBe(isDeepStrictEqual(one, other))
      expect(isSameJson(one, structuredClone(one))).toBe(true)
    }),
  )
})

it('compares long integers by their digits', () => {
  const [one, same, other] = ['9007199254740993', '9007199254740993', '9007199254740995'].map((digits) =>
    parseExactJson(`{"a":[${digits}]}`),
  )
  expect([isSameJson(one, same), isSameJson(one, other)]).toEqual([true, false])
})
