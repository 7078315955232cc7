/** Clients fail on ids above a signed 32-bit integer. */
export const MAX_CALL_ID = 2 ** 31 - 1

/**
 * The id of the call that asks a device to report. The device answers it after it has sent the messages that it queued
 * while it was offline. Acceptance and refusal mean the same to us, so one id serves every session.
 */
export const TELEMETRY_CALL_ID = 2

/** The first id of commands; the sequence `device_call_id` assigns them. */
export const MIN_COMMAND_CALL_ID = 1024

export function isCommandCallId(id: number): boolean {
  return id >= MIN_COMMAND_CALL_ID && id <= MAX_CALL_ID
}
