/** Why the engine ends the upgrade of a device. Devices that refuse do so in their own words. */
const words: Readonly<Record<string, string>> = {
  connection_lost: 'lost the connection',
  health: 'unhealthy after the restart',
  members_behind: 'a member runs another version',
  no_reconnect: 'did not reconnect after the restart',
  not_activated: 'did not activate the image',
  not_applied: 'still runs the previous version',
  not_rebooted: 'was not rebooted in time',
  not_staged: 'did not keep the image',
  offline: 'offline',
  refused: 'refused the command',
  removed: 'left the organization or the site',
  rollback_failed: 'did not return to the previous version',
  rolled_back: 'returned to the previous version',
  unresponsive: 'did not answer the command',
  unstable: 'did not stay connected',
  window_too_short: 'the maintenance window is too short',
}

/** Returns the cause of a failure in words. */
export function causeText(cause: string): string {
  return words[cause] ?? cause
}
