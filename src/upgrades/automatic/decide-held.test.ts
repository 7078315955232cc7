import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { candidateOf, catalogEntry } from '../../../test/support/fleets/candidates.ts'
import type { Planned } from '../planning/plan-targets.ts'
import { type Failure, listHeld } from './decide-held.ts'

const VERSIONS = { 'AP-1': '2.0', 'AP-2': '3.0' }
type Model = keyof typeof VERSIONS

function planOf(kind: Planned['kind'], name: string, model: Model = 'AP-1'): Planned {
  const device = candidateOf(name, { model })
  if (kind === 'leave_out') return { kind, device, reason: 'the catalog has no version for it' }
  return { kind, device, entry: catalogEntry(VERSIONS[model], { model }), force: false }
}

function failureOf(name: string, traits: Partial<Failure> = {}): Failure {
  return { deviceId: candidateOf(name).id, model: 'AP-1', version: VERSIONS['AP-1'], isFinal: false, ...traits }
}

const range = (count: number, name: string) => Array.from({ length: count }, (_, index) => `${name}${index}`)
const planAll = (kind: Planned['kind'], count: number, name: string) =>
  range(count, name).map((one) => planOf(kind, one))
const namesOf = (held: readonly { readonly device: { readonly mac: string } }[]) => held.map(({ device }) => device.mac)

describe('an automatic upgrade', () => {
  const fresh = planAll('upgrade', 2, 'new')

  it.each([
    { what: 'no failure', failures: [], held: [] },
    { what: 'one failure', failures: [failureOf('bad')], held: ['bad'] },
    {
      what: 'one device that has failed twice',
      failures: [failureOf('bad'), failureOf('bad')],
      held: ['bad'],
    },
    { what: 'a device that failed, and is away', failures: [failureOf('away')], held: [] },
    {
      what: 'two failures',
      failures: [failureOf('bad'), failureOf('away')],
      held: ['bad', 'new0', 'new1'],
    },
    { what: 'a refusal', failures: [failureOf('away', { isFinal: true })], held: ['bad', 'new0', 'new1'] },
    {
      what: 'failures of another version',
      failures: [failureOf('bad', { version: '1.9' }), failureOf('away', { version: '1.9' })],
      held: [],
    },
    {
      what: 'failures of another model',
      failures: [failureOf('one', { model: 'AP-2' }), failureOf('two', { model: 'AP-2' })],
      held: [],
    },
  ])('leaves out after $what: $held', ({ failures, held }) => {
    expect(namesOf(listHeld([planOf('upgrade', 'bad'), ...fresh], failures))).toEqual(held)
  })

  it('leaves out only the failed ones where the version works on most', () => {
    const failures = [failureOf('bad'), failureOf('worse', { isFinal: true })]
    const plans = [planOf('upgrade', 'bad'), planOf('upgrade', 'worse'), ...fresh]
    expect(namesOf(listHeld([...plans, ...planAll('skip', 37, 'old')], failures))).toHaveLength(4)
    const held = listHeld([...plans, ...planAll('skip', 38, 'old')], failures)
    expect(namesOf(held)).toEqual(['bad', 'worse'])
    expect(held[0]?.reason).toBe('2.0 has failed on 2 access points of the model AP-1')
  })

  it('counts no failed device that runs the version since', () => {
    const failures = [failureOf('bad'), failureOf('mended')]
    expect(namesOf(listHeld([planOf('upgrade', 'bad'), planOf('skip', 'mended'), ...fresh], failures))).toEqual(['bad'])
  })

  it('says why all of a model wait', () => {
    const [held] = listHeld(fresh, [failureOf('away', { isFinal: true })])
    expect(held?.reason).toBe('2.0 has failed on 1 access point of the model AP-1, so all of them wait')
  })
})

describe('of any devices and failures', () => {
  const names = range(6, 'd')
  const model = fc.constantFrom<Model>('AP-1', 'AP-2')
  const site = fc
    .record({
      models: fc.array(model, { minLength: names.length, maxLength: names.length }),
      kinds: fc.array(fc.constantFrom<Planned['kind']>('upgrade', 'skip', 'leave_out'), {
        minLength: names.length,
        maxLength: names.length,
      }),
      failures: fc.array(fc.record({ at: fc.nat(names.length + 3), isFinal: fc.boolean(), isNow: fc.boolean() }), {
        maxLength: 6,
      }),
    })
    .map(({ models, kinds, failures }) => {
      const modelAt = (at: number): Model => models[at] ?? 'AP-1'
      return {
        plans: names.map((name, at) => planOf(kinds[at] ?? 'upgrade', name, modelAt(at))),
        failures: failures.map(({ at, isFinal, isNow }) => {
          const version = isNow ? VERSIONS[modelAt(at)] : '1.9'
          return failureOf(names[at] ?? `away${at}`, { model: modelAt(at), version, isFinal })
        }),
      }
    })
  const heldOf = ({ plans, failures }: { plans: Planned[]; failures: Failure[] }) =>
    new Set(listHeld(plans, failures).map(({ device }) => device.id))

  it('holds each device that failed, and others only with all of their model', () => {
    fc.assert(
      fc.property(site, (any) => {
        const held = heldOf(any)
        for (const plan of any.plans) {
          if (plan.kind !== 'upgrade') {
            expect(held.has(plan.device.id)).toBe(false)
            continue
          }
          const { device, entry } = plan
          const mine = any.failures.filter((one) => one.model === device.model && one.version === entry.version)
          if (mine.some(({ deviceId }) => deviceId === device.id)) expect(held.has(device.id)).toBe(true)
          else if (held.has(device.id)) {
            expect(new Set(mine.map(({ deviceId }) => deviceId)).size > 1 || mine.some(({ isFinal }) => isFinal)).toBe(
              true,
            )
            for (const other of any.plans)
              if (other.kind === 'upgrade' && other.device.model === device.model)
                expect(held.has(other.device.id)).toBe(true)
          }
        }
      }),
    )
  })

  it('holds no fewer after a further failure, and no more where the version works on a further device', () => {
    fc.assert(
      fc.property(site, (any) => {
        const before = heldOf(any)
        const fewer = heldOf({ ...any, failures: any.failures.slice(1) })
        expect([...fewer].filter((id) => !before.has(id))).toEqual([])
        const working = heldOf({ ...any, plans: [...any.plans, ...planAll('skip', 3, 'works')] })
        expect([...working].filter((id) => !before.has(id))).toEqual([])
      }),
    )
  })
})
