import { setTimeout as delay } from 'node:timers/promises'
import { rootCertificates } from 'node:tls'
import { Agent } from 'undici'
import { type DeviceCa, issueDeviceCertificate } from '../gateway/certificates/device-ca.ts'
import { type Clock, systemClock } from '../platform/time/clock.ts'
import type { Logger } from '../platform/log.ts'
import { createConditions } from './ucentral/conditions.ts'
import type { DeviceChange, DeviceState, Profile } from './ucentral/device.ts'
import { assignFaults, type Fault, type FaultPlan } from './faults.ts'
import type { PlannedDevice } from './fleet-plan.ts'
import { type Journal, journalPath, openJournal, readJournal } from './journal.ts'
import { type Pace, realPace, timingOf } from './pace.ts'
import { type LinkChange, SimulatedDevice, type Surroundings } from './ucentral/simulated-device.ts'

export interface FleetOptions {
  readonly gateway: { readonly host: string; readonly port: number }
  /** Signs the devices' certificates, and must have signed the gateway's. */
  readonly ca: DeviceCa
  readonly devices: readonly PlannedDevice[]
  readonly log: Logger
  readonly faults?: FaultPlan
  /** Overrides of `realPace`. */
  readonly pace?: Partial<Pace>
  readonly clock?: Clock
  /** File to which each change of a device is appended as a JSON line (`JournalEntry`). */
  readonly report?: string
  /** The folder that stores the state of the devices between runs of the simulator. */
  readonly stateDir?: string
  readonly onChange?: (device: SimulatedDevice, change: DeviceChange | LinkChange) => void
}

export interface Fleet {
  /** By MAC, in the order of the plan. */
  readonly devices: ReadonlyMap<string, SimulatedDevice>
  /**
   * Resolves as soon as the condition holds for every device. It is checked after each change.
   *
   * @throws Error when the condition does not hold within the time, or when the fleet stops first.
   */
  untilAll(condition: (device: SimulatedDevice) => boolean, timeoutMs: number): Promise<void>
  /** Stops all devices in their present state and closes everything. */
  stop(): Promise<void>
}

/** Switches all devices on at the rate of `pace.startsPerS`, then resolves; they connect on their own. */
export async function startFleet(options: FleetOptions): Promise<Fleet> {
  const pace = { ...realPace, ...options.pace }
  const statePath = options.stateDir === undefined ? null : journalPath(options.stateDir)
  const saved = statePath === null ? new Map<string, DeviceState>() : readJournal(statePath)
  const journals = [statePath, options.report ?? null].filter((path) => path !== null).map(openJournal)
  const conditions = createConditions()
  const agentOf = (ca: string | readonly string[]): Agent =>
    new Agent({ keepAliveTimeout: 1000, connect: { ca: [ca].flat() } })
  const dispatchers = { gateway_ca: agentOf(options.ca.certificatePem), public_cas: agentOf(rootCertificates) }
  const world = surroundingsOf(options, { pace, dispatchers, journals, changed: conditions.changed })
  const devices = await switchOn(options, world, saved)
  const end = async (): Promise<void> => {
    for (const device of devices.values()) device.stop()
    conditions.end('the fleet was stopped')
    await Promise.all(Object.values(dispatchers).map((dispatcher) => dispatcher.destroy()))
    for (const journal of journals) journal.close()
  }
  let ended: Promise<void> | null = null
  return {
    devices,
    untilAll: (condition, timeoutMs) => conditions.until(() => [...devices.values()].every(condition), timeoutMs),
    stop: () => (ended ??= end()),
  }
}

interface Shared {
  readonly pace: Pace
  readonly dispatchers: Surroundings['dispatchers']
  readonly journals: readonly Journal[]
  readonly changed: () => void
}

function surroundingsOf(options: FleetOptions, { pace, dispatchers, journals, changed }: Shared): Surroundings {
  const { host, port } = options.gateway
  const clock = options.clock ?? systemClock
  return {
    url: `wss://${host.includes(':') ? `[${host}]` : host}:${port}/`,
    ca: options.ca.certificatePem,
    pace,
    clock,
    log: options.log,
    dispatchers,
    onChange(device, change) {
      if (change !== 'connected' && change !== 'disconnected') {
        const entry = { at: clock.now().getTime(), mac: device.mac, change, state: device.state }
        for (const journal of journals) journal.append(entry)
      }
      options.onChange?.(device, change)
      changed()
    },
    onStep: changed,
  }
}

async function switchOn(
  options: FleetOptions,
  world: Surroundings,
  saved: ReadonlyMap<string, DeviceState>,
): Promise<ReadonlyMap<string, SimulatedDevice>> {
  const macs = options.devices.map(({ mac }) => mac)
  const faults = assignFaults(options.faults ?? {}, macs)
  const devices = new Map<string, SimulatedDevice>()
  const startedMs = performance.now()
  for (const planned of options.devices) {
    const { mac, firmware } = planned
    const identity = await issueDeviceCertificate(options.ca, mac)
    const profile = profileOf(planned, faults.get(mac) ?? new Set(), world.pace)
    const device = new SimulatedDevice(profile, { saved: saved.get(mac) ?? null, firmware, identity }, world)
    devices.set(mac, device)
    device.start()
    const aheadMs = (1000 * devices.size) / world.pace.startsPerS - (performance.now() - startedMs)
    if (aheadMs > 0) await delay(aheadMs)
  }
  return devices
}

function profileOf(planned: PlannedDevice, faults: ReadonlySet<Fault>, pace: Pace): Profile {
  const members = planned.members ?? []
  return {
    mac: planned.mac,
    serial: planned.serial,
    model: planned.model,
    type: planned.type,
    members: members.map(({ member, mac, serial, model }, place) => ({ member: member ?? place, mac, serial, model })),
    cluster: planned.cluster ?? false,
    methods: planned.methods ?? [],
    faults,
    timing: timingOf(pace, faults),
  }
}
