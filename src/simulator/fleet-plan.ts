import { type Static, type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { AppError } from '../platform/errors.ts'
import { parseMac } from './faults.ts'
import { messageOf } from '../platform/message-of.ts'

const Text = Type.String({ minLength: 1, maxLength: 256 })

const PlannedMember = Type.Object({
  /** The default is its position in the list. */
  member: Type.Optional(Type.Integer({ minimum: 0, maximum: 9 })),
  mac: Text,
  serial: Text,
  model: Text,
})

const common = {
  mac: Text,
  serial: Text,
  model: Text,
  /** The version before any upgrade. */
  firmware: Text,
  members: Type.Optional(Type.Array(PlannedMember, { maxItems: 10 })),
  /** True for a device with two nodes. */
  cluster: Type.Optional(Type.Boolean()),
}

const PlannedDevice = Type.Object({
  ...common,
  type: Type.Union([Type.Literal('ap'), Type.Literal('switch')]),
  /** The methods that it offers beyond stock uCentral, except for the restart of members and nodes. */
  methods: Type.Optional(
    Type.Array(
      Type.Union([
        Type.Literal('stage'),
        Type.Literal('activate'),
        Type.Literal('restore_backup'),
        Type.Literal('snapshot'),
      ]),
    ),
  ),
})

const PlannedJunos = Type.Object({
  ...common,
  protocol: Type.Literal('junos'),
  /** The version that it ran before; without it, it has none. */
  backup: Type.Optional(Text),
  type: Type.Union([Type.Literal('switch'), Type.Literal('gateway')]),
})

/** A uCentral device in a fleet file. */
export type PlannedDevice = Static<typeof PlannedDevice>

/** A Junos device in a fleet file. */
export type PlannedJunos = Static<typeof PlannedJunos>

export interface FleetPlan {
  readonly devices: readonly PlannedDevice[]
  readonly junos: readonly PlannedJunos[]
}

const Plan = Type.Array(Type.Object({}), { minItems: 1 })

/**
 * @param text A JSON array; MACs with or without separators.
 * @throws AppError `invalid` with one line that names the position of the error.
 */
export function parseFleet(text: string): FleetPlan {
  const plan = check(Plan, readJson(text), '')
  const devices = plan.map((item, index) =>
    normalize('protocol' in item ? check(PlannedJunos, item, `/${index}`) : check(PlannedDevice, item, `/${index}`)),
  )
  const seen = new Set<string>()
  for (const { mac } of devices) {
    if (seen.has(mac)) throw new AppError('invalid', `fleet file: ${mac} is there twice`)
    seen.add(mac)
  }
  return {
    devices: devices.flatMap((device) => ('protocol' in device ? [] : [device])),
    junos: devices.flatMap((device) => ('protocol' in device ? [device] : [])),
  }
}

function check<T extends TSchema>(schema: T, value: unknown, place: string): Static<T> {
  if (Value.Check(schema, value)) return value
  const [first] = Value.Errors(schema, value)
  const where = place + (first?.instancePath ?? '') || '/'
  throw new AppError('invalid', `fleet file: ${where} ${first?.message ?? "can't be read"}`)
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new AppError('invalid', `fleet file: ${messageOf(error)}`)
  }
}

function normalize<D extends PlannedDevice | PlannedJunos>(device: D): D {
  const members = device.members?.map((member, i) => ({
    ...member,
    member: member.member ?? i,
    mac: parseMac(member.mac),
  }))
  return { ...device, mac: parseMac(device.mac), ...(members !== undefined && { members }) }
}

export interface GeneratedFleet {
  readonly count: number
  readonly type: PlannedDevice['type']
  readonly model: string
  readonly firmware: string
  /** Members of each device's Virtual Chassis; 0 or 1 means no Virtual Chassis. */
  readonly members: number
  /** MAC of the first device in lower-case hex; the MACs of the others follow in sequence. */
  readonly firstMac: string
}

/** Generates identical devices; a Virtual Chassis uses as many MACs as it has members. */
export function generateFleet(fleet: GeneratedFleet): readonly PlannedDevice[] {
  const step = Math.max(1, fleet.members)
  return Array.from({ length: fleet.count }, (_, i): PlannedDevice => {
    const mac = macAfter(fleet.firstMac, i * step)
    const { type, model, firmware } = fleet
    const device = { mac, serial: serialOf(mac), model, type, firmware }
    if (fleet.members < 2) return device
    const members = Array.from({ length: fleet.members }, (_member, member) => {
      const own = macAfter(mac, member)
      return { member, mac: own, serial: serialOf(own), model }
    })
    return { ...device, members }
  })
}

function macAfter(mac: string, steps: number): string {
  return (Number.parseInt(mac, 16) + steps).toString(16).padStart(12, '0')
}

function serialOf(mac: string): string {
  return `SIM${mac.toUpperCase()}`
}
