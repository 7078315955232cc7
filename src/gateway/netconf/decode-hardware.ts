import {
  type CpuStat,
  type HardwarePart,
  type HardwareUnit,
  type MemberHardware,
  type Pic,
  type VcLink,
  hardwareLimits as limits,
} from '../../devices/hardware/hardware.ts'
import { textOf as boundedText, integerIn, numberIn } from '../report-values.ts'
import { partsOf } from './rpc.ts'
import { memberOf } from './software-sets.ts'
import { type XmlElement, childOf, findAll, textOf } from './xml.ts'
import { withoutUndefined } from '../../platform/records.ts'

/*
 * Decode replies about hardware. Each returns its findings by member. Names start with the member in a Virtual Chassis
 * ("FPC 1 Power Supply 0"), or the reply has a part for each member.
 */

export type ByMember<T> = ReadonlyMap<number, T>

function wordIn(element: XmlElement, name: string): string | undefined {
  return boundedText(childOf(element, name)?.text, limits.name)
}

/** Elements with the member that they belong to, and their name without it. */
function* namedIn(root: XmlElement, ...names: readonly string[]) {
  for (const { engine, element } of partsOf(root)) {
    for (const item of findAll(element, ...names)) {
      const name = wordIn(item, 'name') ?? ''
      const [, digit, rest] = /^FPC (\d)(?: (.*))?$/.exec(name) ?? []
      const member = digit === undefined ? memberOf(engine) : Number(digit)
      if (member !== null) yield { member, name: digit === undefined ? name : (rest ?? ''), element: item }
    }
  }
}

type Parts = Pick<MemberHardware, 'psus' | 'fans' | 'temperatures'>
const listByClass = { power: 'psus', fans: 'fans', temp: 'temperatures' } as const

/** Power supplies, fans and temperatures, of get-environment-information. */
export function decodeEnvironment(root: XmlElement, airflows: ByMember<string>): ByMember<Parts> {
  const found = new Map<number, { [List in keyof Parts]-?: HardwarePart[] }>()
  // Only the first item of a class contains its name.
  let itemClass = ''
  for (const { member, name, element } of namedIn(root, 'environment-item')) {
    itemClass = wordIn(element, 'class')?.toLowerCase() ?? itemClass
    const list = Object.entries(listByClass).find(([one]) => one === itemClass)?.[1]
    const status = wordIn(element, 'status')?.toLowerCase()
    if (list === undefined || name === '' || status === undefined) continue
    const parts = found.get(member) ?? { psus: [], fans: [], temperatures: [] }
    found.set(member, parts)
    if (parts[list].length >= limits[list]) continue
    const airflow = list === 'fans' ? airflows.get(member) : undefined
    const celsius = list === 'temperatures' ? celsiusOf(element) : undefined
    parts[list].push(withoutUndefined({ name, status, airflow, celsius }))
  }
  return found
}

function celsiusOf(item: XmlElement): number | undefined {
  const temperature = childOf(item, 'temperature')
  return numberIn(temperature?.attributes['celsius'], [-100, 300])
}

export interface ChassisInventory {
  readonly unit: Pick<HardwareUnit, 'chassis_serial' | 'hw_rev' | 'sku'>
  readonly pics: ByMember<Pic[]>
  /** The direction of the airflow of a member, as its maker names it: `out` or `in`. */
  readonly airflows: ByMember<string>
}

/** The serial number of the chassis, its parts and their revisions, of get-chassis-inventory. */
export function decodeInventory(root: XmlElement): ChassisInventory {
  const pics = new Map<number, Pic[]>()
  const airflows = new Map<number, string>()
  for (const { member, element } of namedIn(root, 'chassis-module')) {
    const subModules = findAll(element, 'chassis-sub-module')
    const ofMember = subModules.flatMap((part) => picOf(part) ?? []).slice(0, limits.pics)
    if (ofMember.length > 0) pics.set(member, ofMember)
    const airflow = [element, ...subModules].flatMap((part) => airflowOf(part) ?? [])[0]
    if (airflow !== undefined) airflows.set(member, airflow)
  }
  return { unit: unitOf(root), pics, airflows }
}

