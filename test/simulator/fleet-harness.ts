import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach } from 'vitest'
import { type DeviceCa, makeCa } from '../../src/gateway/certificates/device-ca.ts'
import { createLog } from '../../src/platform/log.ts'
import type { Fault, FaultPlan } from '../../src/simulator/faults.ts'
import type { PlannedDevice } from '../../src/simulator/fleet-plan.ts'
import { type Fleet, startFleet } from '../../src/simulator/fleet.ts'
import { imageHeader } from '../../src/simulator/image.ts'
import type { JournalEntry } from '../../src/simulator/journal.ts'
import type { Pace } from '../../src/simulator/pace.ts'
import type { SimulatedDevice } from '../../src/simulator/ucentral/simulated-device.ts'
import { type FileServer, type Peer, messagesOf, serveFiles, startPeer } from './peer.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

export const MAC = '02000000a001'
export const ap: PlannedDevice = { mac: MAC, serial: 'S1', model: 'EAP101', type: 'ap', firmware: '1.0.0' }
export const aSwitch: PlannedDevice = { ...ap, model: 'ECS4150', type: 'switch' }
export const member = { member: 0, mac: MAC, serial: 'M0', model: 'ECS4150' }
export const pace = { bootMs: 2000, flashMs: 3000, timeScale: 0.01 }
export const image = Buffer.concat([Buffer.from(imageHeader(['EAP101', 'ECS4150'], '2.0.0')), Buffer.alloc(300_000, 7)])

export interface Started {
  readonly fleet: Fleet
  readonly device: SimulatedDevice
}

export function upgradeTo(uri: string): Readonly<Record<string, unknown>> {
  return { when: 0, uri, keep_redirector: true, keep_config: true }
}

/** A gateway under the control of a test, and simulated devices that connect to it; new for each test. */
export interface FleetHarness {
  readonly ca: DeviceCa
  readonly folder: string
  readonly peer: Peer
  start(planned: PlannedDevice, options?: StartOptions): Promise<Started>
  /** Starts a device and waits until it is connected. */
  connect(planned: PlannedDevice, ...faults: readonly Fault[]): Promise<Started>
  /** Waits until the n-th session has begun. */
  untilSession(sessions: number): Promise<void>
  serve(answer: (response: ServerResponse) => void): Promise<FileServer>
  /** Calls `close` after the test. */
  onEnd(close: () => Promise<unknown>): void
  report(): readonly JournalEntry[]
}

interface StartOptions {
  readonly faults?: FaultPlan
  readonly stateDir?: string
  readonly port?: number
  readonly pace?: Partial<Pace>
}

/** Call it at the top of a test file. */
export function createFleetHarness(): FleetHarness {
  let ca: DeviceCa
  let folder: string
  let peer: Peer
  const closers: (() => Promise<unknown>)[] = []

  beforeAll(async () => void (ca = await makeCa()))

  beforeEach(async () => {
    folder = await temporaryDir()
    peer = await startPeer(ca)
  })

  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close()
    await peer.stop()
  })

  async function start(planned: PlannedDevice, options: StartOptions = {}): Promise<Started> {
    const { port = peer.port, ...rest } = options
    const fleet = await startFleet({
      gateway: { host: '127.0.0.1', port },
      ca,
      devices: [planned],
      log: createLog('silent'),
      pace,
      report: join(folder, 'report.jsonl'),
      ...rest,
    })
    closers.push(() => fleet.stop())
    const device = fleet.devices.get(planned.mac)
    if (device === undefined) throw new Error('no device')
    return { fleet, device }
  }

  async function connect(planned: PlannedDevice, ...faults: readonly Fault[]): Promise<Started> {
    const plan = Object.fromEntries(faults.map((fault) => [fault, { macs: [planned.mac] }]))
    const started = await start(planned, { faults: plan })
    await untilSession(1)
    return started
  }

  function untilSession(sessions: number): Promise<void> {
    return peer.until(() => {
      const session = peer.sessions[sessions - 1]
      return session !== undefined && messagesOf(session, 'connect').length > 0
    })
  }

  async function serve(answer: (response: ServerResponse) => void): Promise<FileServer> {
    const served = await serveFiles(answer)
    closers.push(() => served.stop())
    return served
  }

  function report(): readonly JournalEntry[] {
    const lines = readFileSync(join(folder, 'report.jsonl'), 'utf8').trim().split('\n')
    return lines.map((line) => JSON.parse(line) as JournalEntry)
  }

  return {
    get ca() {
      return ca
    },
    get folder() {
      return folder
    },
    get peer() {
      return peer
    },
    start,
    connect,
    untilSession,
    serve,
    onEnd: (close) => void closers.push(close),
    report,
  }
}
