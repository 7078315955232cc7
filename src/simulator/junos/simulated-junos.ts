import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import type { XmlElement } from '../../gateway/netconf/xml.ts'
import { downloadImage } from '../download.ts'
import { readImage } from '../image.ts'
import { answerRpc } from './answer-rpc.ts'
import { type CallHomeOptions, type HomeCall, callHome } from './call-home.ts'
import { type JunosDevice, bootChassis } from './junos-device.ts'

export interface SimulatedJunosOptions extends Omit<CallHomeOptions, 'onRpc'> {
  readonly device: JunosDevice
  /** How long a boot takes, and how long the device waits before it calls home again. */
  readonly bootMs: number
  readonly retryMs: number
  readonly now: () => number
  /** How long a request that changes something takes. */
  readonly workMs?: number
  /** Speed of downloads; 0: no limit. */
  readonly bytesPerS?: number
  /** The CAs that it trusts for downloads, PEM; null: the public ones. */
  readonly downloadCa?: string | null
  /** Called when a request arrives, with the name of the operation. */
  readonly onRequest?: (name: string) => void
  /** Called after each change of the device. */
  readonly onChange?: () => void
}

/** A device that calls home until it is stopped. */
export interface SimulatedJunos {
  readonly device: JunosDevice
  /** Breaks the connection; the device calls home again. */
  drop(): void
  stop(): Promise<void>
}

export function startSimulatedJunos(options: SimulatedJunosOptions): SimulatedJunos {
  const { device, bootMs, retryMs, now, workMs = 0, downloadCa = null, onChange = () => undefined } = options
  const ending = new AbortController()
  const dispatcher = new Agent(downloadCa === null ? {} : { connect: { ca: downloadCa } })
  let call: HomeCall | null = null

  async function download(uri: string): Promise<{ sha256: string; version: string }> {
    const file = await downloadImage(uri, {
      dispatcher,
      signal: ending.signal,
      bytesPerS: options.bytesPerS ?? 0,
      failing: false,
      onProgress: () => undefined,
    })
    return { sha256: file.sha256, version: readImage(file).version }
  }

  /** The chassis that boot once the connection has ended. */
  let booting: readonly number[] = []

  /** What the device is doing, whether or not somebody waits for the reply. */
  let working: Promise<unknown> = Promise.resolve()

  const onRpc: CallHomeOptions['onRpc'] = (rpc) => {
    options.onRequest?.(rpc.name)
    const answer = answerAfterWork(rpc)
    working = answer
    return answer
  }

  async function answerAfterWork(rpc: XmlElement): Promise<string | null> {
    if (isWork(rpc.name) && workMs > 0) await pause(workMs, ending.signal)
    if (ending.signal.aborted) return null
    const { body, boots } = await answerRpc(device, rpc, { nowMs: now(), download })
    if (isWork(rpc.name)) onChange()
    if (boots.length === 0) return body
    if (!boots.includes(device.master)) {
      bootChassis(device, boots, now())
      onChange()
      return body
    }
    booting = boots
    if (body === null) call?.end()
    // The reply leaves first.
    else setImmediate(() => call?.socket.end())
    return body
  }

  async function run(): Promise<void> {
    while (!ending.signal.aborted) {
      call = callHome({ ...options, onRpc })
      await call.closed
      await working
      if (booting.length > 0) {
        if (device.faults.has('never_returns')) return
        await pause(bootMs, ending.signal)
        bootChassis(device, booting, now())
        onChange()
        booting = []
      } else await pause(retryMs, ending.signal)
    }
  }

  const running = run()
  return {
    device,
    drop: () => call?.end(),
    async stop() {
      ending.abort()
      call?.end()
      await running
      await dispatcher.destroy()
    },
  }
}

/** The others only look. */
function isWork(name: string): boolean {
  return name.startsWith('request-') || name === 'file-copy'
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The stop ends the pause.
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
