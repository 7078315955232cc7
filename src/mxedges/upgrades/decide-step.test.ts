import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findNextStep, isBroken, isReached, reportedBy } from './decide-step.ts'
import type { MxedgeStep } from './upgrade.ts'

const step = { service: 'tunterm', from: '1.0.0', to: '2.0.0', image_id: 'i', allow_downgrade: false } as const
const distro = (to: string): MxedgeStep => ({ distro: true, from: 'bookworm', to })
const runs = (version: string | null, state: 'running' | 'failed' = 'running') => ({
  services: [{ name: 'tunterm', version, state }],
  distro: 'bookworm',
})

describe('a step', () => {
  test.each([
    [step, runs('2.0.0'), true],
    [step, runs('1.0.0'), false],
    [step, runs(null), false],
    [step, { ...runs('2.0.0'), services: [] }, false],
    [distro('trixie'), { services: [], distro: 'trixie' }, true],
    [distro('trixie'), { services: [], distro: null }, false],
    [distro('trixie'), { services: [], distro: 'sid' }, false],
    [distro('next'), { services: [], distro: 'trixie' }, true],
    [distro('next'), { services: [], distro: 'bookworm' }, false],
    [distro('next'), { services: [], distro: null }, false],
  ])('%j is reached by %j: %s', (one, appliance, expected) => {
    expect(isReached(appliance, one)).toBe(expected)
  })

  test('has broken a service that does not run after it', () => {
    expect(isBroken(runs('2.0.0', 'failed'), step)).toBe(true)
    expect(isBroken(runs('2.0.0'), step)).toBe(false)
    expect(isBroken(runs('2.0.0', 'failed'), distro('trixie'))).toBe(false)
  })

  test('is not concerned by the state of another service', () => {
    const other = { name: 'mxagent', version: '1.0.0' }
    const [sound, broken] = [runs('2.0.0'), runs('2.0.0', 'failed')]
    expect(isBroken({ services: [...sound.services, { ...other, state: 'failed' }] }, step)).toBe(false)
    expect(isBroken({ services: [...broken.services, { ...other, state: 'running' }] }, step)).toBe(true)
  })

  test('to an older distribution is not forbidden: its request names it', () => {
    expect(findNextStep({ services: [], distro: 'trixie' }, [distro('bookworm')], 0)).toMatchObject({ step: 0 })
  })
})

const versions = ['1.0.0', '2.0.0', '3.0.0'] as const
const names = ['mxagent', 'radsecproxy', 'tunterm'] as const
const appliances = fc.record({
  services: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom(...names),
      version: fc.option(fc.constantFrom(...versions), { nil: null }),
      state: fc.constantFrom('running' as const, 'failed' as const),
    }),
    { selector: ({ name }) => name },
  ),
  distro: fc.constant('bookworm'),
})
const steps = fc.array(
  fc.record({
    service: fc.constantFrom(...names),
    from: fc.constant('0'),
    to: fc.constantFrom(...versions),
    image_id: fc.constant('i'),
    allow_downgrade: fc.boolean(),
  }),
  { maxLength: 5 },
)

test('the next step is the first that is neither reached nor a downgrade without permission', () => {
  fc.assert(
    fc.property(appliances, steps, fc.nat(6), (appliance, all, from) => {
      const next = findNextStep(appliance, all, from)
      const isNeeded = (each: (typeof all)[number]): boolean => {
        const reported = reportedBy(appliance, each)
        return reported !== each.to && (each.allow_downgrade || reported === null || reported < each.to)
      }
      const expected = all.findIndex((each, index) => index >= from && isNeeded(each))
      expect(next.step).toBe(expected < 0 ? null : expected)
      // Only the next step gets the current report as `from`.
      next.steps.forEach((each, index) =>
        expect(each).toEqual(index === next.step ? { ...all[index], from: reportedBy(appliance, each) } : all[index]),
      )
    }),
  )
})
