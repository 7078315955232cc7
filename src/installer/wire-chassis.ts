import { type Static, Type } from 'typebox'
import type { VcMember } from '../devices/tables.ts'
import { Timestamp, Uuid, named } from '../http/schemas.ts'
import { notFound } from '../platform/errors.ts'
import type { InstallerChassis } from './store.ts'

const Text = Type.Optional(Type.String())
const Amount = Type.Optional(Type.Number())
const Locating = Type.Optional(Type.Boolean({ description: 'false: the device does not blink on request' }))
const part = { name: Type.String(), status: Type.String() }
const statuses = ['connected', 'disconnected'] as const

const Cpu = named(
  'VirtualChassisCpu',
  Type.Object({
    user: Amount,
    system: Amount,
    interrupt: Amount,
    idle: Amount,
    load_avg: Type.Optional(Type.Array(Type.Number())),
  }),
)

const Pic = named(
  'VirtualChassisPic',
  Type.Object({
    index: Type.Integer(),
    model_number: Text,
    port_groups: Type.Optional(Type.Array(Type.Object({ count: Type.Integer(), type: Type.String() }))),
  }),
)

const VcLink = named(
  'VirtualChassisLink',
  Type.Object({
    port_id: Type.String(),
    neighbor_module_idx: Type.Integer(),
    neighbor_port_id: Type.Optional(
      Type.String({ description: 'absent where several cables connect the two members' }),
    ),
  }),
)

const Member = named(
  'VirtualChassisMember',
  Type.Object({
    fpc_idx: Type.Integer(),
    mac: Type.String(),
    serial: Type.String(),
    model: Type.String(),
    version: Type.String(),
    type: Text,
    status: Type.Optional(Type.Enum(statuses)),
    locating: Locating,
    vc_role: Type.Optional(Type.Enum(['master', 'backup', 'linecard'])),
    vc_state: Type.Optional(Type.Enum(['present', 'not-present'])),
    last_seen: Type.Optional(Timestamp),
    uptime: Type.Optional(Type.Integer({ description: 'seconds, at `last_seen`' })),
    backup_version: Text,
    pending_version: Text,
    bios_version: Text,
    cpld_version: Text,
    fpga_version: Text,
    poe_version: Text,
    uboot_version: Text,
    cpu_stat: Type.Optional(Cpu),
    poe: Type.Optional(Type.Object({ max_power: Amount, power_draw: Amount }, { description: 'watts' })),
    psus: Type.Optional(Type.Array(Type.Object(part))),
    fans: Type.Optional(Type.Array(Type.Object({ ...part, airflow: Text }))),
    temperatures: Type.Optional(Type.Array(Type.Object({ ...part, celsius: Amount }))),
    pics: Type.Optional(Type.Array(Pic)),
    vc_links: Type.Optional(Type.Array(VcLink)),
  }),
)

/** Source: contract, `response_virtual_chassis_config`, as far as devices report it. */
export const ChassisReply = named(
  'VirtualChassis',
  Type.Object({
    id: Uuid,
    org_id: Uuid,
    site_id: Type.Optional(Uuid),
    vc_mac: Type.String(),
    serial: Type.String(),
    model: Type.String(),
    status: Type.Enum(statuses),
    config_type: Type.Optional(Type.Enum(['preprovisioned', 'nonprovisioned'])),
    num_routing_engines: Type.Optional(Type.Integer()),
    locating: Locating,
    members: Type.Array(Member),
  }),
)

/** @throws AppError not_found for a device that is not a Virtual Chassis. */
export function presentChassis(device: InstallerChassis): Static<typeof ChassisReply> {
  const { id, orgId, siteId, mac, serial, model, members, hardware } = device
  if (members === null || members.length < 2) throw notFound(mac)
  const { config_type, num_routing_engines } = hardware?.unit ?? {}
  return {
    id,
    org_id: orgId,
    ...(siteId !== null && { site_id: siteId }),
    vc_mac: mac,
    serial,
    model,
    status: statusOf(device),
    ...(config_type !== undefined && { config_type }),
    ...(num_routing_engines !== undefined && { num_routing_engines }),
    ...locatingOf(device),
    members: members.map((member) => presentMember(member, device)),
  }
}

/** Only this service makes a device blink. */
function locatingOf({ capabilities }: InstallerChassis): { locating?: false } {
  return capabilities?.commands.includes('locate') === false ? { locating: false } : {}
}

function statusOf({ connected }: Pick<InstallerChassis, 'connected'>): (typeof statuses)[number] {
  return connected === true ? 'connected' : 'disconnected'
}

function presentMember(
  { member, mac, serial, model, firmware }: VcMember,
  device: InstallerChassis,
): Static<typeof Member> {
  const known = device.hardware?.members.find(({ fpc_idx: index }) => index === member)
  const base = { fpc_idx: member, mac, serial, model, version: firmware, ...locatingOf(device) }
  if (known === undefined) return base
  // A member is connected as long as the device is that names it as present.
  const status = known.vc_state === 'present' ? statusOf(device) : 'disconnected'
  return { ...base, ...known, status }
}
