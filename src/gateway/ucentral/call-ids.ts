/** Clients fail on ids above a signed 32-bit integer. */
export const MAX_CALL_ID = 2 ** 31 - 1

/**
 * Of the call that asks a device to report. The device answers once it has sent what it queued while it was offline;
 * whether it accepts makes no difference, so one id serves every session.
 */
export const TELEMETRY_CALL_ID = 2

/** From here on ids are those of commands; the sequence `device_call_id` hands them out. */
export const MIN_COMMAND_CALL_ID = 1024

export function isCommandCallId(id: number): boolean {
  return id >= MIN_COMMAND_CALL_ID && id <= MAX_CALL_ID
}