/** The main board has the revision and the order number: FPC 0 of a switch, the midplane or routing engine of others. */
function unitOf(root: XmlElement): ChassisInventory['unit'] {
  const [chassis] = findAll(root, 'chassis')
  if (chassis === undefined) return {}
  const modules = findAll(chassis, 'chassis-module')
  const board = ['FPC 0', 'Midplane', 'Routing Engine', 'Routing Engine 0']
    .flatMap((name) => modules.filter((module) => wordIn(module, 'name') === name))
    .find((module) => childOf(module, 'model-number') !== undefined || childOf(module, 'version') !== undefined)
  const revision = board && wordIn(board, 'version')
  return withoutUndefined({
    chassis_serial: wordIn(chassis, 'serial-number'),
    hw_rev: revision?.replace(/^REV\s+/i, ''),
    sku: (board && wordIn(board, 'model-number')) ?? wordIn(chassis, 'model-number'),
  })
}

function picOf(part: XmlElement): Pic | undefined {
  const [, digit] = /^PIC (\d{1,2})$/.exec(wordIn(part, 'name') ?? '') ?? []
  if (digit === undefined) return undefined
  const groups = [...(wordIn(part, 'description') ?? '').matchAll(/(\d{1,3})x ?([^,;]+)/g)]
  const portGroups = groups.map(([, count, type = '']) => ({ count: Number(count), type: type.trim() }))
  return withoutUndefined({
    index: Number(digit),
    model_number: wordIn(part, 'model-number'),
    port_groups: portGroups.length === 0 ? undefined : portGroups.slice(0, limits.pics),
  })
}

function airflowOf(part: XmlElement): string | undefined {
  const [, direction] = /\bAF([OI])\b/.exec(wordIn(part, 'description') ?? '') ?? []
  return direction === undefined ? undefined : direction === 'O' ? 'out' : 'in'
}

const versionNames = [
  [/^u-?boot/i, 'uboot_version'],
  [/^bios/i, 'bios_version'],
  [/^cpld/i, 'cpld_version'],
  [/^fpga/i, 'fpga_version'],
  [/^poe/i, 'poe_version'],
] as const
type Versions = Partial<Record<(typeof versionNames)[number][1], string>>

/** Returns the versions of firmware other than Junos, from get-firmware-information. */
export function decodeFirmware(root: XmlElement): ByMember<Versions> {
  const found = new Map<number, Versions>()
  for (const { member, element } of namedIn(root, 'chassis-module')) {
    const versions: Versions = found.get(member) ?? {}
    found.set(member, versions)
    for (const firmware of findAll(element, 'firmware')) {
      const type = wordIn(firmware, 'type') ?? ''
      const name = versionNames.find(([pattern]) => pattern.test(type))?.[1]
      const version = wordIn(firmware, 'firmware-version')
      if (name !== undefined && version !== undefined) versions[name] ??= version
    }
  }
  return found
}

const PERCENT = [0, 100] as const

/** The load of the processors, of get-route-engine-information. */
export function decodeRouteEngines(root: XmlElement): ByMember<CpuStat> {
  const found = new Map<number, CpuStat>()
  for (const { engine, element } of partsOf(root)) {
    for (const item of findAll(element, 'route-engine')) {
      const percent = (name: string): number | undefined => numberIn(wordIn(item, name), PERCENT)
      const loads = ['one', 'five', 'fifteen'].map((span) => numberIn(wordIn(item, `load-average-${span}`), [0, 1e6]))
      const averages = loads.flatMap((load) => load ?? [])
      const member = memberOf(engine) ?? integerIn(wordIn(item, 'slot'), [0, limits.members - 1])
      if (member === undefined) continue
      const stat = withoutUndefined({
        user: percent('cpu-user'),
        system: percent('cpu-system'),
        interrupt: percent('cpu-interrupt'),
        idle: percent('cpu-idle'),
        load_avg: averages.length === loads.length ? averages : undefined,
      })
      found.set(member, stat)
    }
  }
  return found
}

