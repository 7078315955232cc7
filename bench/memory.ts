import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild } from './support/child.ts'
import { claimDevices } from './support/devices.ts'
import { residentKb } from './support/process-usage.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

/**
 * Measures the resident memory of the server process (PostgreSQL is another process), idle and per connected device.
 * Linux only.
 */
const DEVICES = 2000
const IDLE_S = 30
/** States arrive every minute: after two of them each session has done everything that it does. */
const CONNECTED_S = 130

const simulator = fileURLToPath(new URL('../src/bin/simulator.ts', import.meta.url))

export async function run(): Promise<Record<string, unknown>> {
  const signalbox = await startSignalbox()
  try {
    await delay(IDLE_S * 1000)
    const idleKb = await residentKb(signalbox.pid)
    const fleet = await claimFleet(signalbox)
    const devices = await startChild({
      args: [simulator, '--fleet', fleet, '--gateway', `127.0.0.1:${signalbox.ucentralPort}`].concat(
        '--ca',
        join(signalbox.dataDir, 'device-ca'),
      ),
      ready: /^simulator ready/,
    })
    await delay(CONNECTED_S * 1000)
    const connectedKb = await residentKb(signalbox.pid)
    const connected = await countConnected(signalbox)
    await devices.stop()
    return {
      idle_mb: Math.round(idleKb / 1024),
      devices: connected,
      connected_mb: Math.round(connectedKb / 1024),
      per_device_kb: Math.round((connectedKb - idleKb) / connected),
    }
  } finally {
    await signalbox.stop()
  }
}

/** @returns The path of a fleet file of devices that the organization has claimed. */
async function claimFleet(signalbox: Signalbox): Promise<string> {
  const devices = await claimDevices(signalbox, DEVICES)
  const file = join(signalbox.dataDir, 'bench-fleet.json')
  await writeFile(file, JSON.stringify(devices.map((device) => Object.assign({ firmware: '1.0.0' }, device))))
  return file
}

async function countConnected({ orgId, call }: Signalbox): Promise<number> {
  let connected = 0
  for (let page = 1; (page - 1) * 1000 < DEVICES; page += 1) {
    const devices = await call('GET', `/api/v1/orgs/${orgId}/inventory?limit=1000&page=${page}`)
    connected += (devices as readonly { readonly connected: boolean }[]).filter((device) => device.connected).length
  }
  return connected
}
