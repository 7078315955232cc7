import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import type { XmlElement } from '../../gateway/netconf/xml.ts'
import { downloadImage } from '../download.ts'
import { readImage } from '../image.ts'
import { answerRpc, busyAnswer } from './answer-rpc.ts'
import { type CallHomeOptions, type HomeCall, callHome } from './call-home.ts'
import { type JunosDevice, bootChassis } from './junos-device.ts'

export interface SimulatedJunosOptions extends Omit<CallHomeOptions, 'onRpc'> {
  readonly device: JunosDevice
  /** How long a boot takes, and how long the device waits before it calls home again. */
  readonly bootMs: number
  readonly retryMs: number
  readonly now: () => number
  /** The duration of a request that changes something. */
  readonly workMs?: number
  /** Waits until a reboot that was requested for later; without it for as long as a real device. */
  readonly waitMinutes?: (minutes: number, signal: AbortSignal) => Promise<void>
  /** Speed of downloads; 0: no limit. */
  readonly bytesPerS?: number
  /** The CAs that it trusts for downloads, PEM; null: the public ones. */
  readonly downloadCa?: string | null
  /** Called when a request arrives, with the name of the operation. The device works on it when this resolves. */
  readonly onRequest?: (name: string) => Promise<void> | void
  /** Called when chassis boot. They are back when this has resolved, too. */
  readonly onBoot?: () => Promise<void> | void
  /** Called after each change of the device. */
  readonly onChange?: () => void
}

const MINUTE_MS = 60_000

/** A device that calls home until it is stopped. */
export interface SimulatedJunos {
  readonly device: JunosDevice
  /** Breaks the connection; the device calls home again. */
  drop(): void
  stop(): Promise<void>
}

export function startSimulatedJunos(options: SimulatedJunosOptions): SimulatedJunos {
  const { device, bootMs, retryMs, now, workMs = 0, downloadCa = null, onChange = () => undefined } = options
  const { waitMinutes = (minutes, signal) => pause(minutes * MINUTE_MS, signal) } = options
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

  /** The current work of the device, whether or not a connection waits for the reply. */
  const working = new Set<Promise<unknown>>()
  let isInstalling = false

  const onRpc: CallHomeOptions['onRpc'] = async (rpc) => {
    const isPackage = /^request-package-(?:add|in-service-upgrade)$/.test(rpc.name)
    if (isPackage && isInstalling) return busyAnswer
    if (isPackage) isInstalling = true
    const answer = answerAfterWork(rpc)
    working.add(answer)
    try {
      return await answer
    } finally {
      working.delete(answer)
      if (isPackage) isInstalling = false
    }
  }

  async function answerAfterWork(rpc: XmlElement): Promise<string | null> {
    await options.onRequest?.(rpc.name)
    if (takesTime(rpc.name) && workMs > 0) await pause(workMs, ending.signal)
    if (ending.signal.aborted) return null
    const { body, boots, inMinutes } = await answerRpc(device, rpc, { nowMs: now(), download })
    if (inMinutes > 0) rebootLater(boots, inMinutes)
    else beginBoots(boots)
    if (isWork(rpc.name)) onChange()
    if (inMinutes > 0 || !boots.includes(device.master)) return body
    if (body === null) call?.end()
    // The reply leaves first.
    else setImmediate(() => call?.socket.end())
    return body
  }

  function beginBoots(boots: readonly number[]): void {
    device.booting = [...new Set([...device.booting, ...boots])]
    if (!boots.includes(device.master)) bootParts(boots)
  }

  function rebootLater(boots: readonly number[], minutes: number): void {
    const later = waitMinutes(minutes, ending.signal).then(() => {
      working.delete(later)
      if (ending.signal.aborted) return
      beginBoots(boots)
      onChange()
      if (boots.includes(device.master)) call?.end()
    })
    working.add(later)
  }

  async function boot(indexes: () => readonly number[]): Promise<void> {
    await pause(bootMs, ending.signal)
    if (!ending.signal.aborted) await options.onBoot?.()
    if (ending.signal.aborted) return
    bootChassis(device, indexes(), now())
    onChange()
  }

  /** Boots chassis while the others keep the connection open. */
  function bootParts(boots: readonly number[]): void {
    for (const index of boots) {
      const chassis = device.chassis[index]
      if (chassis !== undefined) chassis.isPresent = false
    }
    if (device.faults.has('never_returns')) return
    const booted = boot(() => boots).finally(() => working.delete(booted))
    working.add(booted)
  }

  const isBooting = (): boolean => device.booting.includes(device.master)

  async function run(): Promise<void> {
    if (!isBooting() && device.booting.length > 0) bootParts(device.booting)
    while (!ending.signal.aborted) {
      if (!isBooting()) {
        call = callHome({ ...options, onRpc })
        await call.closed
      }
      if (isBooting()) {
        if (device.faults.has('never_returns')) return
        await boot(() => device.booting)
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
      await Promise.all(working)
      await dispatcher.destroy()
    },
  }
}

/** The others only look. */
function isWork(name: string): boolean {
  return name.startsWith('request-') || name === 'file-copy'
}

/** A reboot begins immediately. */
function takesTime(name: string): boolean {
  return isWork(name) && name !== 'request-reboot'
}

export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  // The stop ends the pause.
  await delay(ms, undefined, { signal }).catch(() => undefined)
}
