import type { Dispatcher } from 'undici'
import { decodeFrame, compressParams, encodeNotification, encodeResult } from '../../gateway/websockets/jsonrpc.ts'
import type { KeyPairPem } from '../../gateway/certificates/device-ca.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { Logger } from '../../platform/log.ts'
import { advanceDevice } from './advance-device.ts'
import {
  type Activity,
  type Counts,
  type DeviceChange,
  type DeviceInput,
  type DeviceState,
  type Effect,
  isOnline,
  newDevice,
  type Profile,
  resumeDevice,
  type Trust,
} from './device.ts'
import { DownloadError, downloadImage } from '../download.ts'
import type { Fault } from '../faults.ts'
import { GatewayLink } from './gateway-link.ts'
import { readImage } from '../image.ts'
import { Outbox } from './outbox.ts'
import { downloadRate, type Pace, timingOf } from '../pace.ts'
import { uploadFile } from './upload.ts'
import { connectParams, healthcheckParams, stateParams, telemetryParams } from './telemetry.ts'

/** The environment that a device shares with its fleet. */
export interface Surroundings {
  /** `wss://host:port/` */
  readonly url: string
  /** PEM. */
  readonly ca: string
  readonly pace: Pace
  readonly clock: Clock
  readonly log: Logger
  readonly dispatchers: Readonly<Record<Trust, Dispatcher>>
  onChange(device: SimulatedDevice, change: DeviceChange | LinkChange): void
  /** Called after each step of any device, even when little has changed. */
  readonly onStep: () => void
}

export type LinkChange = 'connected' | 'disconnected'

/** Real clients compress longer messages. */
const COMPRESS_FROM_BYTES = 2048

/** Runs the pure device of `advance-device.ts` with timers, downloads and a connection. */
export class SimulatedDevice {
  readonly #world: Surroundings
  readonly #link: GatewayLink
  readonly #saved: DeviceState | null
  readonly #outbox = new Outbox()
  #profile: Profile
  #state: DeviceState
  #connections = 0
  #timer: NodeJS.Timeout | undefined
  #reports: NodeJS.Timeout | undefined
  #telemetry: NodeJS.Timeout | undefined
  #download: AbortController | null = null
  #stopped = false

