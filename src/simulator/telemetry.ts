import type { Capabilities, Connect, UpgradeStatus } from '../gateway/ucentral/messages.ts'
import { type BootCause, type DeviceState, type Profile, uptimeS } from './device.ts'

type Params = Readonly<Record<string, unknown>>

/** The configuration revision. It is constant, because nothing configures simulated devices. */
const CONFIG_UUID = 1
const MIB = 1024 * 1024

export function connectParams(profile: Profile, state: DeviceState): Connect {
  return {
    serial: profile.mac,
    uuid: CONFIG_UUID,
    firmware: state.firmware,
    // The switch client sends no reason.
    ...(profile.type === 'ap' && { reason: state.connectReason }),
    capabilities: capabilities(profile, state.firmware),
  }
}

function capabilities(profile: Profile, firmware: string): Capabilities & { readonly serial_number: string } {
  const stock = {
    compatible: profile.model,
    model: profile.model,
    platform: profile.type,
    serial_number: profile.serial,
  }
  if (profile.members.length === 0 && !profile.cluster) return stock
  // All members of a Virtual Chassis run the same version, because an upgrade writes it to all of them.
  const members = profile.members.map((member) => ({ ...member, firmware }))
  const extension = { protocol: 1 as const, methods: ['reboot'] }
  return { ...stock, 'x-signalbox': members.length > 0 ? { ...extension, members } : extension }
}

/** Returns the parts of a real state that do not depend on a configuration. */
export function stateParams(profile: Profile, state: DeviceState, nowMs: number): Params {
  const uptime = uptimeS(state, nowMs)
  return {
    serial: profile.mac,
    uuid: CONFIG_UUID,
    state: {
      unit: {
        localtime: Math.floor(nowMs / 1000),
        uptime,
        load: load(profile, state, uptime),
        memory: memory(profile, uptime),
      },
      'link-state': linkState(profile),
      interfaces: [upstream(profile, uptime)],
      ...(profile.type === 'ap' && { radios: radios(profile, uptime) }),
    },
  }
}

/** Averages over 1, 5 and 15 minutes; they are higher while the device downloads or writes its flash. */
function load(profile: Profile, state: DeviceState, uptime: number): readonly number[] {
  const busy = state.activity.kind === 'idle' ? 0 : 1.2
  return [1, 5, 15].map((minutes) => round2(0.15 + busy / minutes + 0.4 * wave(profile, uptime / minutes)))
}

function memory(profile: Profile, uptime: number): Params {
  const total = (profile.type === 'ap' ? 512 : 2048) * MIB
  const free = Math.floor(total * (0.45 + 0.1 * wave(profile, uptime / 10)))
  return { total, free, cached: Math.floor(total * 0.12), buffered: Math.floor(total * 0.02) }
}

function linkState(profile: Profile): Params {
  const up = { carrier: 1, speed: 1000, duplex: 'full' }
  if (profile.type === 'ap') return { upstream: { eth0: up } }
  const ports = Array.from({ length: 24 }, (_, i) => [`Ethernet${i}`, i % 3 === 2 ? { carrier: 0 } : up] as const)
  return { upstream: Object.fromEntries(ports) }
}

function upstream(profile: Profile, uptime: number): Params {
  return {
    name: 'up0v0',
    location: '/interfaces/0',
    uptime,
    ipv4: { addresses: [`${address(profile)}/16`], leasetime: 43_200 },
    counters: { rx_bytes: uptime * 18_000, tx_bytes: uptime * 9_000, rx_packets: uptime * 21, tx_packets: uptime * 14 },
  }
}

function radios(profile: Profile, uptime: number): readonly Params[] {
  const activeMs = uptime * 1000
  return [
    { channel: 6, channel_width: '20', tx_power: 20, noise: -95, active_ms: activeMs, busy_ms: share(activeMs, 0.2) },
    {
      channel: 36,
      channel_width: '80',
      tx_power: 23,
      noise: -102,
      active_ms: activeMs,
      busy_ms: share(activeMs, 0.07),
    },
  ]
  function share(ms: number, part: number): number {
    return Math.floor(ms * part * (0.5 + wave(profile, 0)))
  }
}

/** Returns a private address made from the last two bytes of the MAC. */
function address(profile: Profile): string {
  return `10.20.${Number.parseInt(profile.mac.slice(8, 10), 16)}.${Number.parseInt(profile.mac.slice(10), 16)}`
}

export function healthcheckParams(profile: Profile): Params {
  return { serial: profile.mac, uuid: CONFIG_UUID, sanity: 100, data: {} }
}

/** Returns a report that the gateway has asked for. */
export function telemetryParams(profile: Profile, state: DeviceState, nowMs: number): Params {
  return { serial: profile.mac, data: { state: [[Math.floor(nowMs / 1000), stateParams(profile, state, nowMs)]] } }
}

/** Returns the event that a switch sends when its client has started: when (by its own clock) and why it booted. */
export function bootEventParams(profile: Profile, bootedAtMs: number, cause: BootCause): Params {
  const description = cause === 'reboot' ? "Reboot command's been executed." : 'Powerloss detected.'
  const event = [Math.floor(bootedAtMs / 1000), { type: `device.${cause}`, payload: { description } }]
  return { serial: profile.mac, data: { event } }
}

export function upgradeEventParams(profile: Profile, nowMs: number, payload: UpgradeStatus): Params {
  const event = [Math.floor(nowMs / 1000), { type: 'firmware_upgrade_status', payload }]
  return { serial: profile.mac, data: { event } }
}

/** Returns 0..1, smooth in time, with a phase per device: figures that change and yet are the same in each run. */
function wave(profile: Profile, seconds: number): number {
  const phase = Number.parseInt(profile.mac.slice(6), 16) % 628
  return (Math.sin(seconds / 60 + phase / 100) + 1) / 2
}

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
