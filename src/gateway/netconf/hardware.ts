import type { Hardware, HardwareUnit, MemberHardware } from '../../devices/hardware/hardware.ts'
import {
  type ByMember,
  type ChassisInventory,
  type DecodedChassis,
  decodeChassis,
  decodeEnvironment,
  decodeFirmware,
  decodeInventory,
  decodePoe,
  decodeRouteEngines,
  hostNameOf,
} from './decode-hardware.ts'
import { type JunosFacts, uptimeIn } from './facts.ts'
import { type Rpc, partsOf, rpcs } from './rpc.ts'
import { memberOf, readSoftwareSets } from './software-sets.ts'
import { type Task, type TaskCall, waits } from './task.ts'
import type { XmlElement } from './xml.ts'
import { withoutUndefined } from '../../platform/records.ts'

/** Queries a device for its hardware. Parts that it does not answer are left out. */
export function* readHardware(facts: JunosFacts): Task<Hardware> {
  const system = yield* ask(rpcs.systemInformation)
  const parts = yield* ask(rpcs.chassisInventory)
  const inventory: ChassisInventory =
    parts === null ? { unit: {}, pics: new Map(), airflows: new Map() } : decodeInventory(parts)
  const chassis = facts.members.length === 0 ? null : yield* readMembers(inventory)
  const hostname = system === null ? undefined : hostNameOf(system)
  const unit: HardwareUnit = withoutUndefined({ hostname, chassis_mac: facts.mac, ...inventory.unit, ...chassis?.unit })
  return { unit, members: chassis?.members ?? [] }
}

function* readMembers({ pics, airflows }: ChassisInventory): Task<DecodedChassis | null> {
  const chassis = yield* ask(rpcs.virtualChassis)
  if (chassis === null) return null
  const { unit, members } = decodeChassis(chassis)
  const environment = yield* decoded(rpcs.environment, (root) => decodeEnvironment(root, airflows))
  const firmware = yield* decoded(rpcs.firmware, decodeFirmware)
  const engines = yield* decoded(rpcs.routeEngines, decodeRouteEngines)
  const poe = yield* decoded(rpcs.poeControllers, decodePoe)
  const uptimes = yield* decoded(rpcs.uptime, uptimesOf)
  const isAlone = members.length === 1
  const sets = new Map((yield* readSoftwareSets(isAlone))?.map((set) => [set.member, set]))
  return {
    unit,
    members: members.map((member): MemberHardware => {
      if (member.vc_state !== 'present') return member
      const id = member.fpc_idx
      return withoutUndefined({
        ...member,
        uptime: uptimes.get(id),
        backup_version: sets.get(id)?.backup ?? undefined,
        pending_version: sets.get(id)?.pending ?? undefined,
        ...firmware.get(id),
        cpu_stat: engines.get(id),
        poe: poe.get(id),
        ...environment.get(id),
        pics: pics.get(id),
      })
    }),
  }
}

function uptimesOf(root: XmlElement): ByMember<number> {
  const entries = partsOf(root).flatMap(({ engine, element }) => {
    const member = memberOf(engine)
    const uptime = uptimeIn(element)
    return member === null || uptime === null ? [] : [[member, uptime] as const]
  })
  return new Map(entries)
}

function* ask(rpc: Rpc): Task<XmlElement | null> {
  const reply = yield { rpc, timeoutMs: waits.read, step: { step: 'check' } } satisfies TaskCall
  return reply.kind === 'ok' ? reply.root : null
}

function* decoded<T>(rpc: Rpc, decode: (root: XmlElement) => ByMember<T>): Task<ByMember<T>> {
  const root = yield* ask(rpc)
  return root === null ? new Map<number, T>() : decode(root)
}
