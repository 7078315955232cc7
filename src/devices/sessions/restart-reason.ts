/** Reasons to connect that say nothing of the boot before. */
const connections: ReadonlySet<string> = new Set(['socket', 'recovery'])

/** Why a device booted that is known to have booted, by the reason of its connection. Null where that does not tell. */
export function restartReason(connectReason: string | null): string | null {
  return connectReason === null || connections.has(connectReason) ? null : connectReason
}
