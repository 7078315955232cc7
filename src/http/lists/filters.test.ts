import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '../../platform/errors.ts'
import {
  type Condition,
  type Filter,
  MAX_FILTER_CHARACTERS,
  MAX_PATTERNS,
  MAX_VALUES,
  choice,
  filterQuery,
  flag,
  id,
  mac,
  number,
  parseFilters,
  part,
  text,
} from './filters.ts'
import { second, time } from './time-filters.ts'

const parse = (filter: Filter, given: string): Condition | null => filter.parse('field', given)
const reasonOf = (filter: Filter, given: string): string => {
  try {
    return `accepted as ${JSON.stringify(parse(filter, given))}`
  } catch (error) {
    return error instanceof AppError ? error.message : `a defect: ${String(error)}`
  }
}
const site = '0192f0c1-0000-7000-8000-00000000000a'

describe('a filter', () => {
  it.each<[string, Filter, string, Partial<Record<'values' | 'patterns' | 'anyCase', unknown>>]>([
    ['an exact text', text(), 'AP45', { values: ['AP45'], patterns: [], anyCase: false }],
    ['a prefix', text(), 'AP4*', { values: [], patterns: [['AP4', '']] }],
    ['a part', text(), '*P4*', { patterns: [['', 'P4', '']] }],
    ['a suffix', text(), '*45', { patterns: [['', '45']] }],
    ['wildcards side by side', text(), 'a**b', { patterns: [['a', 'b']] }],
    ['any text at all', text(), '*', { patterns: [['', '']] }],
    ['a list with a wildcard', text(), ' AP45 , EX*,,AP45', { values: ['AP45'], patterns: [['EX', '']] }],
    ['a text with a comma', text({ list: false }), 'a,b', { values: ['a,b'] }],
    ['a part without wildcards', part(), 'Lobby', { patterns: [['', 'Lobby', '']], anyCase: true }],
    ['a whole text with them', part(), 'Lobby*', { patterns: [['Lobby', '']], anyCase: true }],
    ['MAC addresses', mac(), 'AA:BB:cc:dd:ee:ff,00-11-22-33-44-55', { values: ['aabbccddeeff', '001122334455'] }],
    ['a part of one', mac(), '*1:2b*', { patterns: [['', '12b', '']] }],
    ['ids', id(), `${site.toUpperCase()},${site}`, { values: [site, site] }],
    ['integers', number(), '6,11', { values: [6, 11] }],
    ['numbers', number({ integer: false }), '-1.5', { values: [-1.5] }],
    ['booleans', flag(), 'True,0', { values: [true, false] }],
    ['choices in any case', choice(['up', 'down']), 'Up,down', { values: ['up', 'down'] }],
    ['any text for an open choice', choice(['up'], { anyText: true }), 'UP,sideways', { values: ['up', 'sideways'] }],
    ['any text for an open boolean', flag({ anyText: true }), 'True,maybe', { values: [true], patterns: [] }],
    ['a text that is not a boolean as none', flag({ anyText: true }), 'maybe', { values: [], patterns: [] }],
    ['a text that is not an instant as none', second(), 'yesterday', { values: [], patterns: [] }],
    ['a day that does not exist as none', second(), '2026-02-31T25:00:00Z', { values: [], patterns: [] }],
  ])('takes %s', (_what, filter, given, expected) => {
    expect(parse(filter, given)).toMatchObject(expected)
  })

  it.each<[string, Filter, string]>([
    ['an empty text', text(), ''],
    ['commas alone', text(), ' , ,'],
    ['zero', number(), '0'],
    ['an instant of zero', time('after'), '0'],
    ['a second of zero', second(), '0'],
    ['no open boolean', flag({ anyText: true }), ' '],
    ['the choice of everything', choice(['up'], { all: 'all' }), 'up,all'],
  ])('filters nothing by %s', (_what, filter, given) => {
    expect(parse(filter, given)).toBeNull()
  })

  it.each<[string, Filter, string, string]>([
    ['a text that is not a MAC address', mac(), '00112', 'is not a MAC address'],
    ['a part of a MAC address with other letters', mac(), '*xy*', 'is not a MAC address'],
    ['too many digits of one', mac(), '0011223344556*', 'is not a MAC address'],
    ['a wrong id in a list', id(), `${site},x`, '"x" is not a UUID'],
    ['a text for an integer', number(), 'six', '"six" is not an integer'],
    ['a fraction for an integer', number(), '1.5', 'is not an integer'],
    ['a huge number', number(), '99999999999', 'is not an integer'],
    ['a text for a boolean', flag(), 'yes', '"yes" must be true or false'],
    ['a member of every object for a boolean', flag(), '__proto__', '"__proto__" must be true or false'],
    ['an unknown choice', choice(['up', 'down']), 'up,sideways', '"sideways" must be one of up, down'],
    ['an instant that never comes', time('before'), '99999999999999', 'must be epoch seconds'],
    ['a long text', text(), 'x'.repeat(201), '201 characters, and at most 200'],
    ['a long list', text(), 'x,'.repeat(MAX_FILTER_CHARACTERS), `at most ${MAX_FILTER_CHARACTERS}`],
    [
      'many values',
      text(),
      Array.from({ length: MAX_VALUES + 1 }, (_, n) => String(n)).join(),
      `at most ${MAX_VALUES}`,
    ],
    [
      'many patterns',
      text(),
      Array.from({ length: MAX_PATTERNS + 1 }, (_, n) => `${n}*`).join(),
      `at most ${MAX_PATTERNS}`,
    ],
    ['many wildcards', text(), 'a*b*c*d*e*f*g', 'more than 5 wildcards'],
  ])('refuses %s by the name of the field', (_what, filter, given, why) => {
    expect(reasonOf(filter, given)).toContain('Invalid field field: ')
    expect(reasonOf(filter, given)).toContain(why)
  })

  it('finds the events of one second', () => {
    const thousandth = { from: new Date(1_000_000), before: new Date(1_001_000) }
    for (const given of ['1000.7', '1970-01-01T00:16:40Z', '1970-01-01t00:16:40.9z', '1970-01-01 01:16:40 0100'])
      expect(parse(second(), given), given).toEqual(thousandth)
    expect(parse(second(), '1970-01-01T00:16:40-00:00')).toEqual(thousandth)
    expect(parse(time('after'), '1000')).toEqual({ after: new Date(1_000_000) })
  })

  it('takes or refuses any text, and never fails', () => {
    const filters = [
      text(),
      part(),
      part({ list: false }),
      mac(),
      id(),
      number(),
      flag(),
      choice(['a']),
      second(),
      flag({ anyText: true }),
      choice(['a'], { anyText: true }),
    ]
    const given = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom('*', ',', '0', 'a', ':', '%', '_', '\\') }))
    fc.assert(
      fc.property(fc.constantFrom(...filters), given, (filter, some) => {
        expect(reasonOf(filter, some)).not.toContain('a defect')
      }),
    )
  })
})

describe('the filters of a search', () => {
  const filters = { name: part(), site_id: id() }

  it('are parameters of its query', () => {
    const query = filterQuery(filters)
    expect(Object.keys(query)).toEqual(['name', 'site_id'])
    expect(query.site_id).toMatchObject({ type: 'string', format: 'uuid' })
  })

  it('become the conditions that the query sets', () => {
    expect(parseFilters(filters, { name: '', site_id: site })).toEqual({
      site_id: { values: [site], patterns: [], anyCase: false },
    })
    expect(parseFilters(filters, {})).toEqual({})
  })
})
