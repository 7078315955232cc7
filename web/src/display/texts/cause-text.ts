import { localText } from '../times/local-text.ts'

/**
 * Why the engine ends the upgrade of a device, or why the end of a command is unknown. Devices that refuse do so in their
 * own words.
 */
const words: ReadonlyMap<string, string> = new Map(
  Object.entries({
    connection_lost: 'lost the connection',
    download_refused: 'the server had no room for the download',
    gateway_lost: 'the service stopped before the device answered',
    health_clients: 'has fewer than half of its clients after the restart',
    health_neighbor: 'does not hear all of its neighbors after the restart',
    health_radio: 'lacks a radio after the restart',
    health_unknown: 'sent no report after the restart',
    health_uplink: 'lacks an uplink after the restart',
    members_behind: 'a member runs another version',
    no_reconnect: 'did not reconnect after the restart',
    not_activated: 'did not activate the image',
    not_applied: 'still runs the previous version',
    not_rebooted: 'was not rebooted in time',
    not_staged: 'did not keep the image',
    not_supported: "can't take a recovery snapshot",
    offline: 'offline',
    refused: 'refused the command',
    removed: 'left the organization or the site',
    rollback_failed: 'did not return to the previous version',
    rolled_back: 'returned to the previous version',
    rolled_back_unstable: 'returned to the previous version, and did not stay connected',
    service_failed: 'its service does not run',
    timeout: 'did not answer in time',
    unresponsive: 'did not answer the command',
    unstable: 'did not stay connected',
    window_too_short: 'the maintenance window is too short',
  }),
)

/** The service's own words around a cause. */
const around =
  /^(The attempt ended: |Attempt \d+: )?(.*?)(?:: (returns to its backup version|is being restored|rolled_back|rolled_back_unstable|rollback_failed))?$/su

/**
 * Returns a cause in words. What it is the cause of may stand before or after it: `Attempt 1: connection_lost`,
 * `unstable: rolled_back`.
 * @param zone That of its times. Default: the zone of the viewer.
 */
export function causeText(cause: string, zone?: string): string {
  return localText(cause, zone).replace(around, (whole: string, before = '', only = '', after?: string) => {
    const known = words.get(only)
    if (known === undefined) return whole
    return after === undefined ? `${before}${known}` : `${before}${known}: ${words.get(after) ?? after}`
  })
}
