import { type RawBuilder, sql } from 'kysely'

/** The number of the hour of a time since 1970, exactly in the form of the indexes of device events: see migration 490. */
export function hourOf(time: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`floor(date_part('epoch', ${time} at time zone 'UTC') / 3600)::integer`
}

/** The last three bytes of the MAC address in the id of a device, exactly as the index of its events has them: see migration 490. */
export function macEndOf(deviceId: RawBuilder<unknown>): RawBuilder<Buffer> {
  return sql<Buffer>`substring(uuid_send(${deviceId}) from 14 for 3)`
}

/** Condition: `column` is the id of the device. Its index has the ends of MAC addresses, which devices may have in common. */
export function isOfDevice(column: RawBuilder<unknown>, deviceId: string): RawBuilder<boolean> {
  const id = sql`${deviceId}::uuid`
  return sql<boolean>`(${macEndOf(column)} = ${macEndOf(id)} and ${column} = ${id})`
}
