import { sql } from 'kysely'
import type { OrgScope, SiteScope } from '../../access/scope.ts'
import type { Page, Paged } from '../../http/lists/lists.ts'
import { smallRows } from '../../http/lists/store-bounds.ts'
import { pageOf } from '../../http/lists/store-pages.ts'
import { type Reader, anyOf } from '../../platform/database/db.ts'
import type { CommandKind, CommandState } from '../tables.ts'
import { paramsOfCommand } from './store.ts'

/** A command of a person or of an upgrade, in its present state. */
export interface ListedCommand {
  readonly id: string
  readonly deviceId: string
  /** The site upgrade that it belongs to; null for a person's command. */
  readonly siteUpgradeId: string | null
  readonly kind: CommandKind
  readonly params: Readonly<Record<string, unknown>>
  readonly state: CommandState
  /** The outcome. Lists omit the `text` of a success, which may be long. */
  readonly outcome: { readonly text?: string | null; readonly code?: string; readonly why?: string } | null
  readonly createdAt: Date
  readonly sentAt: Date | null
  readonly finishedAt: Date | null
}

const columns = sql`command.id, command.device_id, command.site_upgrade_id, command.kind, ${paramsOfCommand} as params, command.state,
  command.created_at, command.sent_at, command.finished_at`

function commandsOf(scope: SiteScope, deviceId: string) {
  return sql`device_command command
    join device on device.org_id = command.org_id and device.id = command.device_id and device.site_id = ${scope.siteId}
      and command.site_id = device.site_id
    where command.org_id = ${scope.orgId} and command.device_id = ${deviceId}`
}

/** Lists the commands that a device was sent in the site, the newest first. */
export function listDeviceCommands(
  reader: Reader,
  scope: SiteScope,
  { deviceId, page }: { readonly deviceId: string; readonly page: Page },
): Promise<Paged<ListedCommand>> {
  const outcome = sql`case when command.state = 'done' then command.outcome - 'text' else command.outcome end as outcome`
  const hits = sql`select ${columns}, ${outcome} from ${commandsOf(scope, deviceId)}`
  return pageOf<ListedCommand>(reader, { hits, direction: 'desc', sizes: smallRows }, page)
}

/** A command that has ended, with the site in which it was requested. */
export type CommandResult = Pick<ListedCommand, 'id' | 'deviceId' | 'kind' | 'state' | 'outcome'> & {
  readonly siteId: string
}

/** Lists the commands of a device of the site that have ended since then. */
export async function listRecentResults(
  reader: Reader,
  scope: SiteScope,
  { deviceId, since }: { readonly deviceId: string; readonly since: Date },
): Promise<CommandResult[]> {
  const { rows } = await sql<CommandResult>`
    select ${columns}, command.site_id, command.outcome from ${commandsOf(scope, deviceId)}
      and command.finished_at >= ${since}
    order by command.id`.execute(reader)
  return rows
}

/** Lists those of the commands that have ended, and were requested in a site. */
export async function listCommandResults(
  reader: Reader,
  scope: OrgScope,
  ids: readonly string[],
): Promise<CommandResult[]> {
  const { rows } = await sql<CommandResult>`
    select id, device_id, site_id, kind, state, outcome from device_command
    where org_id = ${scope.orgId} and id = ${anyOf(ids)} and site_id is not null and finished_at is not null
    order by id`.execute(reader)
  return rows
}

export async function findDeviceCommand(
  reader: Reader,
  scope: SiteScope,
  { deviceId, id }: { readonly deviceId: string; readonly id: string },
): Promise<ListedCommand | undefined> {
  const { rows } = await sql<ListedCommand>`
    select ${columns}, command.outcome from ${commandsOf(scope, deviceId)} and command.id = ${id}`.execute(reader)
  return rows[0]
}
