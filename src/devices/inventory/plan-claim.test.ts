import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { deviceIdOf } from '../device.ts'
import { planClaim } from './plan-claim.ts'
import type { RegisteredDevice } from '../registry/store.ts'

const ORG = 'org'

function registered(number: number, orgId: string | null): RegisteredDevice {
  const mac = number.toString(16).padStart(12, '0')
  return {
    id: deviceIdOf(mac),
    mac,
    serial: `S${number}`,
    model: 'AP45',
    type: 'ap',
    claimCode: `CODE-${number}`,
    codeOrigin: 'manifest',
    orgId,
    firmware: null,
    createdAt: new Date(0),
    lastSeenAt: null,
  }
}

describe('planClaim', () => {
  it('divides codes by what can be done with them, and keeps their spelling', () => {
    const devices = [registered(1, null), registered(2, ORG), registered(3, 'another')]
    const plan = planClaim(['code1', 'Code-2', 'CODE-3', 'CODE-4', '?'], devices, ORG)
    expect(plan.added.map(({ code, device }) => [code, device.mac])).toEqual([['code1', '000000000001']])
    expect(plan.duplicated.map(({ code }) => code)).toEqual(['Code-2'])
    expect(plan.refused).toEqual([
      { code: 'CODE-3', reason: 'not found' },
      { code: 'CODE-4', reason: 'not found' },
      { code: '?', reason: 'invalid claim code' },
    ])
  })

  it('claims a device once, however often and in whatever spelling it is listed', () => {
    const plan = planClaim(['CODE-1', 'code1', 'CODE-1'], [registered(1, null)], ORG)
    expect(plan.added.map(({ code }) => code)).toEqual(['CODE-1'])
    expect(plan.duplicated.map(({ code }) => code)).toEqual(['code1', 'CODE-1'])
  })

  it('returns every code exactly once and never claims a device that has an owner', () => {
    const owner = fc.constantFrom(null, ORG, 'another')
    const registry = fc
      .array(owner, { maxLength: 8 })
      .map((owners) => owners.map((orgId, number) => registered(number, orgId)))
    const codes = fc.array(
      fc.oneof(
        fc.integer({ min: 0, max: 9 }).map((number) => `CODE-${number}`),
        fc.string(),
      ),
    )
    fc.assert(
      fc.property(codes, registry, (codes, registry) => {
        const { added, duplicated, refused } = planClaim(codes, registry, ORG)
        const answered = [...added, ...duplicated, ...refused].map(({ code }) => code)
        expect(answered.toSorted()).toEqual(codes.toSorted())
        expect(added.every(({ device }) => device.orgId === null)).toBe(true)
        expect(new Set(added.map(({ device }) => device.id)).size).toBe(added.length)
      }),
    )
  })
})
