import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseReport } from './report.ts'

it('reads what an access point reports', () => {
  const report = parseReport({
    num_clients: 6,
    cpu_util: 15,
    mem_total_kb: 1000,
    mem_used_kb: 250,
    lldp_stat: { system_name: 'floor-switch', port_id: 'ge-0/0/1' },
    fwupdate: { status: 'rebooted' },
    radio_stat: { band_5: { channel: 36, bandwidth: 80, power: 20, noise_floor: -102, num_clients: 3 }, scanning: {} },
    port_stat: { eth0: { up: true, speed: 1000, rx_errors: 0 }, eth1: { up: false } },
  })
  expect(report).toEqual({
    clients: 6,
    cpuPercent: 15,
    memory: { usedKb: 250, totalKb: 1000 },
    uplink: { system: 'floor-switch', port: 'ge-0/0/1' },
    upgradeStep: 'Verifying',
    radios: [{ band: '5 GHz', channel: 36, widthMhz: 80, powerDbm: 20, noiseDbm: -102, clients: 3 }],
    ports: [
      { name: 'eth0', isUp: true, speedMbps: 1000, errorsIn: 0 },
      { name: 'eth1', isUp: false, speedMbps: null, errorsIn: null },
    ],
    members: [],
  })
})

it('reads the members of a Virtual Chassis', () => {
  const { members, upgradeStep } = parseReport({
    module_stat: [{ fpc_idx: 1, serial: 'S1', model: 'M', version: '1.0' }, { serial: 'without a number' }],
    fwupdate: { status: 'scheduled' },
  })
  expect(members).toEqual([{ index: 1, serial: 'S1', model: 'M', version: '1.0' }])
  expect(upgradeStep).toBeNull()
})

it('reads the second node of a cluster', () => {
  const node = (index: number) => ({ fpc_idx: index, serial: `S${index}`, model: 'M', version: '1.0' })
  const { members } = parseReport({ module_stat: [node(0)], module2_stat: [node(1)] })
  expect(members.map(({ serial }) => serial)).toEqual(['S0', 'S1'])
})

it('reads any report', () => {
  const names = fc.constantFrom('radio_stat', 'port_stat', 'module_stat', 'fwupdate', 'lldp_stat', 'mem_total_kb')
  fc.assert(
    fc.property(fc.dictionary(names, fc.jsonValue()), (stats) => {
      expect(parseReport(stats).radios.length).toBeLessThanOrEqual(3)
    }),
  )
})
