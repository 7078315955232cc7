/** Clients fail on ids above a signed 32-bit integer. */
export const MAX_CALL_ID = 2 ** 31 - 1

/** The first id of commands; the sequence `device_call_id` assigns them. A protocol may use lower ones for its own calls. */
export const MIN_COMMAND_CALL_ID = 1024

export function isCommandCallId(id: number): boolean {
  return id >= MIN_COMMAND_CALL_ID && id <= MAX_CALL_ID
}
