import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isObject } from './is-object.ts'
import { hasLongIntegers, parseExactJson, roundIntegers } from './exact-json.ts'

describe('JSON with integers of any length', () => {
  it('is written as it was read', () => {
    const integer = fc.bigInt({ min: -(10n ** 300n), max: 10n ** 300n })
    fc.assert(
      fc.property(fc.array(integer), fc.jsonValue({ noUnicodeString: false }), (integers, other) => {
        const text = `{"a":[${integers.join()}],"b":{"c":${JSON.stringify(other)}}}`
        expect(JSON.stringify(parseExactJson(text))).toBe(
          JSON.stringify(JSON.parse(text)).replace(/"a":\[.*?\]/, () => `"a":[${integers.join()}]`),
        )
      }),
    )
  })

  it('is written as it was read, whatever its texts and names contain', () => {
    const texts = fc.string({ unit: fc.constantFrom('"', '\\', '1234567890123456789', ',', ':', '-', '.', 'e', ' ') })
    const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        texts,
        fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }),
        fc.constantFrom(0.1234567890123456, -1234567890.123456, 1, null),
        fc.array(tie('value')),
        fc.dictionary(texts, tie('value'), { noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(values, (value) => {
        const text = encode(value)
        expect(JSON.stringify(parseExactJson(text))).toBe(text)
      }),
    )
  })

  it.each([
    '9007199254740991',
    '-9007199254740991',
    '1e20',
    '1.5',
    '1234567890.123456789012345678',
    '0.1000000000000000055',
  ])('has a plain number for %s', (text) => expect(parseExactJson(`[${text}]`)).toEqual([Number(text)]))

  it('has a plain number for a longer integer that a double writes alike', () => {
    expect(parseExactJson('[9007199254740992]')).toEqual([2 ** 53])
  })

  it.each([
    [`1${'0'.repeat(305)}`, 1e305],
    [`-15${'0'.repeat(299)}`, -1.5e300],
  ])('has a plain number for one that the database writes without its exponent', (text, number) => {
    expect(parseExactJson(`[${text}]`)).toEqual([number])
  })

  it('has an infinite number for one beyond the range of doubles', () => {
    expect(parseExactJson(`[${'9'.repeat(400)}]`)).toEqual([Infinity])
  })

  it('has no object in the place of a number', () => {
    const value = parseExactJson('{"a":12345678901234567891}')
    expect(hasLongIntegers(value)).toBe(true)
    expect(isObject(Reflect.get(Object(value), 'a'))).toBe(false)
    expect(roundIntegers(value)).toEqual({ a: 12345678901234567000 })
    expect(hasLongIntegers(parseExactJson('{"a":1}'))).toBe(false)
  })
})

function encode(value: unknown): string {
  if (typeof value === 'bigint') return String(value)
  if (Array.isArray(value)) return `[${value.map(encode).join()}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${encode(member)}`)
  return `{${members.join()}}`
}
