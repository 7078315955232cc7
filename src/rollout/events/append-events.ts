import { uuidv7 } from '../../platform/uuidv7.ts'
import type { InOrg } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import { hasSubscribers, insertOutbox } from '../../events/store.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { nameUpgrade } from './name-upgrade.ts'
import { noteUpgrades } from './note-upgrades.ts'
import { type UpgradeEvent, insertUpgradeEvents, listUpgradeNames } from './store.ts'

const TOPIC = 'upgrade-events'

/** One event of an upgrade, in wire shape. */
export type UpgradeEventInput = Omit<UpgradeEvent, 'id' | 'org_id' | 'upgrade_name' | 'timestamp'>

/**
 * Appends events of upgrades in the caller's transaction. Events of the upgrade as a whole are stored as long as the
 * upgrade; the subscribed webhooks get all of them.
 */
export async function appendUpgradeEvents(
  tx: Tx,
  scope: InOrg,
  inputs: readonly UpgradeEventInput[],
  at: Date,
): Promise<void> {
  if (inputs.length === 0) return
  const ids = [...new Set(inputs.map(({ upgrade_id: id }) => id))]
  await insertNamed(tx, scope, inputs, { names: await listUpgradeNames(tx, scope, ids), at })
}

async function insertNamed(
  tx: Tx,
  scope: InOrg,
  inputs: readonly UpgradeEventInput[],
  { names, at }: { readonly names: ReadonlyMap<string, string>; readonly at: Date },
): Promise<void> {
  const { orgId } = scope
  const events = inputs.map((input): UpgradeEvent => {
    const name = names.get(input.upgrade_id)
    const event = { id: uuidv7(), org_id: orgId, timestamp: epochS(at) }
    return Object.assign(event, input, name === undefined ? {} : { upgrade_name: name })
  })
  await insertUpgradeEvents(
    tx,
    scope,
    events.filter(({ device_id: deviceId }) => deviceId === undefined),
  )
  const rows = events.map((event) => ({ orgId, siteId: event.site_id ?? null, topic: TOPIC, event }) as const)
  await insertOutbox(tx, rows, at)
  noteUpgrades(
    tx,
    scope,
    inputs.map(({ upgrade_id: orgUpgradeId, site_upgrade_id: id }) => ({ orgUpgradeId, id: id ?? null })),
  )
}

/** True if a webhook subscribes to events of single devices: they are written for webhooks only. */
export function wantsDeviceEvents(tx: Tx, scope: InOrg): Promise<boolean> {
  return hasSubscribers(tx, scope, TOPIC)
}

/** A change of an upgrade that a person or the engine decided. */
export interface UpgradeChange extends Omit<UpgradeEventInput, 'audit_id' | 'admin_id' | 'admin_name'> {
  /** The audit record, with its content besides the id of the upgrade. */
  readonly message: string
  readonly after?: Readonly<Record<string, unknown>>
}

/** Appends the audit record of a change of an upgrade, and its event. @returns The id of the audit record. */
export async function appendUpgradeChange(
  tx: Tx,
  scope: InOrg,
  { message, after, ...event }: UpgradeChange,
  at: Date,
): Promise<string> {
  const { adminId, name } = scope.actor
  const { upgrade_id: id } = event
  const names = await listUpgradeNames(tx, scope, [id])
  const auditId = await appendAudit(tx, scope, {
    message: nameUpgrade(message, id, names.get(id) ?? null),
    siteId: event.site_id ?? null,
    after: { upgrade_id: id, ...after },
    at,
  })
  const by = { admin_id: adminId, admin_name: name }
  await insertNamed(tx, scope, [{ ...event, ...by, audit_id: auditId }], { names, at })
  return auditId
}

interface EndedSearch {
  readonly upgradeId: string
  readonly siteId?: string | null
  /** Missing: a person has ended it, whom the record names. */
  readonly reason: string | undefined
  readonly at: Date
}

/**
 * Appends the audit record of a cancellation that stopped nothing, but ended the search of an upgrade for further devices. It has
 * no event: the status of the upgrade stays what it is.
 */
export async function appendEndOfSearch(
  tx: Tx,
  scope: InOrg,
  { upgradeId, siteId = null, reason, at }: EndedSearch,
): Promise<void> {
  const why = reason === undefined ? '' : `: ${reason}`
  const message = await withUpgradeName(
    tx,
    scope,
    upgradeId,
    `Cancel the search of upgrade ${upgradeId} for further devices${why}`,
  )
  await appendAudit(tx, scope, { message, siteId, after: { upgrade_id: upgradeId }, at })
}

/** Adds the name of an upgrade to a text about it, as nameUpgrade() does. */
export async function withUpgradeName(tx: Tx, scope: InOrg, id: string, text: string): Promise<string> {
  const names = await listUpgradeNames(tx, scope, [id])
  return nameUpgrade(text, id, names.get(id) ?? null)
}
