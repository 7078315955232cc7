import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { assignFaults, checkFaults, parseFaultTargets, parseMac } from './faults.ts'

const macs = fc.uniqueArray(
  fc.nat(2 ** 32).map((n) => n.toString(16).padStart(12, '0')),
  { maxLength: 60 },
)

describe('parseFaultTargets', () => {
  it('accepts a share or MACs in any spelling', () => {
    expect(parseFaultTargets('12.5%')).toEqual({ share: 0.125 })
    expect(parseFaultTargets('02:00:00:00:A0:01, 0200.0000.a002')).toEqual({ macs: ['02000000a001', '02000000a002'] })
  })

  it.each(['', '10', '101%', '-1%', 'zz0000000000', '0200000000011'])('refuses %j', (text) => {
    expect(() => parseFaultTargets(text)).toThrow(/MAC|more than/)
  })
})

describe('parseMac', () => {
  it('yields lower-case hex without separators', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(255), { minLength: 6, maxLength: 6 }),
        fc.constantFrom('', ':', '-', '.'),
        (bytes, between) => {
          const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0'))
          expect(parseMac(hex.join(between).toUpperCase())).toBe(hex.join(''))
        },
      ),
    )
  })
})

test('a fault of a device that can have none is refused with its option', () => {
  const fleet = ['02000000a001', '02000000a002']
  expect(() => checkFaults({ old_version: { macs: ['02000000a001', '02000000b001'] } }, fleet)).toThrow(
    '--old-version names 02000000b001, which is no uCentral device of the fleet',
  )
  expect(() => checkFaults({ old_version: { macs: fleet }, flap: { share: 1 } }, fleet)).not.toThrow()
})

describe('assignFaults', () => {
  it('selects the share, the same devices each time', () => {
    fc.assert(
      fc.property(macs, fc.integer({ min: 0, max: 100 }), (all, percent) => {
        const plan = { refuse: { share: percent / 100 } }
        const drawn = assignFaults(plan, all)
        expect(drawn.size).toBe(Math.round((percent / 100) * all.length))
        expect([...assignFaults(plan, all.toReversed()).keys()].toSorted()).toEqual([...drawn.keys()].toSorted())
      }),
    )
  })

  it('gives a device all of its faults', () => {
    const assigned = assignFaults({ flap: { macs: ['02000000a001'] }, slow: { share: 1 } }, [
      '02000000a001',
      '02000000a002',
    ])
    expect(assigned.get('02000000a001')).toEqual(new Set(['flap', 'slow']))
    expect(assigned.get('02000000a002')).toEqual(new Set(['slow']))
  })
})
