import type { ExtensionMethod } from '../../gateway/ucentral/extension-messages.ts'
import type { Fault } from '../faults.ts'

/** A member of a simulated Virtual Chassis. */
export interface ChassisMember {
  /** 0..9; the lowest is the master, which has the connection. */
  readonly member: number
  /** Lower-case hex without separators. */
  readonly mac: string
  readonly serial: string
  readonly model: string
}

/** The fixed properties of a simulated device. */
export interface Profile {
  /** Lower-case hex without separators: the certificate's name and `serial` on the wire. */
  readonly mac: string
  /** The number on the box. */
  readonly serial: string
  readonly model: string
  readonly type: 'ap' | 'switch'
  /** Empty unless the device is a Virtual Chassis. */
  readonly members: readonly ChassisMember[]
  /** True for a device with two nodes, `node0` and `node1`, that can be restarted one by one. */
  readonly cluster: boolean
  /** The methods that it offers beyond stock uCentral, except for the restart of parts. */
  readonly methods: readonly ExtensionMethod[]
  readonly faults: ReadonlySet<Fault>
  readonly timing: Timing
}

/** Real milliseconds, after time scale and slowness have been applied. */
export interface Timing {
  readonly bootMs: number
  readonly flashMs: number
  /** An access point's pause between a valid image and its reply to the upgrade. */
  readonly triggerMs: number
  /** How long an access point stays connected after it accepted a reboot. */
  readonly goodbyeMs: number
  /** The interval at which a switch reports on its upgrade. */
  readonly statusMs: number
  /** How long a connection of a flapping device lasts. */
  readonly flapMs: number
}

/**
 * The current activity of the device. Only an idle device begins an upgrade.
 *
 * `triggering`: the image is valid and the reply to the upgrade is due (access points only).
 * `restarting`: the device has accepted a reboot and is still connected.
 * `lost`: the device is off and never comes back.
 *
 * `wipes`: the upgrade deletes the key, the certificate and the gateway's address.
 */
export type Activity =
  | { readonly kind: 'idle' }
  | {
      readonly kind: 'downloading'
      readonly callId: number
      readonly percent: number
      readonly wipes?: true
      /** The SHA-256 of an image that is only to be stored. */
      readonly stages?: string
    }
  | { readonly kind: 'triggering'; readonly callId: number; readonly version: string; readonly wipes?: true }
  | { readonly kind: 'installing'; readonly version: string; readonly remainingMs: number; readonly wipes?: true }
  | { readonly kind: 'restarting' }
  | { readonly kind: 'booting'; readonly reason: BootReason }
  | { readonly kind: 'lost' }

/** The reason that an access point sends with its first connection after a boot. */
export type BootReason = 'coldboot' | 'reboot' | 'upgrade' | 'upgradefailed'

/** The cause of the last boot that a switch sends when its client has started. */
export type BootCause = 'powerloss' | 'reboot'

/** An upgrade order that an access point has received. */
export interface UpgradeOrder {
  readonly callId: number
  readonly uri: string
  readonly trust: Trust
  readonly wipes?: true
}

export interface DeviceState {
  readonly firmware: string
  /** The version before the last upgrade. */
  readonly backup?: string
  /** An image that is stored for its activation. */
  readonly staged?: { readonly sha256: string; readonly version: string }
  readonly activity: Activity
  /** The reason that the next `connect` sends; `recovery`: the watchdog has restarted the client. */
  readonly connectReason: BootReason | 'socket' | 'recovery'
  /** True while it runs a version that an upgrade has installed; false once it has restored its backup version. */
  readonly upgraded?: true
  /** True once it has lost a connection with the request of a restore. */
  readonly restoreLost?: true
  /** The boot event that a switch will send at its next connection. */
  readonly untoldBoot?: BootCause
  /** Upgrades that wait, because an access point performs one at a time; a reboot deletes them. */
  readonly queue?: readonly UpgradeOrder[]
  /** Seconds between the reports that the gateway has requested; lost when the client's process ends. */
  readonly telemetryS?: number
  /** Epoch milliseconds. */
  readonly bootedAtMs: number
  /** How many more times the connection will be lost after this boot. */
  readonly flapsLeft: number
  /** True once the device has lost its key and its gateway: it still runs, but never connects. */
  readonly orphaned?: true
  readonly counts: Counts
}

/** Counts the effects on the device since its creation; they prove that nothing was done twice. */
export interface Counts {
  readonly boots: number
  /** Images written to flash, whether or not the device came back with them. */
  readonly flashes: number
  /** Images received completely. */
  readonly downloads: number
  /** Restarts of single members and nodes. */
  readonly partBoots: number
}

/** The entries of a device's history; `install` is the start of a flash, `flash` its end. */
export type DeviceChange =
  | 'made'
  | 'download'
  | 'install'
  | 'flash'
  | 'down'
  | 'boot'
  | 'part_boot'
  | 'lost'
  | 'orphaned'

/** An image as it came from the network. */
export interface DownloadedImage {
  /** Lower-case hex. */
  readonly sha256: string
  /** The version in the image. */
  readonly version: string
  /** Models that it is built for; null if it does not name them. */
  readonly models: readonly string[] | null
}

export type DeviceInput =
  | {
      readonly on: 'call'
      readonly id: number
      readonly method: string
      readonly params: Readonly<Record<string, unknown>>
    }
  | { readonly on: 'progress'; readonly percent: number }
  | { readonly on: 'downloaded'; readonly image: DownloadedImage }
  /** `text` as the device's own download program words it. */
  | { readonly on: 'download_failed'; readonly text: string }
  /** The time of the last `wait` has passed. */
  | { readonly on: 'elapsed' }
  /** `connect` was sent. */
  | { readonly on: 'connected' }
  /** The client's watchdog has restarted the client. */
  | { readonly on: 'client_restarted' }
  | { readonly on: 'uploaded'; readonly callId: number; readonly isStored: boolean }

