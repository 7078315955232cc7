import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { DEVICE_NICENESS, claimDevices, enroll } from './support/devices.ts'
import { cpuSeconds } from './support/process-usage.ts'
import type { ClientsData, ClientsReport } from './support/sessions/returning-clients.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

export const options = { devices: { type: 'string' }, pause: { type: 'string' } } as const

const DEFAULT_DEVICES = 2000
const DEFAULT_PAUSE_S = 5
/**
 * Seconds to watch after the last device has reconnected: any false report of a disconnect would have been made by
 * then.
 */
const WATCH_S = 20
const GIVE_UP_S = 1200

const clientsProgram = fileURLToPath(new URL('support/sessions/returning-clients.ts', import.meta.url))

/**
 * Stops the server and starts it again after a pause, while access points are connected that reconnect as the real
 * client does: 10, 20, 30 s after the last attempt. Measures how soon they are connected again, and how many were
 * reported as disconnected.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const count = parseCount(values, 'devices', DEFAULT_DEVICES)
  const pauseS = parseCount(values, 'pause', DEFAULT_PAUSE_S)
  const signalbox = await startSignalbox()
  try {
    const { ca, devices } = await enroll(signalbox, await claimDevices(signalbox, count))
    const clients = startClients({ port: signalbox.ucentralPort, ca, devices })
    await clients.untilBack(count)
    // By then the connections of the devices are recorded.
    await delay(5000)
    const before = await countEvents(signalbox)
    const failedBefore = clients.failed()
    const stopMs = performance.now()
    await signalbox.restart(pauseS * 1000)
    const readyMs = performance.now()
    const cpuBefore = await cpuSeconds(signalbox.pid)
    const seconds = async (share: number): Promise<number> => {
      await clients.untilBack(Math.ceil(count * share))
      return Math.round((performance.now() - readyMs) / 100) / 10
    }
    const times = {
      half_back_s: await seconds(0.5),
      back_99_percent_s: await seconds(0.99),
      all_back_s: await seconds(1),
    }
    const cpuS = (await cpuSeconds(signalbox.pid)) - cpuBefore
    await delay(WATCH_S * 1000)
    const after = await countEvents(signalbox)
    await clients.stop()
    return {
      devices: count,
      outage_s: Math.round((readyMs - stopMs) / 100) / 10,
      ...times,
      server_cpu_ms_per_device: Math.round((10_000 * cpuS) / count) / 10,
      failed_attempts: clients.failed() - failedBefore,
      reported_down: after.down - before.down,
      reported_up: after.up - before.up,
    }
  } finally {
    await signalbox.stop()
  }
}

function startClients(data: ClientsData) {
  const child = spawn('nice', ['-n', String(DEVICE_NICENESS), process.execPath, clientsProgram], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  child.send(data)
  let last: ClientsReport = { connected: 0, failed: 0 }
  child.on('message', (report: ClientsReport) => (last = report))
  return {
    failed: () => last.failed,
    async untilBack(count: number): Promise<void> {
      for (const startMs = performance.now(); last.connected < count; await delay(50))
        if (performance.now() - startMs > GIVE_UP_S * 1000)
          throw new Error(`after ${GIVE_UP_S} s ${last.connected} of ${count} devices are connected`)
    },
    async stop(): Promise<void> {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}

async function countEvents({ orgId, call }: Signalbox): Promise<{ down: number; up: number }> {
  const count = async (type: string): Promise<number> => {
    const found = await call('GET', `/api/v1/orgs/${orgId}/devices/events/search?duration=1d&limit=1&type=${type}`)
    return (found as { readonly total: number }).total
  }
  return { down: await count('AP_DISCONNECTED'), up: await count('AP_CONNECTED') }
}
