import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type DeviceCa, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createLog } from '../../src/platform/log.ts'
import { createConditions } from '../../src/simulator/ucentral/conditions.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { startFleet } from '../../src/simulator/fleet.ts'
import { WITHIN_MS } from '../support/wait-until.ts'
import { type Peer, type PeerSession, newest, messagesOf, startPeer } from './peer.ts'

const ap: PlannedDevice = { mac: '02000000b001', serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' }
const aSwitch: PlannedDevice = { ...ap, mac: '02000000b002', model: 'ECS4150', type: 'switch' }

let ca: DeviceCa
let peer: Peer
beforeAll(async () => {
  ca = await makeCa()
  peer = await startPeer(ca)
})
afterAll(() => peer.stop())

/**
 * Makes a configured device report, lose its gateway for some attempts to connect, and answer a telemetry call after it
 * has reconnected.
 */
async function comeBack(device: PlannedDevice, failures: number): Promise<PeerSession> {
  const conditions = createConditions()
  let failed = -1
  // The device may be connected by the time the fleet has started.
  const before = peer.sessions.length
  const fleet = await startFleet({
    gateway: { host: '127.0.0.1', port: peer.port },
    ca,
    devices: [device],
    log: createLog('silent'),
    // With this pace a switch attempts to connect every 250 ms, and reports twice in that time.
    pace: { timeScale: 0.05, stateIntervalMs: 100 },
    onChange(_device, change) {
      if (change === 'disconnected') failed += 1
      conditions.changed()
    },
  })
  onTestFinished(() => fleet.stop())
  await peer.until(() => peer.sessions.length > before && messagesOf(newest(peer.sessions), 'state').length > 0)
  peer.shut()
  await conditions.until(() => failed >= failures, WITHIN_MS)
  peer.open()
  await peer.until(() => peer.sessions.length > before + 1 && messagesOf(newest(peer.sessions), 'connect').length > 0)
  await peer.call('telemetry', { interval: 60, types: ['state'] })
  return newest(peer.sessions)
}

it('a switch sends its queued reports after connect and before it answers a call', async () => {
  const { frames } = await comeBack(aSwitch, 3)
  const methods = frames.map((frame) => (frame.kind === 'call' ? frame.method : frame.kind))
  expect(methods[0]).toBe('connect')
  expect(methods.slice(1, 7)).toEqual(['state', 'healthcheck', 'state', 'healthcheck', 'state', 'healthcheck'])
  expect(methods.indexOf('reply')).toBeGreaterThan(6)
})

it('an access point loses the reports that it made while it was offline', async () => {
  const { frames } = await comeBack(ap, 1)
  const methods = frames.map((frame) => (frame.kind === 'call' ? frame.method : frame.kind))
  expect(methods.slice(0, 3)).toEqual(['connect', 'state', 'healthcheck'])
})
