import type { DeviceType } from './device-type.ts'
import { topics } from './topics.ts'
import { keysOf } from '../platform/records.ts'

interface DeviceEventDeclaration {
  /** From 1 to 99, unique, and never used for another event. */
  readonly number: number
  /** The severity of the event, in the terms of the topic `device-events`. */
  readonly level: 'notice' | 'warn'
  readonly description: string
  /** The types of devices to which it happens; all of them if absent. */
  readonly types?: readonly DeviceType[]
}

/** The events of a device, by their names without the family: `CONNECTED` gives `AP_CONNECTED`. */
export const deviceEvents = {
  CONNECTED: { number: 1, level: 'notice', description: 'The device has opened a session with the gateway' },
  DISCONNECTED: {
    number: 2,
    level: 'warn',
    description: 'The session of the device has ended and no other one has replaced it',
  },
  RESTARTED: { number: 3, level: 'notice', description: 'There is evidence that the device has booted' },
  RESTART_BY_USER: { number: 4, level: 'notice', description: 'A person has requested a restart of the device' },
  PART_RESTARTED: {
    number: 5,
    level: 'notice',
    description: 'One member or node of the device has begun to restart, as a person has requested',
  },
  RESTART_FAILED: {
    number: 6,
    level: 'warn',
    description: 'The device has refused a restart that a person has requested, or was not reached in time',
  },
  UPGRADE_BY_USER: {
    number: 7,
    level: 'notice',
    description: 'A person has started an upgrade that includes the device, or a restore of its backup version',
  },
  UPGRADE_PENDING: {
    number: 8,
    level: 'notice',
    description: 'The upgrade that includes the device waits for its start time',
  },
  UPGRADED: {
    number: 9,
    level: 'notice',
    description: 'The device runs the version of its upgrade and has stayed up, or its restored backup version',
  },
  UPGRADE_FAILED: {
    number: 10,
    level: 'warn',
    description: 'The upgrade or restore of the device has ended without the requested version',
  },
  CONFIG_CHANGED_BY_USER: { number: 11, level: 'notice', description: 'A person has changed the record of the device' },
  PORT_UP: { number: 12, level: 'notice', description: 'A port of the device has a link again, as its reports say' },
  PORT_DOWN: { number: 13, level: 'notice', description: 'A port of the device has lost its link, as its reports say' },
  CLAIMED: { number: 14, level: 'notice', description: 'The organization has claimed the device' },
  UNCLAIMED: { number: 15, level: 'notice', description: 'The organization has given the device up' },
  ASSIGNED: { number: 16, level: 'notice', description: 'The device has been assigned to a site' },
  UNASSIGNED: { number: 17, level: 'notice', description: 'The device has been removed from its site' },
  RECOVERY_SNAPSHOT_REQUESTED: {
    number: 18,
    level: 'notice',
    description: 'A person has requested a recovery snapshot of the device',
    types: ['switch', 'gateway'],
  },
  RECOVERY_SNAPSHOT_SUCCEEDED: {
    number: 19,
    level: 'notice',
    description: 'The device has taken a recovery snapshot',
    types: ['switch', 'gateway'],
  },
  RECOVERY_SNAPSHOT_FAILED: {
    number: 20,
    level: 'warn',
    description: 'The device has taken no recovery snapshot, or not on each of its members',
    types: ['switch', 'gateway'],
  },
} as const satisfies Readonly<Record<string, DeviceEventDeclaration>>

export type DeviceEventName = keyof typeof deviceEvents

/** The first codes of the events of each type of devices. */
const firstCodes: Record<DeviceType, number> = { ap: 1000, switch: 2000, gateway: 3000 }

/** Returns the code of the event of a type of devices: a row of `device_event_kind` has it. */
export function kindOf(type: DeviceType, what: DeviceEventName): number {
  return firstCodes[type] + deviceEvents[what].number
}

/** Returns the first and the last code of the events of a type of devices, those of former releases included. */
export function kindsOf(type: DeviceType): readonly [number, number] {
  return [firstCodes[type], firstCodes[type] + 999]
}

export const families = { ap: 'AP', switch: 'SW', gateway: 'GW' } as const satisfies Record<DeviceType, string>
const familyNames: Record<DeviceType, string> = { ap: 'AP', switch: 'Switch', gateway: 'Gateway' }

/** A type of event as people and clients see it. */
export interface EventTypeDefinition {
  readonly key: string
  readonly display: string
  readonly description: string
  /** An event of the type, as webhooks get it. */
  readonly example: Readonly<Record<string, unknown>>
}

/** Returns every type of device event. */
export function deviceEventTypes(): EventTypeDefinition[] {
  const types = ['ap', 'switch', 'gateway'] as const
  const names = keysOf(deviceEvents)
  return types.flatMap((type) => names.filter((what) => happensTo(what, type)).map((what) => definitionOf(type, what)))
}

function happensTo(what: DeviceEventName, type: DeviceType): boolean {
  const { types }: DeviceEventDeclaration = deviceEvents[what]
  return types === undefined || types.includes(type)
}

function definitionOf(type: DeviceType, what: DeviceEventName): EventTypeDefinition {
  const { level, description } = deviceEvents[what]
  const key = `${families[type]}_${what}`
  const { ap, ap_name, ...example } = topics['device-events'].example
  return {
    key,
    display: `${familyNames[type]} ${what.toLowerCase().replaceAll('_', ' ')}`,
    description,
    example: { ...example, ...(type === 'ap' && { ap, ap_name }), device_type: type, ev_type: level, type: key },
  }
}
