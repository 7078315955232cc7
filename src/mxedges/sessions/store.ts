import { type Selectable, sql } from 'kysely'
import type { InOrg } from '../../access/scope.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { addMs } from '../../platform/time/clock.ts'
import { type Reader, type Tx, anyOf, json } from '../../platform/database/db.ts'
import { rowsAs, columnsOf } from '../../platform/database/rows.ts'
import type { Mxedge } from '../mxedge.ts'
import type { MxedgeSessionTable } from '../tables.ts'
import type { MxedgeFacts, MxedgeReport, ReportedMxedge } from './facts.ts'

export type MxedgeSession = Selectable<MxedgeSessionTable>

/** Returns the appliances with these ids, of any organization, locked in the order of ids. */
export function lockConnecting(tx: Tx, ids: readonly string[]): Promise<Mxedge[]> {
  return tx.selectFrom('mxedge').selectAll().where('id', '=', anyOf(ids)).orderBy('id').forUpdate().execute()
}

/**
 * Locks what the start and the end of a session change: these appliances, their sessions and commands in flight.
 * Appliances of which another transaction has locked a part are skipped.
 * @returns The ids of the skipped ones.
 */
export async function lockFreeMxedges(tx: Tx, ids: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with free as materialized (
      select id from mxedge where id = ${anyOf(ids)} order by id for update skip locked
    ), opened as materialized (
      select mxedge_id from mxedge_session where mxedge_id = ${anyOf(ids)} order by mxedge_id for update skip locked
    ), sent as materialized (
      select id from mxedge_command where mxedge_id = ${anyOf(ids)} and state = 'sent' order by id for update skip locked
    )
    select id from mxedge known where id = ${anyOf(ids)} and (
      not exists (select from free where free.id = known.id)
      or exists (
        select from mxedge_session session where session.mxedge_id = known.id
          and not exists (select from opened where opened.mxedge_id = known.id))
      or exists (
        select from mxedge_command command where command.mxedge_id = known.id and command.state = 'sent'
          and not exists (select from sent where sent.id = command.id)))
  `.execute(tx)
  return rows.map(({ id }) => id)
}

/** Lists the sessions of appliances, open or not. */
export function listSessions(reader: Reader, scope: InOrg, ids: readonly string[]): Promise<MxedgeSession[]> {
  return reader
    .selectFrom('mxedgeSession')
    .selectAll()
    .where('orgId', '=', scope.orgId)
    .where('mxedgeId', '=', anyOf(ids))
    .execute()
}

export interface NewMxedgeSession {
  readonly mxedgeId: string
  readonly nodeId: string
  readonly facts: MxedgeFacts
  readonly report: MxedgeReport
  readonly certificateExpiresAt: Date
  readonly at: Date
  /** `at` in service time. */
  readonly atMs: number
}

/** Makes a new session that of the appliance. @returns Its epoch, which is higher than that of every earlier session. */
export async function openSession(
  tx: Tx,
  scope: InOrg,
  { mxedgeId, nodeId, facts, report, certificateExpiresAt, at, atMs }: NewMxedgeSession,
): Promise<string> {
  noteChanges(tx, 'mxedge_stats', [{ orgId: scope.orgId, id: mxedgeId }])
  const opened = await sql<{ epoch: string }>`
    insert into mxedge_session (org_id, mxedge_id, node_id, epoch, connected, connected_ms, last_seen_at, facts, report,
      certificate_expires_at)
    values (${scope.orgId}, ${mxedgeId}, ${nodeId}, nextval('mxedge_session_epoch'), true, ${atMs}::float8, ${at},
      ${json(facts)}::jsonb, ${json(report)}::jsonb, ${certificateExpiresAt})
    on conflict (org_id, mxedge_id) do update set node_id = excluded.node_id, epoch = excluded.epoch, connected = true,
      connected_ms = excluded.connected_ms, last_seen_at = excluded.last_seen_at, lost_at = null,
      facts = excluded.facts, report = excluded.report, certificate_expires_at = excluded.certificate_expires_at
    returning epoch
  `.execute(tx)
  return opened.rows[0]?.epoch ?? '0'
}

export interface MxedgeSessionKey {
  readonly mxedgeId: string
  readonly epoch: string
}

const keyColumns = columnsOf('mxedgeSession', { mxedgeId: 'uuid', epoch: 'bigint' })

/** An appliance that is down, with the fields of its event. */
export type Downed = Pick<Mxedge, 'orgId' | 'id' | 'name' | 'mac' | 'mxclusterId' | 'siteId'>

const downed = sql`mxedge.org_id, mxedge.id, mxedge.name, mxedge.mac, mxedge.mxcluster_id, mxedge.site_id`

/** Closes those of the sessions that are still the newest of their appliance, and returns these appliances. */
export async function closeSessions(tx: Tx, keys: readonly MxedgeSessionKey[], at: Date): Promise<Downed[]> {
  const closed = await sql<Downed>`
    with locked as materialized (
      select session.mxedge_id from ${rowsAs('closed', keyColumns, keys)}
      join mxedge_session session on session.mxedge_id = closed.mxedge_id and session.epoch = closed.epoch
      where session.connected order by session.mxedge_id for update of session
    )
    update mxedge_session session set connected = false, lost_at = null, disconnected_at = ${at}
    from locked join mxedge on mxedge.id = locked.mxedge_id
    where session.mxedge_id = locked.mxedge_id
    returning ${downed}
  `.execute(tx)
  noteChanges(tx, 'mxedge_stats', closed.rows)
  return closed.rows
}

/** Returns the session, unless the appliance has a newer one. */
export function findSession(reader: Reader, { mxedgeId, epoch }: MxedgeSessionKey): Promise<MxedgeSession | undefined> {
  return reader
    .selectFrom('mxedgeSession')
    .selectAll()
    .where('mxedgeId', '=', mxedgeId)
    .where('epoch', '=', epoch)
    .executeTakeFirst()
}

/** Writes the latest report of a session, unless the appliance has a newer session. @returns False if it has. */
export async function updateReport(
  tx: Tx,
  { mxedgeId, epoch }: MxedgeSessionKey,
  { report, distro, at }: ReportedMxedge & { readonly at: Date },
): Promise<boolean> {
  const updated = await tx
    .updateTable('mxedgeSession')
    .set({
      report: json(report),
      lastSeenAt: at,
      ...(distro !== undefined && { facts: sql<never>`facts || ${json({ distro })}::jsonb` }),
    })
    .where('mxedgeId', '=', mxedgeId)
    .where('epoch', '=', epoch)
    .returning(['orgId', 'mxedgeId as id'])
    .execute()
  noteChanges(tx, 'mxedge_stats', updated)
  return updated.length > 0
}

/** A link that must be closed, with the reason. */
export interface StaleSession extends MxedgeSessionKey {
  readonly why: 'replaced' | 'unregistered'
}

const linkColumns = columnsOf('mxedgeSession', { mxedgeId: 'uuid', epoch: 'bigint' }, { registrationEpoch: 'integer' })

/**
 * Returns those of the links that no longer count: the appliance has a newer session, or another one may register in its
 * place, or it was deleted.
 */
export async function listStaleSessions(
  reader: Reader,
  links: readonly (MxedgeSessionKey & { readonly registrationEpoch: number })[],
): Promise<StaleSession[]> {
  const stale = await sql<StaleSession>`
    select link.mxedge_id, link.epoch,
      case when mxedge.registered_key is null or mxedge.registration_epoch <> link.registration_epoch
        then 'unregistered' else 'replaced' end as why
    from ${rowsAs('link', linkColumns, links)}
    left join mxedge on mxedge.id = link.mxedge_id
    left join mxedge_session session on session.mxedge_id = link.mxedge_id
    where mxedge.registered_key is null or mxedge.registration_epoch <> link.registration_epoch
      or session.epoch is distinct from link.epoch
  `.execute(reader)
  return stale.rows
}

/** Marks the open sessions of a gateway process that has stopped or died as lost, and returns them. */
export function markNodeLost(tx: Tx, nodeId: string, at: Date): Promise<MxedgeSessionKey[]> {
  return tx
    .updateTable('mxedgeSession')
    .set({ lostAt: at })
    .where('nodeId', '=', nodeId)
    .where('connected', '=', true)
    .where('lostAt', 'is', null)
    .returning(['mxedgeId', 'epoch'])
    .execute()
}

/** Lists the gateway processes that no longer run and whose sessions are open. */
export async function listDeadNodes(reader: Reader): Promise<string[]> {
  const rows = await reader
    .selectFrom('mxedgeSession')
    .leftJoin('gatewayNode', 'gatewayNode.id', 'mxedgeSession.nodeId')
    .select('nodeId')
    .distinct()
    .where('connected', '=', true)
    .where('lostAt', 'is', null)
    .where('gatewayNode.id', 'is', null)
    .execute()
  return rows.map(({ nodeId }) => nodeId)
}

/**
 * Lists sessions that were lost more than `graceMs` ago and whose appliances have not reconnected. A loss as far in the future
 * was recorded before the clock was set back.
 */
export function listLostSessions(reader: Reader, at: Date, graceMs: number): Promise<MxedgeSessionKey[]> {
  return reader
    .selectFrom('mxedgeSession')
    .select(['mxedgeId', 'epoch'])
    .where('connected', '=', true)
    .where((lost) => lost.or([lost('lostAt', '<', addMs(at, -graceMs)), lost('lostAt', '>', addMs(at, graceMs))]))
    .execute()
}
