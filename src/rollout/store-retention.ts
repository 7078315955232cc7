import { type RawBuilder, sql } from 'kysely'
import { endedCommands } from '../devices/commands/store-retention.ts'
import type { AgingRows } from '../platform/database/retention.ts'

/** Commands that have ended, except those of a running upgrade, which still decides by them. */
export const agingCommands: AgingRows = {
  ...endedCommands,
  isOld: (before) => sql`${endedCommands.isOld(before)} and not exists (
    select from site_upgrade
    where site_upgrade.org_id = device_command.org_id and site_upgrade.id = device_command.site_upgrade_id
      and site_upgrade.finished_at is null)`,
}

/**
 * Matches organization upgrades whose last site upgrade ended before `before`. An upgrade that still runs anywhere is
 * retained completely.
 */
function ended(upgrade: RawBuilder<unknown>, before: Date): RawBuilder<unknown> {
  return sql`${upgrade}.created_at < ${before} and not exists (
    select from site_upgrade sibling where sibling.org_id = ${upgrade}.org_id and sibling.org_upgrade_id = ${upgrade}.id
      and (sibling.finished_at is null or sibling.finished_at >= ${before}))`
}

const parent = (before: Date) => sql`select from org_upgrade parent
  where parent.org_id = part.org_id and parent.id = part.org_upgrade_id and ${ended(sql`parent`, before)}`

/** Ended upgrades, targets first: a cascading delete could concern a hundred thousand rows. */
export const agingUpgrades: readonly AgingRows[] = [
  {
    table: 'upgrade_target',
    owner: 'org_id',
    isOld: (before) => sql`upgrade_id in (
      select part.id from site_upgrade part where part.org_id = upgrade_target.org_id and exists (${parent(before)}))`,
  },
  {
    table: 'upgrade_event',
    owner: 'org_id',
    isOld: (before) => sql`exists (select from org_upgrade parent
      where parent.org_id = upgrade_event.org_id and parent.id = upgrade_event.org_upgrade_id
        and ${ended(sql`parent`, before)})`,
  },
  {
    table: 'site_upgrade',
    owner: 'org_id',
    isOld: (before) => sql`id in (
        select part.id from site_upgrade part where part.org_id = site_upgrade.org_id and exists (${parent(before)}))
      and not exists (
        select from upgrade_target target
        where target.org_id = site_upgrade.org_id and target.upgrade_id = site_upgrade.id)`,
  },
  {
    table: 'org_upgrade',
    owner: 'org_id',
    isOld: (before) => sql`${ended(sql`org_upgrade`, before)} and not exists (
      select from site_upgrade part
      where part.org_id = org_upgrade.org_id and part.org_upgrade_id = org_upgrade.id)`,
  },
]
