import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { noCapabilities } from '../commands/capabilities.ts'
import type { DeviceStats } from './store.ts'
import { parseStats, presentStats } from './wire.ts'

const at = new Date('2026-11-20T12:00:00Z')

const base: DeviceStats = {
  orgId: '00000000-0000-0000-0000-000000000001',
  id: '00000000-0000-0000-1000-aabbccddee01',
  siteId: null,
  mac: 'aabbccddee01',
  serial: 'S1',
  model: 'AP45',
  type: 'ap',
  name: null,
  doc: {},
  createdAt: at,
  modifiedAt: at,
  connected: null,
  lastSeenAt: null,
  disconnectedAt: null,
  firmware: null,
  bootedAt: null,
  extIp: null,
  members: null,
  load: null,
  capabilities: null,
  fwupdate: null,
  report: null,
  reportedAt: null,
}

describe('presentStats', () => {
  it('contains no null, and always a type', () => {
    const stats = presentStats(base, at)
    expect(Object.values(stats)).not.toContain(null)
    expect(stats).toMatchObject({ type: 'ap', status: 'disconnected' })
  })

  it('counts uptime in whole seconds from one, and only while connected', () => {
    fc.assert(
      fc.property(fc.integer({ min: -1000, max: 10 ** 9 }), fc.boolean(), (ms, connected) => {
        const { uptime } = presentStats({ ...base, connected, bootedAt: new Date(at.getTime() - ms) }, at)
        expect(uptime).toBe(connected ? Math.max(1, Math.floor(ms / 1000)) : undefined)
      }),
    )
  })

  it('names load fields as each device type does', () => {
    const load = { cpu_percent: 20, memory_total: 4096, memory_free: 1024 }
    expect(presentStats({ ...base, load }, at)).toMatchObject({ cpu_util: 20, mem_total_kb: 4, mem_used_kb: 3 })
    expect(presentStats({ ...base, type: 'switch', load }, at)).toMatchObject({
      cpu_stat: { idle: 80 },
      memory_stat: { usage: 75 },
    })
    const odd = { ...base, type: 'gateway', load: { cpu_percent: 99.99 } } as const
    expect(presentStats(odd, at)).toMatchObject({ cpu_stat: { idle: 0 } })
    expect(presentStats({ ...base, load: { cpu_percent: 'odd' } }, at)).not.toHaveProperty('cpu_util')
  })

  it('has the configuration and tag fields that clients require, except for access points', () => {
    const nothing = {
      config_version: 0,
      config_timestamp: 0,
      tag_id: 0,
      tag_uuid: '00000000-0000-0000-0000-000000000000',
    }
    for (const type of ['switch', 'gateway'] as const) {
      expect(presentStats({ ...base, type }, at)).toMatchObject(nothing)
      expect(presentStats({ ...base, type, load: { config_version: 7 } }, at)).toMatchObject({ config_version: 7 })
    }
    for (const field of Object.keys(nothing)) expect(presentStats(base, at)).not.toHaveProperty(field)
  })

  it('says which parts can be restarted alone, and no list where the device has none', () => {
    const capabilities = {
      commands: ['restart', 'restore_backup'] as const,
      restart_members: 'any' as const,
      restart_nodes: ['node0', 'node1'] as const,
      backup_version: '3.0.0',
      repeatable: ['activate'] as const,
    }
    expect(presentStats({ ...base, capabilities }, at)['capabilities']).toEqual({
      commands: ['restart', 'restore_backup'],
      restart_nodes: ['node0', 'node1'],
      backup_version: '3.0.0',
    })
    expect(presentStats({ ...base, capabilities: noCapabilities }, at)['capabilities']).toEqual(noCapabilities)
    expect(presentStats(base, at)).not.toHaveProperty('capabilities')
  })

  it('presents a single member as no Virtual Chassis', () => {
    const member = { member: 0, mac: base.mac, serial: 'S1', model: 'EX', firmware: '1' }
    const stats = presentStats({ ...base, type: 'switch', members: [member] }, at)
    expect(stats).toMatchObject({ module_stat: [{ fpc_idx: 0 }], fw_versions_outofsync: false })
    expect(stats).not.toHaveProperty('vc_mac')
  })

  it('presents the second node of a cluster apart, as clients expect it', () => {
    const node = (member: number) => ({ member, mac: '', serial: `S${member}`, model: 'SRX345', firmware: '1' })
    const stats = presentStats({ ...base, type: 'gateway', members: [node(0), node(1)] }, at)
    expect(stats).toMatchObject({ module_stat: [{ serial: 'S0' }], module2_stat: [{ serial: 'S1' }], vc_mac: base.mac })
    const switches = presentStats({ ...base, type: 'switch', members: [node(0), node(1)] }, at)
    expect(switches).toMatchObject({ module_stat: [{ serial: 'S0' }, { serial: 'S1' }] })
    expect(switches).not.toHaveProperty('module2_stat')
  })
})

describe('parseStats', () => {
  const is = (value: string) => ({ values: [value], patterns: [], anyCase: false })

  it('selects access points by default', () => {
    expect(parseStats({})).toEqual({ type: is('ap') })
    expect(parseStats({ type: 'all', status: 'disconnected', mac: 'AA:BB:CC:DD:EE:01' })).toEqual({
      status: is('disconnected'),
      mac: is('aabbccddee01'),
    })
  })
})
