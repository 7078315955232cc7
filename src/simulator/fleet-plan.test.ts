import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { generateFleet, parseFleet } from './fleet-plan.ts'

const device = { mac: '02:00:00:00:A0:01', serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' }

describe('parseFleet', () => {
  it('normalizes MACs and numbers the members', () => {
    const member = { mac: '02-00-00-00-B0-01', serial: 'M', model: 'ECS4150' }
    const {
      devices: [parsed],
    } = parseFleet(JSON.stringify([{ ...device, type: 'switch', members: [member, { ...member, member: 4 }] }]))
    expect(parsed).toMatchObject({ mac: '02000000a001', members: [{ member: 0, mac: '02000000b001' }, { member: 4 }] })
  })

  it('separates Junos devices', () => {
    const cluster = { ...device, mac: '02:00:00:00:a0:02', type: 'gateway', protocol: 'junos', cluster: true }
    const { devices, junos } = parseFleet(JSON.stringify([device, cluster]))
    expect([devices, junos].map((some) => some.map(({ mac }) => mac))).toEqual([['02000000a001'], ['02000000a002']])
  })

  it.each([
    [JSON.stringify([{ ...device, protocol: 'junos' }]), /\/0\/type/],
    ['[', /fleet file: .*JSON/],
    ['{}', /fleet file: \/ /],
    ['[]', /fleet file: /],
    [JSON.stringify([{ ...device, type: 'router' }]), /\/0\/type/],
    [JSON.stringify([{ ...device, mac: 'x' }]), /"x"/],
    [JSON.stringify([device, { ...device, mac: '02000000a001' }]), /02000000a001 is there twice/],
  ])('refuses %s with one line', (text, message) => {
    expect(() => parseFleet(text)).toThrow(message)
  })
})

describe('generateFleet', () => {
  it('generates distinct MACs, including those of members, that a fleet file would accept', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.nat(10), (count, members) => {
        const common = { type: 'switch', model: 'ECS4150', firmware: '1.0.0', firstMac: '0200000000fe' } as const
        const fleet = generateFleet({ ...common, count, members })
        expect(fleet).toHaveLength(count)
        const macs = fleet.flatMap(({ mac, members: own }) => own?.map((member) => member.mac) ?? [mac])
        expect(new Set(macs).size).toBe(macs.length)
        expect(parseFleet(JSON.stringify(fleet))).toEqual({ devices: fleet, junos: [] })
      }),
    )
  })
})
