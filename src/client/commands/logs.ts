import { setTimeout as delay } from 'node:timers/promises'
import { type Api, type JsonObject, objectOf, rowsOf } from '../api.ts'
import { CommandError } from '../exit-codes.ts'
import { textOf, timeText } from '../output.ts'
import { type AddCommands, query } from './command.ts'
import { findSite } from './find.ts'

const POLL_MS = 2000
/** How far back each round reads again, because a record gets its time before its transaction commits. */
const OVERLAP_S = 10
const PAGE = 1000

const kinds = ['devices', 'system', 'audit'] as const
type Kind = (typeof kinds)[number]

interface FollowOptions {
  readonly only?: Kind
  readonly site?: string
  readonly since?: string
}

/** The list of one kind of records, and the presentation of a record. */
interface Source {
  readonly kind: Kind
  readonly path: string
  readonly filters: Readonly<Record<string, string | undefined>>
  readonly text: (record: JsonObject) => string
}

/** Commands about events and audit records. */
export const addLogCommands: AddCommands = (program, open) => {
  const logs = program.command('logs').description('read events and audit records')

  logs
    .command('follow')
    .description(
      'print events of devices and of the system, and audit records, as they happen, until it is interrupted',
    )
    .option('--only <kind>', 'devices, system or audit')
    .option('--site <name or id>', 'only events of this site')
    .option('--since <time>', 'begin in the past: 10m, 2h, 1d')
    .action(async (options: FollowOptions, command) => {
      if (options.only !== undefined && !kinds.includes(options.only))
        throw new CommandError('usage', `--only: ${JSON.stringify(options.only)} is not devices, system or audit`)
      const session = open(command)
      const api = await session.connect()
      const orgId = await session.orgId(api)
      const siteId = options.site === undefined ? undefined : await findSite(api, orgId, options.site)
      const sources = sourcesOf(orgId, siteId).filter(({ kind }) => options.only === undefined || kind === options.only)
      const readers = sources.map((source) => createReader(api, source, options.since))
      let isAway = false
      let isFirst = true
      while (!session.interrupted.aborted) {
        try {
          const found = (await Promise.all(readers.map((reader) => reader.read()))).flat()
          if (isFirst) session.output.tell(`following ${sources.map(({ kind }) => kind).join(', ')}`)
          if (isAway) session.output.tell('the server answers again')
          isFirst = false
          isAway = false
          for (const { record, kind, text } of found.toSorted(byTime))
            session.output.show({ kind, ...record }, () => `${timeText(record['timestamp'])}  ${text}`)
        } catch (error) {
          const mayReturn = error instanceof CommandError && error.outcome === 'unavailable'
          if (!mayReturn || isFirst) throw error
          if (!isAway) session.output.tell(`${error.message}; retrying`)
          isAway = true
        }
        await delay(POLL_MS, undefined, { signal: session.interrupted }).catch(() => {})
      }
    })
}

interface Found {
  readonly kind: Kind
  readonly record: JsonObject
  readonly text: string
}

function byTime(one: Found, other: Found): number {
  return Number(one.record['timestamp']) - Number(other.record['timestamp'])
}

interface Reader {
  /** Returns the records since the last call. A failed call loses none. */
  read(): Promise<readonly Found[]>
}

/** @param since The start of the first read, before now. Without it the first read returns nothing. */
function createReader(api: Api, { kind, path, filters, text }: Source, since: string | undefined): Reader {
  /** The end of the last read, by the clock of the server. */
  let end: number | null = null
  /** The times of the records that were read, by their ids. */
  const seen = new Map<string, number>()
  return {
    async read() {
      // The end is in whole seconds, so the second read begins up to a second more before the first one than the overlap.
      const start = end === null ? `-${since ?? `${2 * OVERLAP_S}s`}` : String(end - OVERLAP_S)
      const pages = await readPages(api, `${path}${query({ ...filters, start, sort: 'timestamp', limit: PAGE })}`)
      const fresh = pages.rows.filter(({ id }) => !seen.has(textOf(id)))
      for (const { id, timestamp } of fresh) seen.set(textOf(id), Number(timestamp))
      for (const [id, timestamp] of seen) if (timestamp < pages.end - 2 * OVERLAP_S) seen.delete(id)
      const isOld = end === null && since === undefined
      end = pages.end
      return isOld ? [] : fresh.map((record) => ({ kind, record, text: text(record) }))
    },
  }
}

/** Reads a search to its last page. @returns Its rows, and the end of its range in epoch seconds. */
async function readPages(
  api: Api,
  path: string,
): Promise<{ readonly rows: readonly JsonObject[]; readonly end: number }> {
  const rows: JsonObject[] = []
  let end: number | null = null
  for (let next: string | undefined = path; next !== undefined;) {
    const answer = objectOf(await api.get(next))
    rows.push(...rowsOf(answer))
    end ??= Number(answer['end'])
    next = typeof answer['next'] === 'string' ? answer['next'] : undefined
  }
  return { rows, end: end ?? 0 }
}

function sourcesOf(orgId: string, siteId: string | undefined): readonly Source[] {
  const org = `/api/v1/orgs/${orgId}`
  return [
    {
      kind: 'devices',
      path: `${org}/devices/events/search`,
      filters: { device_type: 'all', site_id: siteId },
      text: ({ type, device_name: name, mac, text }) => [type, name, mac, text].map(textOf).filter(Boolean).join('  '),
    },
    {
      kind: 'system',
      path: siteId === undefined ? `${org}/events/system/search` : `/api/v1/sites/${siteId}/events/system/search`,
      filters: {},
      text: ({ type, text }) => [type, text].map(textOf).filter(Boolean).join('  '),
    },
    {
      kind: 'audit',
      path: `${org}/logs`,
      filters: { site_id: siteId },
      text: ({ admin_name: admin, message }) => [admin ?? 'the service', message].map(textOf).join('  '),
    },
  ]
}