/** The effects of a step, in order. They do not open or close the connection; `isOnline` derives that from the state. */
export type Effect =
  /** `as` is the field that has the text; default `text`. */
  | {
      readonly do: 'reply'
      readonly id: number
      readonly error: number
      readonly text: string
      readonly as?: 'text' | 'result'
    }
  /** Post diagnostics there; ends with `uploaded`. */
  | { readonly do: 'upload'; readonly uri: string; readonly callId: number }
  | { readonly do: 'notify'; readonly method: string; readonly params: Readonly<Record<string, unknown>> }
  | { readonly do: 'download'; readonly uri: string; readonly trust: Trust }
  | { readonly do: 'abort_download' }
  /** Send a report now and then at this interval; null stops the reports. */
  | { readonly do: 'report'; readonly everyMs: number | null }
  /** Requests `elapsed`; replaces an earlier wait. */
  | { readonly do: 'wait'; readonly ms: number }
  /** Ends the connection, unless it is a different one by then. */
  | { readonly do: 'drop'; readonly afterMs: number }
  | { readonly do: 'record'; readonly change: DeviceChange }

/** The CAs that a device trusts for the server that it downloads from: its gateway's CA, or the public ones. */
export type Trust = 'gateway_ca' | 'public_cas'

export interface Step {
  readonly state: DeviceState
  readonly effects: readonly Effect[]
}

/** How often a flapping device loses its connection after a boot. */
const FLAPS = 3

const idle: Activity = { kind: 'idle' }

/** A device that has just been switched on. */
export function newDevice(profile: Profile, firmware: string, nowMs: number): DeviceState {
  return {
    firmware,
    activity: idle,
    connectReason: 'coldboot',
    untoldBoot: 'powerloss',
    bootedAtMs: nowMs,
    flapsLeft: profile.faults.has('flap') ? FLAPS : 0,
    counts: { boots: 0, flashes: 0, downloads: 0, partBoots: 0 },
  }
}

/**
 * Resumes a device after a restart of the simulator, as if the device had kept running. A flash or boot
 * that was in progress starts again; a download is lost with the process that performed it.
 */
export function resumeDevice(profile: Profile, saved: DeviceState, nowMs: number): Step {
  const { activity } = saved
  switch (activity.kind) {
    case 'idle':
    case 'downloading':
    case 'triggering':
      return { state: { ...withoutClient(saved), activity: idle, connectReason: 'socket' }, effects: [] }
    case 'installing': {
      const state = { ...saved, activity: { ...activity, remainingMs: profile.timing.flashMs } }
      return { state, effects: [{ do: 'wait', ms: profile.timing.flashMs }] }
    }
    case 'restarting':
      return finishBoot(profile, { ...saved, activity: { kind: 'booting', reason: 'reboot' } }, nowMs)
    case 'lost':
      return finishBoot(profile, { ...saved, activity: { kind: 'booting', reason: 'coldboot' } }, nowMs)
    case 'booting':
      return finishBoot(profile, saved, nowMs)
  }
}

/** False for a device that is down or orphaned, and for an access point that writes its flash. */
export function isOnline(profile: Profile, state: DeviceState): boolean {
  if (state.orphaned === true) return false
  switch (state.activity.kind) {
    case 'idle':
    case 'downloading':
    case 'triggering':
    case 'restarting':
      return true
    case 'installing':
      return profile.type === 'switch'
    case 'booting':
    case 'lost':
      return false
  }
}

/** True if the version of its upgrade has this fault. */
export function suffersFrom({ faults }: Profile, state: DeviceState, fault: 'unhealthy' | 'unstable'): boolean {
  return state.upgraded === true && faults.has(fault)
}

export function uptimeS(state: DeviceState, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - state.bootedAtMs) / 1000))
}

/** Takes the device down. It comes back after the boot time, unless a fault prevents it. */
export function goDown(profile: Profile, state: DeviceState, reason: BootReason): Step {
  if (profile.faults.has('never_return')) {
    return { state: { ...state, activity: { kind: 'lost' } }, effects: [{ do: 'record', change: 'lost' }] }
  }
  const activity: Activity = { kind: 'booting', reason }
  const effects: readonly Effect[] = [
    { do: 'record', change: 'down' },
    { do: 'wait', ms: profile.timing.bootMs },
  ]
  return { state: { ...state, activity }, effects }
}

/** Removes the parts of the state that exist only in the client's process. */
function withoutClient(state: DeviceState): DeviceState {
  const { telemetryS: _, queue: __, ...rest } = state
  return rest
}

/** Ends a boot; the uptime starts at 0. */
export function finishBoot(profile: Profile, state: DeviceState, nowMs: number): Step {
  const reason = state.activity.kind === 'booting' ? state.activity.reason : 'coldboot'
  return {
    state: {
      ...withoutClient(state),
      activity: idle,
      connectReason: reason,
      untoldBoot: reason === 'coldboot' ? 'powerloss' : 'reboot',
      bootedAtMs: nowMs,
      flapsLeft: profile.faults.has('flap') ? FLAPS : 0,
      counts: { ...state.counts, boots: state.counts.boots + 1 },
    },
    effects: [
      { do: 'record', change: 'boot' },
      { do: 'report', everyMs: null },
    ],
  }
}
