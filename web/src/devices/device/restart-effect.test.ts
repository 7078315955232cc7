import { expect, test } from 'vitest'
import { effectText } from '../../display/forms/effect.ts'
import { type RestartedDevice, restartEffect } from './restart-effect.ts'

const accessPoint: RestartedDevice = { name: 'lobby', mac: '02516e000001', type: 'ap' }
const chassis: RestartedDevice = { name: '', mac: '02516e000013', type: 'switch' }
const AWAY = 'It is away until it has started again, usually for some minutes.'

test.each([
  [
    accessPoint,
    { clients: 6, members: 0, part: '' },
    `Restarts 1 access point (lobby). Disconnects 6 clients. ${AWAY}`,
  ],
  [accessPoint, { clients: null, members: 0, part: '' }, `Restarts 1 access point (lobby). ${AWAY}`],
  [chassis, { clients: 0, members: 3, part: '' }, `Restarts 3 members (02:51:6e:00:00:13). ${AWAY}`],
  [
    chassis,
    { clients: 0, members: 3, part: '2' },
    'Restarts 1 member (member 2 of 02:51:6e:00:00:13). The other members keep running.',
  ],
  [
    { ...accessPoint, type: 'gateway' },
    { clients: 0, members: 2, part: 'node1' },
    'Restarts 1 node (node1 of lobby). The other node keeps running.',
  ],
] as const)('%j %j', (device, cut, text) => {
  expect(effectText(restartEffect(device, cut))).toBe(text)
})
