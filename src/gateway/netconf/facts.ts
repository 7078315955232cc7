import { parseMac } from '../../devices/device.ts'
import { typeOfModel } from '../../devices/registry/models.ts'
import type { DeviceType } from '../../events/device-type.ts'
import { textOf as boundedText } from '../report-values.ts'
import { type RpcReply, partsOf, rootOfRead, rpcs } from './rpc.ts'
import { type Backup, type SoftwareSet, decideBackup, memberOf, readSoftwareSets } from './software-sets.ts'
import { type Task, waits } from './task.ts'
import { type XmlElement, findAll, textOf } from './xml.ts'

export interface ChassisMember {
  readonly member: number
  readonly isPresent: boolean
  /** True for the master, whether or not it is the member that the gateway talks to. */
  readonly isMaster: boolean
  /** True for the member that the gateway talks to. */
  readonly isAnswering: boolean
  readonly serial: string
  readonly model: string
  /** Empty if the device doesn't name it. */
  readonly mac: string
  /** Empty for a member that is absent. */
  readonly version: string
}

/** The facts that a Junos device reports about itself. */
export interface JunosFacts {
  readonly mac: string
  readonly model: string
  readonly serial: string
  readonly version: string
  readonly type: DeviceType
  /** The members of a Virtual Chassis, ascending; empty for a device without one. */
  readonly members: readonly ChassisMember[]
  /** Both nodes of a cluster; empty for a device without one. */
  readonly nodes: readonly ClusterNode[]
  /**
   * The uptime of the part that has been up for the longest: the device as a whole has booted only once all parts have.
   */
  readonly uptimeS: number | null
  /** The uptimes of members and nodes in seconds, by their number, as far as the device reports them. */
  readonly partUptimes: ReadonlyMap<number, number>
  /** Null if the device doesn't report its sets of software. */
  readonly backup: Backup | null
}

export interface ClusterNode {
  readonly node: 'node0' | 'node1'
  /** False for the node that does not answer. */
  readonly isPresent: boolean
  readonly serial: string
  readonly version: string
}

/** Reads the facts. Returns the reason if the device does not report a required one. */
export function* readFacts(): Task<JunosFacts | string> {
  const system = yield read(rpcs.systemInformation)
  const root = rootOfRead(system)
  if (root === null) return 'it does not answer get-system-information'
  const macs = yield read(rpcs.chassisMacs)
  const chassis = yield read(rpcs.virtualChassis)
  const uptime = yield read(rpcs.uptime)
  const sets = yield* readSoftwareSets()
  return composeFacts({ system: root, macs, chassis, uptime, sets })
}

/**
 * Reads the facts that change while a device is connected. Its software and its members change without a new connection
 * only if it has other members, which come and go. A device without them is queried for both only if `isThorough`.
 */
export function* readChanges(before: JunosFacts, isThorough: boolean): Task<JunosFacts> {
  const isAlone = before.members.length <= 1
  const isAsked = isThorough || !isAlone
  const chassis = before.members.length > 0 && isAsked ? yield read(rpcs.virtualChassis) : null
  const system = before.nodes.length > 0 ? yield read(rpcs.systemInformation) : null
  const uptime = yield read(rpcs.uptime)
  const sets = before.backup === null || !isAsked ? null : yield* readSoftwareSets(isAlone)
  const members = chassis?.kind === 'ok' ? membersOf(chassis.root, sets ?? [], before) : before.members
  const backup = sets === null ? before.backup : decideBackup(sets)
  const root = system === null ? null : rootOfRead(system)
  const nodes = root === null ? before.nodes : nodesOf(root)
  return { ...before, ...uptimesOf(uptime, { members }), members, nodes, backup }
}

interface Replies {
  readonly system: XmlElement
  readonly macs: RpcReply
  readonly chassis: RpcReply
  readonly uptime: RpcReply
  readonly sets: readonly SoftwareSet[] | null
}

function composeFacts({ system, macs, chassis, uptime, sets }: Replies): JunosFacts | string {
  // An engine that is down may have a part with an error in place of its values.
  const own = partsOf(system).find(({ element }) => textOf(element, 'os-version') !== null)
  const model = own && textOf(own.element, 'hardware-model')?.toUpperCase()
  const version = own && textOf(own.element, 'os-version')
  const mac = macOf(macs)
  if (own === undefined || !model || !version) return 'it names neither its model nor its version'
  if (mac === null) return 'it does not name its MAC'
  const serial = textOf(own.element, 'serial-number') ?? mac
  const base = { mac, model: word(model), serial: word(serial), version: word(version) }
  const members = chassis.kind === 'ok' ? membersOf(chassis.root, sets ?? [], base) : []
  return {
    ...base,
    type: typeOfModel(model) ?? 'switch',
    // The serial number on the label of a Virtual Chassis is that of the member that gives it its MAC.
    ...(members[0] !== undefined && { serial: members[0].serial }),
    members,
    nodes: nodesOf(system),
    ...uptimesOf(uptime, { members }),
    backup: sets === null ? null : decideBackup(sets),
  }
}

