import { type RawBuilder, sql } from 'kysely'
import type { InOrg, SitesScope } from '../access/scope.ts'
import { inSites } from '../access/store-sites.ts'
import { type Reader, type Tx, anyOf } from '../platform/database/db.ts'
import { readInPortions } from '../platform/queues/portions.ts'
import { findRefusal, findUpgradeRefusal, noCapabilities } from '../devices/commands/capabilities.ts'
import type { CommandKind, DeviceCapabilities } from '../devices/tables.ts'
import type { EventDevice } from '../events/append.ts'
import type { DeviceType } from '../events/device-type.ts'

/** A device of a site as the planning of an upgrade sees it. */
export interface Candidate {
  readonly id: string
  readonly siteId: string
  readonly mac: string
  readonly type: DeviceType
  readonly model: string
  readonly name: string | null
  readonly role: string | null
  readonly connected: boolean
  /** The version that the device reported last; null if it has never connected. */
  readonly fromVersion: string | null
  readonly memberVersions: readonly string[]
  /** The commands that its driver supported at its last connection. */
  readonly commands: readonly CommandKind[]
  /** Why it can't take a recovery snapshot, if it reported that at its last connect. */
  readonly snapshotRefusal: string | null
  /** False: its driver can't restore a backup version. A device that has none yet may have one later. */
  readonly mayRestore: boolean
  /** Why it can't be upgraded, if it reported that at its last connect. */
  readonly upgradeRefusal: string | null
}

/** Lists the devices of those of the sites that the scope covers, in the order of their ids. */
export async function listCandidates(tx: Tx, scope: SitesScope, siteIds: readonly string[]): Promise<Candidate[]> {
  const atSites = sql<boolean>`d.site_id = ${anyOf(siteIds)} and ${inSites(scope, sql.ref('d.site_id'))}`
  const candidateOf = createCandidates()
  const candidates: Candidate[] = []
  for await (const rows of readInPortions(tx, candidateRows(tx, scope, atSites).orderBy('d.id')))
    for (const row of rows) candidates.push(...candidateOf(row))
  return candidates
}

/** Lists the devices `d` for which the condition holds, except those without a site, in no order. */
export async function candidatesOf(reader: Reader, scope: InOrg, condition: RawBuilder<boolean>): Promise<Candidate[]> {
  return (await candidateRows(reader, scope, condition).execute()).flatMap(createCandidates())
}

function candidateRows(reader: Reader, scope: InOrg, condition: RawBuilder<boolean>) {
  return reader
    .selectFrom('device as d')
    .leftJoin('deviceStatus as s', (on) => on.onRef('s.orgId', '=', 'd.orgId').onRef('s.deviceId', '=', 'd.id'))
    .select(['d.id', 'd.siteId', 'd.mac', 'd.type', 'd.model', 'd.name', 's.connected', 's.firmware', 's.members'])
    .select(sql<string | null>`d.doc->>'role'`.as('role'))
    .select(sql<string | null>`s.capabilities::text`.as('capabilities'))
    .where('d.orgId', '=', scope.orgId)
    .where(condition)
}

type CandidateRow = Awaited<ReturnType<ReturnType<typeof candidateRows>['execute']>>[number]

/**
 * Returns a function that makes candidates of rows. A fleet has few models, versions and kinds of capabilities: devices that have
 * all of these in common inherit them from one object, because they would otherwise be most of the memory that planning takes. So
 * a candidate can't be copied with `...`; see deviceOfCandidate().
 */
function createCandidates(): (row: CandidateRow) => Candidate[] {
  const byText = new Map<
    string | null,
    { readonly facts: CapabilityFacts; readonly shared: Map<string, SharedFacts> }
  >()
  const sharedOf = (row: CandidateRow, siteId: string): SharedFacts => {
    const { type, model, role, connected, firmware, capabilities } = row
    const known = byText.get(capabilities) ?? { facts: readCapabilities(capabilities), shared: new Map() }
    byText.set(capabilities, known)
    const versions = (row.members ?? []).map((member) => member.firmware)
    const key = JSON.stringify([siteId, type, model, role, connected, firmware, ...versions])
    const shared = known.shared.get(key) ?? shareFacts(row, { siteId, versions, facts: known.facts })
    known.shared.set(key, shared)
    return shared
  }
  return (row) => {
    const { id, siteId, mac, name } = row
    if (siteId === null) return []
    return [Object.assign(Object.create(sharedOf(row, siteId)) as SharedFacts, { id, mac, name })]
  }
}

/** What a candidate inherits. */
type SharedFacts = Omit<Candidate, 'id' | 'mac' | 'name'>

function shareFacts(
  { type, model, role, connected, firmware }: CandidateRow,
  {
    siteId,
    versions,
    facts,
  }: { readonly siteId: string; readonly versions: readonly string[]; readonly facts: CapabilityFacts },
): SharedFacts {
  // A device that has never connected has reported nothing.
  const isKnown = firmware !== null
  return {
    siteId,
    type,
    model,
    role,
    connected: connected ?? false,
    fromVersion: firmware,
    memberVersions: versions,
    commands: facts.commands,
    upgradeRefusal: facts.upgradeRefusal,
    snapshotRefusal: isKnown ? facts.snapshotRefusal : null,
    mayRestore: !isKnown || facts.mayRestore,
  }
}

/** Returns the device of the events of a candidate. */
export function deviceOfCandidate(
  { id, mac, type, name, siteId }: Pick<Candidate, 'id' | 'mac' | 'type' | 'name' | 'siteId'>,
  siteName: string | null,
): EventDevice {
  return { id, mac, type, name, siteId, siteName }
}

type CapabilityFacts = Pick<Candidate, 'commands' | 'upgradeRefusal' | 'snapshotRefusal' | 'mayRestore'>

/** @param text JSON; null: it has never connected. */
function readCapabilities(text: string | null): CapabilityFacts {
  const said = text === null ? noCapabilities : (JSON.parse(text) as DeviceCapabilities)
  return {
    commands: said.commands,
    upgradeRefusal: findUpgradeRefusal(said),
    snapshotRefusal: findRefusal(said, { kind: 'snapshot', params: {} }),
    mayRestore: said.commands.includes('restore_backup') || said.refusals?.restore_backup !== undefined,
  }
}