  /** @param start The saved state of the device, or null; a new device starts with the version `firmware`. */
  constructor(
    profile: Profile,
    start: { readonly saved: DeviceState | null; readonly firmware: string; readonly identity: KeyPairPem },
    world: Surroundings,
  ) {
    this.#profile = profile
    this.#world = world
    this.#saved = start.saved
    this.#state = start.saved ?? newDevice(profile, start.firmware, world.clock.now().getTime())
    const { url, ca, pace } = world
    this.#link = new GatewayLink(
      { url, ca, ...start.identity, type: profile.type, pace },
      {
        onOpen: () => this.#opened(),
        onText: (text) => this.#received(text),
        onDown: (why) => this.#down(why),
        onRestart: () => this.#take({ on: 'client_restarted' }),
      },
    )
  }

  get mac(): string {
    return this.#profile.mac
  }
  get profile(): Profile {
    return this.#profile
  }
  get state(): DeviceState {
    return this.#state
  }
  get firmware(): string {
    return this.#state.firmware
  }
  get activity(): Activity['kind'] {
    return this.#state.activity.kind
  }
  get counts(): Counts {
    return this.#state.counts
  }
  get connected(): boolean {
    return this.#link.isOpen
  }
  /** The number of its connections so far. */
  get connections(): number {
    return this.#connections
  }

  /** Switches the device on. */
  start(): void {
    if (this.#saved === null) {
      this.#perform({ do: 'record', change: 'made' })
      this.#follow()
      return
    }
    const { state, effects } = resumeDevice(this.#profile, this.#saved, this.#nowMs())
    this.#enter(state, effects)
  }

  /** Ends timers, download and connection; the state does not change. */
  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
    this.#stopReports()
    clearInterval(this.#telemetry)
    this.#download?.abort()
    this.#link.disconnect()
  }

  /** Replaces the faults of the device; activities in progress keep their timing. */
  setFaults(faults: ReadonlySet<Fault>): void {
    this.#profile = { ...this.#profile, faults, timing: timingOf(this.#world.pace, faults) }
  }

  /** Breaks the connection like a broken cable; the device itself still runs. */
  loseConnection(): void {
    this.#link.drop()
  }

  #take(input: DeviceInput): void {
    if (this.#stopped) return
    const { state, effects } = advanceDevice(this.#profile, this.#state, { input, nowMs: this.#nowMs() })
    this.#enter(state, effects)
  }

  #enter(state: DeviceState, effects: readonly Effect[]): void {
    this.#state = state
    for (const effect of effects) this.#perform(effect)
    this.#follow()
    this.#world.onStep()
  }

  #follow(): void {
    if (isOnline(this.#profile, this.#state)) return this.#link.connect()
    this.#link.disconnect()
    // Reports and unsent messages end with the client's process.
    this.#stopReports()
    this.#outbox.take()
  }

  #perform(effect: Effect): void {
    switch (effect.do) {
      case 'reply':
        this.#reply(effect)
        break
      case 'notify':
        this.#notify(effect.method, effect.params)
        break
      case 'download':
        void this.#fetch(effect)
        break
      case 'upload':
        void this.#upload(effect)
        break
      case 'abort_download':
        this.#download?.abort()
        break
      case 'report':
        this.#reportEvery(effect.everyMs)
        break
      case 'wait':
        clearTimeout(this.#timer)
        this.#timer = setTimeout(() => this.#take({ on: 'elapsed' }), effect.ms)
        break
      case 'drop':
        this.#dropAfter(effect.afterMs)
        break
      case 'record':
        this.#world.onChange(this, effect.change)
        break
    }
  }

  #reply({ id, error, text, as = 'text' }: Extract<Effect, { do: 'reply' }>): void {
    this.#send(encodeResult(id, { serial: this.mac, uuid: 1, status: { error, [as]: text } }))
  }

  #notify(method: string, params: Readonly<Record<string, unknown>>): void {
    const plain = encodeNotification(method, params)
    this.#send(plain.length < COMPRESS_FROM_BYTES ? plain : encodeNotification(method, compressParams(params)))
  }

  /** Without a connection, the client of switches queues a message for the next one; that of access points loses it. */
  #send(message: string): void {
    if (this.#link.send(message)) return
    if (this.#profile.type === 'switch' && isOnline(this.#profile, this.#state)) this.#outbox.add(message)
  }

  #dropAfter(ms: number): void {
    const during = this.#connections
    setTimeout(() => {
      if (during === this.#connections) this.#link.drop()
    }, ms).unref()
  }

  #opened(): void {
    this.#connections += 1
    this.#notify('connect', connectParams(this.#profile, this.#state))
    for (const message of this.#outbox.take()) this.#send(message)
    const { stateIntervalMs } = this.#world.pace
    if (stateIntervalMs > 0 && this.#reports === undefined) {
      this.#report()
      this.#reports = setInterval(() => this.#report(), stateIntervalMs)
    }
    this.#world.onChange(this, 'connected')
    this.#take({ on: 'connected' })
  }

  #report(): void {
    this.#notify('state', stateParams(this.#profile, this.#state, this.#nowMs()))
    this.#notify('healthcheck', healthcheckParams(this.#profile))
  }

  #stopReports(): void {
    clearInterval(this.#reports)
    this.#reports = undefined
  }

  #reportEvery(everyMs: number | null): void {
    clearInterval(this.#telemetry)
    if (everyMs === null) return
    const report = (): void => this.#notify('telemetry', telemetryParams(this.#profile, this.#state, this.#nowMs()))
    report()
    this.#telemetry = setInterval(report, everyMs)
  }

  #down(why: string): void {
    // A switch continues to report into its outbox.
    if (this.#profile.type === 'ap') this.#stopReports()
    this.#world.log.debug({ mac: this.mac, why }, 'no connection')
    this.#world.onChange(this, 'disconnected')
  }

  #received(text: string): void {
    const frame = decodeFrame(text)
    if (frame.kind !== 'call' || frame.id === null) {
      this.#world.log.warn({ mac: this.mac, frame: text.slice(0, 200) }, 'no call, dropped')
      return
    }
    this.#take({ on: 'call', id: frame.id, method: frame.method, params: frame.params })
  }

  async #fetch({ uri, trust }: Extract<Effect, { do: 'download' }>): Promise<void> {
    const abort = new AbortController()
    this.#download = abort
    const { faults } = this.#profile
    try {
      const image = await downloadImage(uri, {
        dispatcher: this.#world.dispatchers[trust],
        signal: abort.signal,
        bytesPerS: downloadRate(this.#world.pace, faults),
        failing: faults.has('fail_download'),
        onProgress: (percent) => this.#take({ on: 'progress', percent }),
      })
      if (!abort.signal.aborted) this.#take({ on: 'downloaded', image: readImage(image) })
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error
      if (!abort.signal.aborted) this.#take({ on: 'download_failed', text: error.message })
    }
  }

  async #upload({ uri, callId }: Extract<Effect, { do: 'upload' }>): Promise<void> {
    const { dispatchers } = this.#world
    const content = `diagnostics of ${this.mac}, which runs ${this.firmware}`
    const isStored =
      !this.#profile.faults.has('fail_upload') &&
      (await uploadFile(uri, { dispatcher: dispatchers.public_cas, serial: this.mac, content }))
    this.#take({ on: 'uploaded', callId, isStored })
  }

  #nowMs(): number {
    return this.#world.clock.now().getTime()
  }
}