/** Power over Ethernet in watts, of get-poe-controller-information, where the index of a controller is the member. */
export function decodePoe(root: XmlElement): ByMember<NonNullable<MemberHardware['poe']>> {
  const controllers = findAll(root, 'controller-information').slice(0, limits.members)
  const entries = controllers.flatMap((controller) => {
    const watts = (name: string): number | undefined =>
      numberIn(wordIn(controller, name)?.replace(/\s*W$/i, ''), [0, 1e5])
    const index = integerIn(wordIn(controller, 'controller-index'), [0, limits.members - 1])
    const poe = withoutUndefined({
      max_power: watts('controller-maxpower'),
      power_draw: watts('controller-power-consumption'),
    })
    return index === undefined ? [] : [[index, poe] as const]
  })
  return new Map(entries)
}

const roles = ['master', 'backup', 'linecard'] as const
const states = new Map([
  ['Prsnt', 'present' as const],
  ['NotPrsnt', 'not-present' as const],
])

export interface DecodedChassis {
  readonly unit: Pick<HardwareUnit, 'config_type' | 'num_routing_engines'>
  readonly members: readonly MemberHardware[]
}

/** The members and their cables, of get-virtual-chassis-information. */
export function decodeChassis(root: XmlElement): DecodedChassis {
  const found = findAll(root, 'member').flatMap((element): MemberHardware[] => {
    const id = integerIn(wordIn(element, 'member-id'), [0, limits.members - 1])
    if (id === undefined) return []
    // The star marks the member that answers.
    const role = wordIn(element, 'member-role')?.replace(/\*$/, '').toLowerCase()
    const links = linksOf(element)
    return [
      withoutUndefined({
        fpc_idx: id,
        type: /^\(FPC \d\)$/.test(wordIn(element, 'fpc-slot') ?? '') ? 'fpc' : undefined,
        vc_role: roles.find((known) => known === role),
        vc_state: states.get(wordIn(element, 'member-status') ?? ''),
        vc_links: links.length === 0 ? undefined : links,
      }),
    ]
  })
  const distinct = [...new Map(found.map((member) => [member.fpc_idx, member])).values()]
  const members = distinct.toSorted((a, b) => a.fpc_idx - b.fpc_idx)
  const engines = members.filter(({ vc_role: role }) => role === 'master' || role === 'backup')
  const isPreprovisioned = findAll(root, 'preprovisioned-virtual-chassis-information').length > 0
  return {
    unit: { config_type: isPreprovisioned ? 'preprovisioned' : 'nonprovisioned', num_routing_engines: engines.length },
    members: members.map((member) => withOtherEnds(member, members)),
  }
}

function linksOf(member: XmlElement): VcLink[] {
  const links = findAll(member, 'neighbor').flatMap((neighbor): VcLink[] => {
    const index = integerIn(wordIn(neighbor, 'neighbor-id'), [0, limits.members - 1])
    const port = wordIn(neighbor, 'neighbor-interface')
    return index === undefined || port === undefined ? [] : [{ port_id: port, neighbor_module_idx: index }]
  })
  return links.slice(0, limits.links)
}

function withOtherEnds(member: MemberHardware, members: readonly MemberHardware[]): MemberHardware {
  if (member.vc_links === undefined) return member
  const linksBetween = (from: number, to: number): VcLink[] =>
    members.find(({ fpc_idx: id }) => id === from)?.vc_links?.filter((link) => link.neighbor_module_idx === to) ?? []
  const links = member.vc_links.map((link): VcLink => {
    const here = linksBetween(member.fpc_idx, link.neighbor_module_idx)
    const [there, ...more] = linksBetween(link.neighbor_module_idx, member.fpc_idx)
    if (there === undefined || more.length > 0 || here.length > 1) return link
    return { ...link, neighbor_port_id: there.port_id }
  })
  return { ...member, vc_links: links }
}

export function hostNameOf(root: XmlElement): string | undefined {
  const [own] = partsOf(root)
  return own && boundedText(textOf(own.element, 'host-name'), limits.name)
}
