import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allDevices, indexRules, isSelected, parseCondition } from './plan-selection.ts'

const device = { id: '1', type: 'ap' as const, name: 'AP-lobby-7', model: 'EAP102', role: 'edge' }

function rule(conditions: Record<string, string>) {
  return Object.entries(conditions).flatMap(([key, value]) => parseCondition(key, value) ?? [])
}

test('no limit selects every device', () => {
  expect(isSelected(device, allDevices)).toBe(true)
})

test.each([
  [{ ids: new Set(['1']) }, true],
  [{ ids: new Set(['2']) }, false],
  [{ type: 'ap' as const }, true],
  [{ type: 'switch' as const }, false],
  [{ models: ['EAP101', 'EAP102'] }, true],
  [{ models: ['EAP101'] }, false],
])('ids, type and models: %o', (limit, selected) => {
  expect(isSelected(device, { ...allDevices, ...limit })).toBe(selected)
})

describe('a rule', () => {
  test.each([
    [{ match_name: 'AP-lobby-7' }, true],
    [{ 'match_name[0:3]': 'AP-' }, true],
    [{ 'match_name[:2]': 'AP' }, true],
    [{ 'match_name[-1:]': '7' }, true],
    [{ 'match_name[0:3]': 'SW-' }, false],
    [{ match_model: 'EAP102', match_role: 'edge' }, true],
    [{ match_model: 'EAP102', match_role: 'core' }, false],
  ])('%o: %s', (conditions: Record<string, string>, selected) => {
    expect(isSelected(device, { ...allDevices, rules: [rule(conditions)] })).toBe(selected)
  })

  test.each(['match_serial', 'name', 'match_name[0:3', 'match_name[a:]'])('has no condition %s', (key) => {
    expect(parseCondition(key, 'x')).toBeNull()
  })

  test.each([
    ['match_name', { property: 'name', slice: null }],
    ['match_model', { property: 'model', slice: null }],
    ['match_role[1:]', { property: 'role', slice: { start: 1, end: null } }],
    ['match_role[-3:-1]', { property: 'role', slice: { start: -3, end: -1 } }],
  ])('has the condition %s', (key, condition) => {
    expect(parseCondition(key, 'x')).toEqual({ ...condition, value: 'x' })
  })

  test('any one of several is enough', () => {
    const rules = [rule({ match_role: 'core' }), rule({ match_model: 'EAP102' })]
    expect(isSelected(device, { ...allDevices, rules })).toBe(true)
  })

  test('a property that is not set matches nothing', () => {
    expect(isSelected({ ...device, name: null }, { ...allDevices, rules: [rule({ 'match_name[0:0]': '' })] })).toBe(
      false,
    )
  })

  test.each(['name', 'match_serial', 'match_name[0]', 'match_name[a:b]', 'match_name[0:3', 'xmatch_name'])(
    'unknown condition %s',
    (key) => {
      expect(parseCondition(key, 'x')).toBeNull()
    },
  )
})

test('indexed rules select the same devices as rules that are compared one by one', () => {
  const text = fc.stringMatching(/^[ab]{0,3}$/)
  const bounds = fc.option(fc.integer({ min: -3, max: 3 }))
  const condition = fc.record({
    property: fc.constantFrom('name', 'model', 'role'),
    slice: fc.option(fc.record({ start: bounds, end: bounds })),
    value: text,
  })
  const rules = fc.array(fc.array(condition, { minLength: 1, maxLength: 3 }), { maxLength: 8 })
  const properties = fc.record({ name: fc.option(text), model: text, role: fc.option(text) })
  fc.assert(
    fc.property(rules, properties, (given, own) => {
      expect(indexRules(given)(own)).toBe(isSelected({ ...device, ...own }, { ...allDevices, rules: given }))
    }),
    { numRuns: 300 },
  )
})
