import type { Fault } from './faults.ts'

/** A member of a simulated Virtual Chassis. */
export interface ChassisMember {
  /** 0..9; the lowest is the master, which holds the connection. */
  readonly member: number
  /** Lower-case hex without separators. */
  readonly mac: string
  readonly serial: string
  readonly model: string
}

/** What a simulated device is; it never changes. */
export interface Profile {
  /** Lower-case hex without separators: the certificate's name and `serial` on the wire. */
  readonly mac: string
  /** The number on the box. */
  readonly serial: string
  readonly model: string
  readonly type: 'ap' | 'switch'
  /** Empty: not a Virtual Chassis. */
  readonly members: readonly ChassisMember[]
  /** Two nodes, `node0` and `node1`, that can be restarted one by one. */
  readonly cluster: boolean
  readonly faults: ReadonlySet<Fault>
  readonly timing: Timing
}

/** Milliseconds as they pass here, scale and slowness included. */
export interface Timing {
  readonly bootMs: number
  readonly flashMs: number
  /** An access point's pause between a valid image and its reply to the upgrade. */
  readonly triggerMs: number
  /** How long an access point stays connected after it accepted a reboot. */
  readonly goodbyeMs: number
  /** A switch reports on its upgrade in this interval. */
  readonly statusMs: number
  /** A flapping device loses its connection this long after it was made. */
  readonly flapMs: number
}

/**
 * What the device is busy with. Only an idle device takes an upgrade.
 *
 * `triggering`: the image is valid, the reply to the upgrade is due (access points only).
 * `restarting`: the reboot was accepted, the connection still stands.
 * `lost`: switched itself off for good.
 *
 * `wipes`: the upgrade keeps neither key nor certificate nor the gateway's address.
 */
export type Activity =
  | { readonly kind: 'idle' }
  | { readonly kind: 'downloading'; readonly callId: number; readonly percent: number; readonly wipes?: true }
  | { readonly kind: 'triggering'; readonly callId: number; readonly version: string; readonly wipes?: true }
  | { readonly kind: 'installing'; readonly version: string; readonly remainingMs: number; readonly wipes?: true }
  | { readonly kind: 'restarting' }
  | { readonly kind: 'booting'; readonly reason: BootReason }
  | { readonly kind: 'lost' }

/** What an access point gives as the reason of its first connection after a boot. */
export type BootReason = 'coldboot' | 'reboot' | 'upgrade' | 'upgradefailed'

/** What a switch tells of its last boot when its client has started. */
export type BootCause = 'powerloss' | 'reboot'

/** An upgrade that an access point was told to do. */
export interface UpgradeOrder {
  readonly callId: number
  readonly uri: string
  readonly trust: Trust
  readonly wipes?: true
}

export interface DeviceState {
  readonly firmware: string
  readonly activity: Activity
  /** What the next `connect` gives as its reason; `recovery`: the watchdog has started the client anew. */
  readonly connectReason: BootReason | 'socket' | 'recovery'
  /** What a switch will tell at its next connection. */
  readonly untoldBoot?: BootCause
  /** An access point does one upgrade after the other; a reboot forgets them. */
  readonly queue?: readonly UpgradeOrder[]
  /** Seconds between the reports that the gateway has asked for; forgotten with the client's process. */
  readonly telemetryS?: number
  /** Epoch milliseconds. */
  readonly bootedAtMs: number
  /** How often the connection will still be lost after this boot. */
  readonly flapsLeft: number
  /** It has lost its key and knows no gateway any more: it runs on and never connects. */
  readonly orphaned?: true
  readonly counts: Counts
}

/** Effects on the device since it was made: what proves that nothing was done twice. */
export interface Counts {
  readonly boots: number
  /** Images written to flash, whether or not the device came back with them. */
  readonly flashes: number
  /** Images received whole. */
  readonly downloads: number
  /** Restarts of single members and nodes. */
  readonly partBoots: number
}

/** What the history of a device is made of; `install` is the begin of a flash, `flash` its end. */
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
  /** The version it holds. */
  readonly version: string
  /** Models that it is built for; null: it does not say. */
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
  /** The time of the last `wait` is over. */
  | { readonly on: 'elapsed' }
  /** `connect` was sent. */
  | { readonly on: 'connected' }
  /** The watchdog of the client has started it anew. */
  | { readonly on: 'client_restarted' }

/** What the device does to the world, in order. Whether it keeps a connection follows from its state: `isOnline`. */
export type Effect =
  | { readonly do: 'reply'; readonly id: number; readonly error: number; readonly text: string }
  | { readonly do: 'notify'; readonly method: string; readonly params: Readonly<Record<string, unknown>> }
  | { readonly do: 'download'; readonly uri: string; readonly trust: Trust }
  | { readonly do: 'abort_download' }
  /** Send a report now and in this interval; null: no more reports. */
  | { readonly do: 'report'; readonly everyMs: number | null }
  /** Ask for `elapsed`; replaces an earlier wait. */
  | { readonly do: 'wait'; readonly ms: number }
  /** Lose the connection, if there still is the same. */
  | { readonly do: 'drop'; readonly afterMs: number }
  | { readonly do: 'record'; readonly change: DeviceChange }

/** Whose certificates a device accepts of the server that it downloads from: its gateway's CA's, or public ones. */
export type Trust = 'gateway_ca' | 'public_cas'

export interface Step {
  readonly state: DeviceState
  readonly effects: readonly Effect[]
}

/** How often a flapping device loses its connection after a boot. */
export const FLAPS = 3

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
 * Takes up the life of a device after the simulator was away. It ran on meanwhile: a flash or boot
 * that was under way begins again, a download is lost with the process that made it.
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

/** A device without a connection is down, an access point that writes its flash, or orphaned. */
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

export function uptimeS(state: DeviceState, nowMs: number): number {
  return Math.max(0, Math.floor((nowMs - state.bootedAtMs) / 1000))
}

/** Goes down, and comes back after the boot time unless it is to stay away. */
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

/** Without what only the client's process knows. */
function withoutClient(state: DeviceState): DeviceState {
  const { telemetryS: _, queue: __, ...rest } = state
  return rest
}

/** Up again: uptime starts over. */
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
