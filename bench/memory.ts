import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { startChild } from './support/child.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

/** Resident memory of the server process (PostgreSQL is another), idle and for each connected device. Linux only. */
const DEVICES = 2000
const IDLE_S = 30
/** States come in every minute: after two of them each session has done all that it does. */
const CONNECTED_S = 130
const CLAIMS_AT_ONCE = 500

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

async function residentKb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1])
}

/** @returns A fleet file of devices that the organization has claimed. */
async function claimFleet({ orgId, dataDir, call, operate }: Signalbox): Promise<string> {
  const devices = Array.from({ length: DEVICES }, (_, index) => {
    const mac = `02${index.toString(16).padStart(10, '0')}`
    return { mac, serial: `B${mac}`, model: 'EAP101', type: 'ap' }
  })
  const codeOf = ({ mac }: { readonly mac: string }): string => `BENCH-${mac}`
  const manifest = devices.map((device) => Object.assign({ claim_code: codeOf(device) }, device))
  await operate('POST', '/operator/v1/manifest', { devices: manifest })
  for (let from = 0; from < DEVICES; from += CLAIMS_AT_ONCE)
    await call('POST', `/api/v1/orgs/${orgId}/inventory`, devices.slice(from, from + CLAIMS_AT_ONCE).map(codeOf))
  const file = join(dataDir, 'bench-fleet.json')
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
