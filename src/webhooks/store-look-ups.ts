import { type RawBuilder, sql } from 'kysely'

/**
 * The condition that a column equals one of another table, for a join that must look its rows up in an index. If PostgreSQL
 * believes that a table is small, it would join by `=` with all of an index, also on a connection of openQueuePool(), and keep
 * that plan while the table grows. For an array it can only search an index for the values.
 */
function lookedUp(column: string, value: string): RawBuilder<boolean> {
  return sql`${sql.ref(column)} = any(array[${sql.ref(value)}])`
}

/** Joins lanes to rows with their keys. @param lane The alias of the lanes. @param key The alias of the rows. */
export function isLaneOf(lane: string, key: string): RawBuilder<boolean> {
  return sql`${lookedUp(`${lane}.org_id`, `${key}.org_id`)} and ${lookedUp(`${lane}.webhook_id`, `${key}.webhook_id`)}`
}

/** Joins webhooks to rows with the keys of their lanes. @param webhook The alias of the webhooks. @param key The alias of the rows. */
export function isWebhookOf(webhook: string, key: string): RawBuilder<boolean> {
  return sql`${lookedUp(`${webhook}.org_id`, `${key}.org_id`)} and ${lookedUp(`${webhook}.id`, `${key}.webhook_id`)}`
}

/** Joins the webhooks of an organization to rows that name it. @param webhook The alias of the webhooks. @param row The alias of the rows. */
export function isInOrgOf(webhook: string, row: string): RawBuilder<boolean> {
  return lookedUp(`${webhook}.org_id`, `${row}.org_id`)
}

/** Joins messages to rows with their ids. @param message The alias of the messages. @param id The column of the rows. */
export function isMessageOf(message: string, id: string): RawBuilder<boolean> {
  return lookedUp(`${message}.id`, id)
}
