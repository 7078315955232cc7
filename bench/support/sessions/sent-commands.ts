import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { openPool } from '../../../src/platform/database/connections/pools.ts'
import { SOCKET_PORT, planSocketDir } from '../../../src/platform/embedded-postgres/socket.ts'
import type { Arrival } from './session-data.ts'

/** Opens the embedded database of a server, because the interface does not show its rows all at once. */
export async function openServerDatabase(dataDir: string): Promise<pg.Pool> {
  const home = join(await realpath(dataDir), 'postgres')
  const place = { host: planSocketDir(home), port: SOCKET_PORT, user: 'signalbox', database: 'signalbox' }
  return openPool({ ...place, max: 2 }, () => undefined)
}

export type SessionKind = 'ucentral' | 'agents' | 'junos'

/** Returns the connected sessions that have begun since then, of agents those that were seen since then; none while the database is away. */
export async function countSessions(database: pg.Pool, sinceMs: number): Promise<Record<SessionKind, number>> {
  const counts = { ucentral: 0, agents: 0, junos: 0 }
  const statement = `select family as kind, count(*)::integer from device_session
      where connected and connected_at > $1 group by family
    union all select 'agents', count(*)::integer from mxedge_session where connected and last_seen_at > $1`
  const { rows } = await database.query(statement, [new Date(sinceMs)]).catch(() => ({ rows: [] }))
  for (const { kind, count } of rows as { kind: SessionKind; count: number }[]) counts[kind] = count
  return counts
}

export interface CommandRow {
  readonly rowId: string
  readonly kind: SessionKind
  /** As in Arrival. */
  readonly device: string
  readonly id: string | null
  readonly state: string
  readonly createdMs: number
  /** When the gateway began to send it; null if it has not. */
  readonly sentMs: number | null
}

export async function listCommands(database: pg.Pool): Promise<CommandRow[]> {
  const { rows } = await database.query(`
    select command.id::text as "rowId", case command.kind when 'locate' then 'ucentral' else 'junos' end as kind, registry.mac as device,
        case command.kind when 'locate' then command.call_id::text end as id, command.state,
        (1000 * extract(epoch from command.created_at))::double precision as "createdMs",
        (1000 * extract(epoch from command.sent_at))::double precision as "sentMs"
      from device_command command join device_registry registry on registry.id = command.device_id
      where command.kind in ('locate', 'snapshot')
    union all select id::text, 'agents', mxedge_id::text, id::text, state,
        (1000 * extract(epoch from created_at))::double precision, (1000 * extract(epoch from sent_at))::double precision
      from mxedge_command where kind <> 'configure'`)
  return rows as CommandRow[]
}

/** The results of the commands of one kind of devices. */
export interface CommandFigures {
  readonly commands: number
  readonly done: number
  /** Their outcome is recorded as unknown: they were sent, or about to be, when the server was killed. */
  readonly unknown: number
  /** Without an end, or recorded as done without having arrived. */
  readonly lost: number
  /** Executed more often than sent. */
  readonly doubled: number
}

export function figuresOf(commands: readonly CommandRow[], arrivals: readonly Arrival[]): CommandFigures {
  const arrivalsOf = Map.groupBy(arrivals, keyOf)
  const commandsOf = Map.groupBy(commands, keyOf)
  let [lost, doubled] = [0, 0]
  for (const [key, rows] of commandsOf) {
    const open = rows.filter(({ state }) => state === 'queued' || state === 'sent').length
    const done = rows.filter(({ state }) => state === 'done').length
    lost += open + Math.max(0, done - (arrivalsOf.get(key)?.length ?? 0))
  }
  for (const [key, some] of arrivalsOf) doubled += Math.max(0, some.length - (commandsOf.get(key)?.length ?? 0))
  const count = (state: string): number => commands.filter((row) => row.state === state).length
  return { commands: commands.length, done: count('done'), unknown: count('unknown'), lost, doubled }
}

/** Returns the milliseconds until the gateway began to send each command, in ascending order. */
export function claimsOf(commands: readonly CommandRow[]): number[] {
  return commands
    .flatMap(({ createdMs, sentMs }) => (sentMs === null ? [] : [sentMs - createdMs]))
    .toSorted((a, b) => a - b)
}

/**
 * Returns the milliseconds until the gateway had passed each command to its connection, in ascending order: the
 * server's part of the wait. The rest until the arrival is the device's.
 * @param givenMs By the id of the row.
 */
export function serverWaitsOf(commands: readonly CommandRow[], givenMs: ReadonlyMap<string, number>): number[] {
  return commands
    .flatMap(({ rowId, createdMs }) => {
      const atMs = givenMs.get(rowId)
      return atMs === undefined ? [] : [atMs - createdMs]
    })
    .toSorted((a, b) => a - b)
}

/** Returns the milliseconds from each command to its first arrival after it, in ascending order. */
export function waitsOf(commands: readonly CommandRow[], arrivals: readonly Arrival[]): number[] {
  const arrivalsOf = Map.groupBy(arrivals, keyOf)
  return commands
    .flatMap((command) => {
      const arrival = arrivalsOf.get(keyOf(command))?.find(({ atMs }) => atMs >= Math.floor(command.createdMs))
      return arrival === undefined ? [] : [arrival.atMs - command.createdMs]
    })
    .toSorted((a, b) => a - b)
}

function keyOf({ device, id }: Pick<Arrival, 'device' | 'id'>): string {
  return id === null ? device : `${device} ${id}`
}