function read(rpc: (typeof rpcs)['uptime']) {
  return { rpc, timeoutMs: waits.read, step: { step: 'check' as const } }
}

/** A short text of the device that can be stored; empty if it has none. */
function word(text: string | null): string {
  return boundedText(text, 64) ?? ''
}

/** A node that does not answer has no version, so a cluster counts as upgraded only with both of them. */
function nodesOf(system: XmlElement): ClusterNode[] {
  const parts = partsOf(system)
  const found = (['node0', 'node1'] as const).map((node): ClusterNode => {
    const element = parts.find(({ engine }) => engine === node)?.element
    if (element === undefined || textOf(element, 'os-version') === null)
      return { node, isPresent: false, serial: '', version: '' }
    const serial = word(textOf(element, 'serial-number'))
    return { node, isPresent: true, serial, version: word(textOf(element, 'os-version')) }
  })
  return found.some(({ isPresent }) => isPresent) ? found : []
}

/**
 * Returns the public base MAC of the first chassis: that of member 0 of a Virtual Chassis, and of node 0 of a cluster,
 * so that it stays the same whichever member is master. Older releases send the table as text.
 */
function macOf(reply: RpcReply): string | null {
  const root = rootOfRead(reply)
  if (root === null) return null
  const [first, ...others] = partsOf(root)
  // Without node 0 the first part is that of node 1, whose address is another one.
  if (first === undefined || (first.engine === 'node1' && others.length === 0)) return null
  const tagged = textOf(first.element, 'public-base-address')
  const [, plain] = /Public base address\s+([0-9a-f:]{17})/i.exec(textOf(first.element, 'output') ?? '') ?? []
  return parseMac(tagged ?? plain ?? '')
}

/** A Virtual Chassis has at most this many members. */
const MAX_MEMBERS = 10

function membersOf(
  root: XmlElement,
  sets: readonly SoftwareSet[],
  device: { readonly version: string; readonly model: string },
): ChassisMember[] {
  const members = findAll(root, 'member').flatMap((element): ChassisMember[] => {
    const id = textOf(element, 'member-id') ?? ''
    if (!/^\d$/.test(id)) return []
    const member = Number(id)
    const isPresent = textOf(element, 'member-status') === 'Prsnt'
    const role = textOf(element, 'member-role') ?? ''
    const isMaster = /^Master/i.test(role)
    // The asterisk marks the member that answers; sets without a name belong to it.
    const set = sets.find((one) => one.member === member || (one.member === null && role.endsWith('*')))
    return [
      {
        member,
        isPresent,
        isMaster,
        isAnswering: role.endsWith('*'),
        serial: word(textOf(element, 'member-serial-number')),
        model: word((textOf(element, 'member-model') ?? device.model).toUpperCase()),
        mac: parseMac(textOf(element, 'member-mac-address') ?? '') ?? '',
        version: isPresent ? (set?.active ?? device.version) : '',
      },
    ]
  })
  const distinct = new Map(members.map((member) => [member.member, member]))
  return [...distinct.values()].toSorted((a, b) => a.member - b.member).slice(0, MAX_MEMBERS)
}

function uptimesOf(reply: RpcReply, device: Pick<JunosFacts, 'members'>): Pick<JunosFacts, 'uptimeS' | 'partUptimes'> {
  const root = rootOfRead(reply)
  const uptimes = root === null ? [] : partsOf(root).flatMap(({ element }) => uptimeIn(element) ?? [])
  return { uptimeS: uptimes.length === 0 ? null : Math.max(...uptimes), partUptimes: partUptimes(reply, device) }
}

/** Returns how long the members and nodes have been up, by their number. A part without a name is the one that answers. */
export function partUptimes(reply: RpcReply, { members }: Pick<JunosFacts, 'members'>): ReadonlyMap<number, number> {
  const root = rootOfRead(reply)
  if (root === null) return new Map()
  const answering = members.find(({ isAnswering }) => isAnswering) ?? (members.length === 1 ? members[0] : undefined)
  return new Map(
    partsOf(root).flatMap(({ engine, element }): [number, number][] => {
      const node = /^node([01])$/.exec(engine ?? '')?.[1]
      const part = node === undefined ? (memberOf(engine) ?? answering?.member) : Number(node)
      const uptimeS = uptimeIn(element)
      return part === undefined || uptimeS === null ? [] : [[part, uptimeS]]
    }),
  )
}

/** The device gives both in seconds: how long it has been up, or when it booted by its own clock. */
export function uptimeIn(part: XmlElement): number | null {
  const booted = findAll(part, 'system-booted-time')[0]
  if (booted === undefined) return null
  const length = secondsOf(booted, 'time-length')
  if (length !== null) return length
  const current = findAll(part, 'current-time')[0]
  const now = current && secondsOf(current, 'date-time')
  const bootedAt = secondsOf(booted, 'date-time')
  return now == null || bootedAt === null || now < bootedAt ? null : now - bootedAt
}

function secondsOf(element: XmlElement, name: string): number | null {
  const seconds = findAll(element, name)[0]?.attributes['seconds']
  return seconds !== undefined && /^\d{1,11}$/.test(seconds) ? Number(seconds) : null
}
