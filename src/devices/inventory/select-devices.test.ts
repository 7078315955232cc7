import { expect, it } from 'vitest'
import { deviceIdOf } from '../device.ts'
import { plainNames, selectDevices } from './select-devices.ts'
import type { Device } from '../store.ts'

function device(mac: string, serial: string): Device {
  return {
    orgId: 'org',
    id: deviceIdOf(mac),
    siteId: null,
    siteName: null,
    images: null,
    mac,
    serial,
    model: 'AP45',
    type: 'ap',
    name: null,
    claimCode: 'C',
    doc: {},
    createdAt: new Date(0),
    modifiedAt: new Date(0),
  }
}

const [one, two] = [device('aabbccddee01', 'S1'), device('aabbccddee02', 'S2')]

it('finds devices by MAC in any spelling and by serial, each once, under its first name', () => {
  const names = { macs: ['AA:BB:CC:DD:EE:01', 'aabbccddee01'], serials: ['S2', 'S1'] }
  expect(selectDevices(names, [one, two])).toEqual({
    found: [
      { name: 'AA:BB:CC:DD:EE:01', device: one },
      { name: 'S2', device: two },
    ],
    refused: [],
  })
})

it('reports why it finds nothing', () => {
  expect(selectDevices({ macs: ['x', 'aabbccddee02'], serials: ['S9'] }, [one])).toEqual({
    found: [],
    refused: [
      { name: 'x', reason: 'invalid mac' },
      { name: 'aabbccddee02', reason: 'not found' },
      { name: 'S9', reason: 'not found' },
    ],
  })
})

it('queries the database only for valid names', () => {
  expect(plainNames({ macs: ['AA-BB-CC-DD-EE-01', 'x'], serials: ['S1'] })).toEqual({
    macs: ['aabbccddee01'],
    serials: ['S1'],
  })
})
