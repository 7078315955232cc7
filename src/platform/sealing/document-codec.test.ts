import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasLongIntegers, parseExactJson } from '../json/exact-json.ts'
import { createSecrets } from '../secrets.ts'
import { createDocumentCodec } from './document-codec.ts'
import { documentText } from './document-column.ts'

const codec = createDocumentCodec(createSecrets(randomBytes(32)))

function store(document: object): string {
  const [text] = codec.encodeParameters([documentText(document)])
  return String(text)
}

async function read(text: string): Promise<unknown> {
  const row = { doc: parseExactJson(text) }
  await codec.openRows([row])
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
  it('returns every document as it was written, and does not change it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, values, { noNullPrototype: true }), async (document) => {
        const before = JSON.stringify(document)
        expect(JSON.stringify(await read(store(document)))).toBe(before)
        expect(JSON.stringify(document)).toBe(before)
      }),
    )
  })

  it('stores a secret nowhere in the clear, and each time anew', () => {
    const document = { wlans: [{ psk: 'hidden' }], auth_keys: { 1: 'hidden' }, url: 'https://hidden', note: 'shown' }
    expect(store(document)).not.toContain('hidden')
    expect(store(document)).toContain('shown')
    expect(store(document)).not.toBe(store(document))
  })

  it('lets others have their turn while it opens thousands of secrets', async () => {
    const wlans = Array.from({ length: 20_000 }, (_, index) => ({ psk: `secret ${index}` }))
    const row = { doc: parseExactJson(store({ wlans })) }
    let turns = 0
    const count = (): void => {
      turns += 1
      immediate = setImmediate(count)
    }
    let immediate = setImmediate(count)
    await codec.openRows([row])
    clearImmediate(immediate)
    expect(turns).toBeGreaterThan(4)
    expect(row.doc).toEqual({ wlans })
  })

  it('keeps the digits of long integers in secrets', async () => {
    const text = '{"psks":[12345678901234567890]}'
    const document = await read(store(parseExactJson(text) as object))
    expect(JSON.stringify(document)).toBe(text)
    expect(hasLongIntegers(document)).toBe(true)
  })

  it('opens a secret with its own key and in a field of its own name alone', async () => {
    const moved = store({ psk: 'hidden' }).replace('psk', 'url')
    await expect(read(moved)).rejects.toThrow("The stored field url can't be decrypted with secret.key")
    const other = createDocumentCodec(createSecrets(randomBytes(32)))
    expect(() => other.openRows([{ doc: JSON.parse(store({ psk: 'hidden' })) }])).toThrow(
      "field psk can't be decrypted",
    )
  })

  it('leaves other parameters and other columns alone', async () => {
    const at = new Date(0)
    expect(codec.encodeParameters([1, 'a', at, ['b', null], null])).toEqual([1, 'a', at, ['b', null], null])
    const row = { other: { psk: 'sealed:AAAA' } }
    await codec.openRows([row])
    expect(row).toEqual({ other: { psk: 'sealed:AAAA' } })
  })
})
