import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type ListedMembers, selectsAny } from './json-path.ts'
import { JsonPathError, parseJsonPath } from './parse-json-path.ts'

const document = {
  topic: 'device-events',
  events: [{ type: 'AP_CONNECTED', mac: '020000000001', rssi: -60, up: true, note: null, tags: ['a', 'b'], 'x y': 1 }],
}

const selects = (path: string, root: unknown = document) => selectsAny(parseJsonPath(path), root)

describe('selectsAny', () => {
  it.each([
    '$',
    '$.topic',
    '$.events[0].type',
    '$.events[-1].tags[1]',
    "$['events'][*]['x y']",
    '$.*.*.tags',
    "$.events[?@.type == 'AP_CONNECTED']",
    '$.events[?@.type=="AP_CONNECTED"&&@.rssi<-50]',
    '$.events[?(@.rssi >= -60 || @.missing) && !@.missing]',
    '$.events[?@.note == null && @.up == true && @.rssi != 5]',
    '$.events[?@.note]',
    '$.events[?@.mac && @.mac != null]',
    '$.events[?!(@.up == false)]',
    "$.events[?'AP' < @.type]",
    '$.events[?@.missing != 1]',
    '$.events[?-60.0 == @.rssi]',
    "$.events[?@['x y'] == 1e0]",
    "$.events[?@.type == '\\u0041P_CONNECTED']",
    "$.events[?$.topic == 'device-events']",
    "$.events[ ? @.tags[0] == 'a' ].tags [ 'no', * ]",
  ])('%s selects something', (path) => {
    expect(selects(path)).toBe(true)
  })

  it.each([
    '$.no',
    '$.events[1]',
    '$.topic[0]',
    '$.topic.length',
    '$.events.length',
    '$.__proto__',
    "$.events[?@.type == 'AP_DISCONNECTED']",
    '$.events[?@.note == false]',
    '$.events[?@.missing == null]',
    '$.events[?@.note && @.note != null]',
    '$.events[?@.missing && @.missing != null]',
    '$.events[?@.missing < 1]',
    "$.events[?@.rssi < '0']",
    '$.events[?@.note <= 0]',
    '$.events[?@.tags == 1]',
  ])('%s selects nothing', (path) => {
    expect(selects(path)).toBe(false)
  })

  it('orders texts by character, not by UTF-16 unit', () => {
    expect(selects("$[?@ < '\u{1f600}']", ['\uffee'])).toBe(true)
  })

  it('orders any texts as their UTF-8 does', () => {
    const unit = fc.constantFrom(
      'a',
      'b',
      '\u00e9',
      '\ud7ff',
      '\ue000',
      '\uffee',
      '\u{10000}',
      '\u{1f600}',
      '\u{1f601}',
    )
    const text = fc.string({ unit, maxLength: 4 })
    fc.assert(
      fc.property(text, text, (value, literal) => {
        const isLess = Buffer.compare(Buffer.from(value), Buffer.from(literal)) < 0
        expect(selects(`$[?@ < '${literal}']`, [value])).toBe(isLess)
      }),
    )
  })

  it('compares a text in a time that does not depend on its length', () => {
    const root = { long: 'z'.repeat(4_000_000), list: Array.from({ length: 3000 }, () => 0) }
    const startMs = performance.now()
    expect(selects("$.list[?$.long < 'a']", root)).toBe(false)
    expect(performance.now() - startMs).toBeLessThan(1000)
  })

  it('takes a document for selected if it has many long texts that begin as the literal does', () => {
    const path = `$[?@ > '${'z'.repeat(400)}{']`
    const texts = Array.from({ length: 1000 }, () => 'z'.repeat(1000))
    expect(selects(path, texts.slice(0, 300))).toBe(false)
    expect(selects(path, texts)).toBe(true)
  })

  it('takes a document for selected if the answer would take too long', () => {
    const wide = { a: Array.from({ length: 5000 }, () => ({ b: 1 })) }
    expect(selects('$.a[?@.b == 2]', { a: wide.a.slice(0, 1000) })).toBe(false)
    expect(selects('$.a[?@.b == 2]', wide)).toBe(true)
    const deep = { a: { a: { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } } } }
    expect(selects(`$${'[*,*,*,*,*,*]'.repeat(12)}`, deep)).toBe(false)
  })

  it('lists no more members of an object than the answer may need, and once for all paths', () => {
    const seen = { lists: 0, members: 0 }
    const large = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`m${index}`, { index }]))
    const root = new Proxy(large, {
      ownKeys(target) {
        seen.lists += 1
        return Reflect.ownKeys(target)
      },
      get(target, name) {
        seen.members += 1
        return Reflect.get(target, name)
      },
    })
    const members: ListedMembers = new Map()
    for (const path of ['$.*.missing', '$[?@.index == 5]', '$[?@.index == -1]'])
      expect(selectsAny(parseJsonPath(path), root, members)).toBe(true)
    expect(seen).toEqual({ lists: 1, members: 10_001 })
  })
})

describe('parseJsonPath', () => {
  it.each([
    ['', 'expected "$" at character 1, found the end'],
    ['events', 'expected "$" at character 1, found "e"'],
    ['$..type', 'expected a name at character 3, found "."'],
    ['$.events[?match(@.a, "(a+)+")]', 'expected "@" or "$" at character 11, found "m"'],
    ['$.a[1:2]', 'expected "]" at character 6, found ":"'],
    ['$.a[01]', 'expected "]" at character 6, found "1"'],
    ['$.a[?@.b == @.c]', 'expected a literal at character 13, found "@"'],
    ['$.a[?@.b[*] == 1]', 'expected a quoted name or an index at character 10, found "*"'],
    ['$.a[?1]', 'expected a comparison at character 7, found "]"'],
    ["$.a['b", "expected ' at character 7, found the end"],
    ["$.a['\\x']", 'expected an escape at character 7, found "x"'],
    [`$[?${'('.repeat(21)}@`, 'expected at most 20 nested parentheses at character 24, found "("'],
    ['$ ', 'expected "." or "[" at character 3, found the end'],
  ])('refuses %j', (text, message) => {
    expect(() => parseJsonPath(text)).toThrow(new JsonPathError(message))
  })

  it('accepts any text or refuses it with its place, and never hangs', () => {
    const piece = fc.constantFrom(
      '$',
      '@',
      '.',
      '[',
      ']',
      '*',
      '?',
      '(',
      ')',
      '!',
      '&&',
      '||',
      '==',
      '<',
      'a',
      '1',
      "'",
      '\\',
      ',',
      ' ',
      'null',
    )
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.array(piece).map((pieces) => `$${pieces.join('')}`),
    )
    fc.assert(
      fc.property(text, fc.jsonValue(), (path, root) => {
        try {
          expect(typeof selectsAny(parseJsonPath(path), root)).toBe('boolean')
        } catch (error) {
          expect(error).toBeInstanceOf(JsonPathError)
          expect(String(error)).toMatch(/ at character \d+, found /)
        }
      }),
    )
  })

  it('reads quoted names with every escape as JSON does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (key) => {
        expect(selects(`$[${JSON.stringify(key)}]`, { [key]: 1 })).toBe(true)
      }),
    )
  })
})
