import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasLongIntegers, parseExactJson } from '../exact-json.ts'
import { createSecrets } from '../secrets.ts'
import { createDocumentCodec } from './document-codec.ts'
import { documentText } from './document-column.ts'

const codec = createDocumentCodec(createSecrets(randomBytes(32)))

function store(document: object): string {
  const [text] = codec.encodeParameters([documentText(document)])
  return String(text)
}

function read(text: string): unknown {
  const row = { doc: parseExactJson(text) }
  codec.openRows([row])
  return row.doc
}

const names = fc.constantFrom(
  'psk',
  'psks',
  'auth_keys',
  'root_password',
  'url',
  'headers',
  'note',
  'a',
  '__proto__',
  '0',
)
const texts = fc.oneof(
  fc.string(),
  fc.constantFrom('', 'sealed:', 'sealed:AAAA'),
  fc.string().map((end) => `sealed:${end}`),
)
const { value: values } = fc.letrec<{ value: unknown; object: object }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    texts,
    fc.integer(),
    fc.constantFrom(true, null),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(names, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))

describe('the codec of documents', () => {
  it('returns every document as it was written', () => {
    fc.assert(
      fc.property(fc.dictionary(names, values, { noNullPrototype: true }), (document) => {
        expect(JSON.stringify(read(store(document)))).toBe(JSON.stringify(document))
      }),
    )
  })

  it('stores a secret nowhere in the clear, and each time anew', () => {
    const document = { wlans: [{ psk: 'hidden' }], auth_keys: { 1: 'hidden' }, url: 'https://hidden', note: 'shown' }
    expect(store(document)).not.toContain('hidden')
    expect(store(document)).toContain('shown')
    expect(store(document)).not.toBe(store(document))
  })

  it('keeps the digits of long integers in secrets', () => {
    const text = '{"psks":[12345678901234567890]}'
    const document = read(store(parseExactJson(text) as object))
    expect(JSON.stringify(document)).toBe(text)
    expect(hasLongIntegers(document)).toBe(true)
  })

  it('opens a secret with its own key and in a field of its own name alone', () => {
    const moved = store({ psk: 'hidden' }).replace('psk', 'url')
    expect(() => read(moved)).toThrow("The stored field url can't be decrypted with secret.key")
    const other = createDocumentCodec(createSecrets(randomBytes(32)))
    expect(() => other.openRows([{ doc: JSON.parse(store({ psk: 'hidden' })) }])).toThrow(
      "field psk can't be decrypted",
    )
  })

  it('leaves other parameters and other columns alone', () => {
    const at = new Date(0)
    expect(codec.encodeParameters([1, 'a', at, ['b', null], null])).toEqual([1, 'a', at, ['b', null], null])
    const row = { other: { psk: 'sealed:AAAA' } }
    codec.openRows([row])
    expect(row).toEqual({ other: { psk: 'sealed:AAAA' } })
  })
})
