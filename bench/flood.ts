import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { type Figures, type OptionValues, parseCount } from '../scripts/run-measurement.ts'
import { claimDevices, enroll } from './support/devices.ts'
import type { FlooderData, FlooderReport } from './support/flooder.worker.ts'
import { cpuSeconds, residentKb } from './support/process-usage.ts'
import { type Signalbox, startSignalbox } from './support/signalbox.ts'

export const options = { devices: { type: 'string' } } as const

const DEFAULT_DEVICES = 200
const CALLS_PER_S = 50
const WARM_UP_S = 5
const QUIET_S = 20
const FLOOD_S = 30

/**
 * Measures the effect of hostile enrolled devices on the others: the latency of `GET /self` and the memory of the
 * server process, without them, while one device floods the gateway, and while many send as much as they may.
 */
export async function run(values: OptionValues): Promise<Figures> {
  const count = parseCount(values, 'devices', DEFAULT_DEVICES)
  const signalbox = await startSignalbox()
  try {
    const { ca, devices } = await enroll(signalbox, await claimDevices(signalbox, 2 + count))
    await observe(signalbox, WARM_UP_S)
    const quiet = await observe(signalbox, QUIET_S)
    const flood = (kind: FlooderData['kind'], from: number, end: number): Promise<Figures> =>
      floodBy({ port: signalbox.ucentralPort, ca, devices: devices.slice(from, end), kind }, signalbox, quiet)
    return {
      calls_per_s: CALLS_PER_S,
      flood_s: FLOOD_S,
      quiet_p50_ms: quiet.p50Ms,
      quiet_p99_ms: quiet.p99Ms,
      inflating_50_per_s: await flood('inflating', 0, 1),
      small_1000_per_s: await flood('small', 1, 2),
      [`largest_1_per_s_of_${count}`]: await flood('largest', 2, devices.length),
    }
  } finally {
    await signalbox.stop()
  }
}

async function floodBy(data: FlooderData, signalbox: Signalbox, quiet: Observation): Promise<Figures> {
  const worker = new Worker(new URL('support/flooder.worker.ts', import.meta.url), { workerData: data })
  const loud = await observe(signalbox, FLOOD_S)
  worker.postMessage('report')
  const [report] = (await once(worker, 'message')) as [FlooderReport]
  await worker.terminate()
  return {
    p50_ms: loud.p50Ms,
    p99_ms: loud.p99Ms,
    max_ms: loud.maxMs,
    memory_more_mb: Math.round((loud.maxKb - quiet.maxKb) / 1024),
    server_cpu_percent: loud.cpuPercent,
    closed_after_s: report.closedAfterS,
    close_code: report.closeCode,
    connections: report.connections,
    refused: report.refused,
    frames_sent: report.framesSent,
  }
}

interface Observation {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
  readonly maxKb: number
  /** The share of one processor. */
  readonly cpuPercent: number
}

/**
 * Calls at a fixed rate, whether or not earlier calls have been answered, so that a server that hangs does not slow the
 * measurement down.
 */
async function observe(signalbox: Signalbox, seconds: number): Promise<Observation> {
  const latencies: number[] = []
  const calls: Promise<void>[] = []
  let maxKb = 0
  const cpuBefore = await cpuSeconds(signalbox.pid)
  const startMs = performance.now()
  for (let sent = 0; sent < seconds * CALLS_PER_S; sent += 1) {
    const dueMs = startMs + (1000 * sent) / CALLS_PER_S
    if (dueMs > performance.now()) await delay(dueMs - performance.now())
    calls.push(signalbox.call('GET', '/api/v1/self').then(() => void latencies.push(performance.now() - dueMs)))
    if (sent % 10 === 0) maxKb = Math.max(maxKb, await residentKb(signalbox.pid))
  }
  await Promise.all(calls)
  const cpuS = (await cpuSeconds(signalbox.pid)) - cpuBefore
  const cpuPercent = Math.round((100_000 * cpuS) / (performance.now() - startMs))
  const sorted = latencies.toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(10 * (sorted[Math.floor(sorted.length * share)] ?? 0)) / 10
  return { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: Math.round(sorted.at(-1) ?? 0), maxKb, cpuPercent }
}
