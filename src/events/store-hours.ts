import { type RawBuilder, sql } from 'kysely'

/** The number of the hour of a time since 1970, exactly as the indexes of device events have it: see migration 330. */
export function hourOf(time: RawBuilder<unknown>): RawBuilder<number> {
  return sql<number>`floor(date_part('epoch', ${time} at time zone 'UTC') / 3600)::integer`
}

/** The bytes of the MAC address in the id of a device, exactly as the index of its events has them. */
export function macBytesOf(deviceId: RawBuilder<unknown>): RawBuilder<Buffer> {
  return sql<Buffer>`substring(uuid_send(${deviceId}) from 11 for 6)`
}
