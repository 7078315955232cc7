import type { Capabilities, Connect, UpgradeStatus } from '../../gateway/ucentral/messages.ts'
import { offeredMethods } from './answer-extension.ts'
import { accessPointState } from './access-point-state.ts'
import { type BootCause, type DeviceState, type Profile, suffersFrom, uptimeS } from './device.ts'
import { switchPower, switchState } from './switch-state.ts'
import { wave } from '../waves.ts'

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
    capabilities: capabilities(profile, state),
  }
}

function capabilities(
  profile: Profile,
  { firmware, backup }: DeviceState,
): Capabilities & { readonly serial_number: string } {
  const stock = {
    compatible: profile.model,
    model: profile.model,
    platform: profile.type,
    serial_number: profile.serial,
  }
  const methods = offeredMethods(profile)
  if (methods.length === 0) return stock
  // All members of a Virtual Chassis run the same version, because an upgrade writes it to all of them.
  const members = profile.members.map((member) => ({ ...member, firmware }))
  const backups = methods.includes('restore_backup') ? { backup_version: backup ?? null } : {}
  const extension = { protocol: 1 as const, methods, ...backups }
  return { ...stock, 'x-signalbox': members.length > 0 ? { ...extension, members } : extension }
}

/** Returns the parts of a real state that do not depend on a configuration. */
export function stateParams(profile: Profile, state: DeviceState, nowMs: number): Params {
  const uptime = uptimeS(state, nowMs)
  const isAp = profile.type === 'ap'
  const condition = { uptime, isUnhealthy: suffersFrom(profile, state, 'unhealthy') }
  return {
    serial: profile.mac,
    uuid: CONFIG_UUID,
    state: {
      version: 1,
      unit: {
        localtime: Math.floor(nowMs / 1000),
        uptime,
        load: load(profile, state, uptime),
        memory: memory(profile, uptime),
        // The client of switches reports no load of the processor.
        ...(isAp ? { cpu_load: cpuLoad(profile, state, uptime), temperature: [48, 51] } : { poe: switchPower() }),
      },
      ...(isAp ? accessPointState(profile, condition) : switchState(profile, condition)),
    },
  }
}

/** Percent, first of all processors together, then of each of two. */
function cpuLoad(profile: Profile, state: DeviceState, uptime: number): readonly number[] {
  const busy = state.activity.kind === 'idle' ? 5 : 60
  const each = [0, 3].map((offset) => round2(busy + 20 * wave(profile, uptime / 5 + offset)))
  return [round2(each.reduce((sum, percent) => sum + percent, 0) / each.length), ...each]
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

export function healthcheckParams(profile: Profile): Params {
  return { serial: profile.mac, uuid: CONFIG_UUID, sanity: 100, data: {} }
}

/** Returns a report that the gateway has requested. */
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

function round2(value: number): number {
  return Math.round(value * 100) / 100
}
