import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from './service.ts'

export interface EpochSpread {
  readonly lowest: number
  readonly highest: number
}

/**
 * Returns the lowest and the highest session epoch once `devices` devices are recorded as connected, which is after their
 * links have opened. The epoch counts how often a device has connected.
 * @throws Error if that takes longer than `withinMs`.
 */
export async function findEpochSpread(service: Service, devices: number, withinMs: number): Promise<EpochSpread> {
  for (const startedMs = performance.now(); ; await delay(LOOK_MS)) {
    const [row] = await service.query<{ connected: number; lowest: string; highest: string }>(
      `select count(*) filter (where connected)::integer as connected, min(epoch) as lowest, max(epoch) as highest
       from device_session`,
    )
    if (row?.connected === devices) return { lowest: Number(row.lowest), highest: Number(row.highest) }
    if (performance.now() - startedMs > withinMs) throw new Error(`only ${row?.connected} of ${devices} are connected`)
  }
}

const LOOK_MS = 200

interface TargetRow {
  readonly mac: string
  readonly state: string
  readonly reason: string | null
  readonly attempt: number
  readonly history: string
}

/**
 * Returns the targets of an organization upgrade that the service does not report as upgraded, each with the history of
 * its commands.
 */
export async function findUnfinishedTargets(
  service: Service,
  orgUpgradeId: string,
): Promise<{ total: number; commands: number; failed: string[] }> {
  const rows = await service.query<TargetRow>(
    `select target.mac, target.state, target.reason, target.attempt,
       (select coalesce(string_agg(concat(command.attempt, ':', command.state, command.outcome), ' ' order by attempt), 'none')
        from device_command command
        where command.org_id = target.org_id and command.site_upgrade_id = target.upgrade_id
          and command.device_id = target.device_id) as history
     from site_upgrade site
     join upgrade_target target on target.org_id = site.org_id and target.upgrade_id = site.id
     where site.org_upgrade_id = $1 order by target.mac`,
    [orgUpgradeId],
  )
  const sites = await service.query<{ status: string; stop_reason: string | null }>(
    `select status, stop_reason from site_upgrade where org_upgrade_id = $1 and status <> 'completed'`,
    [orgUpgradeId],
  )
  return {
    total: rows.length,
    commands: rows.reduce((sum, { attempt }) => sum + attempt, 0),
    failed: [
      ...sites.map(({ status, stop_reason: reason }) => `a site upgrade is ${status} (${reason ?? 'no reason'})`),
      ...rows
        .filter(({ state }) => state !== 'upgraded')
        .map(
          ({ mac, state, reason, history }) =>
            `target ${mac} is ${state} (${reason ?? 'no reason'}), commands ${history}`,
        ),
    ],
  }
}

/**
 * Counts the switches that had the whole image when their connection was lost, and then installed nothing. Only three minutes
 * of silence show that, so their upgrade is repeated later than that of any other device.
 */
export async function countSilentSwitches(service: Service, orgUpgradeIds: readonly string[]): Promise<number> {
  const [row] = await service.query<{ silent: number }>(
    `select count(*)::integer as silent
     from site_upgrade site
     join device_command command on command.org_id = site.org_id and command.site_upgrade_id = site.id
     join device on device.org_id = command.org_id and device.id = command.device_id
     join firmware_download download on download.org_id = command.org_id and download.command_id = command.id
     where site.org_upgrade_id = any($1::uuid[]) and device.type = 'switch' and command.state = 'unknown'
       and command.outcome ? 'idle' and download.delivered_at is not null`,
    [orgUpgradeIds],
  )
  return row?.silent ?? 0
}

/** Returns the contradictions in the records of all upgrades. */
export async function findInconsistencies(service: Service): Promise<string[]> {
  const counts = await service.query<{ id: string; state: string; recorded: number; found: number }>(
    `select site.id, recorded.key as state, recorded.value::integer as recorded,
       (select count(*)::integer from upgrade_target target
        where target.org_id = site.org_id and target.upgrade_id = site.id and target.state = recorded.key) as found
     from site_upgrade site, jsonb_each_text(site.counts) recorded`,
  )
  const active = await service.query<{ mac: string }>(
    `select target.mac from upgrade_target target
     full join (select * from device_upgrade where upgrade_id is not null) active
       on active.org_id = target.org_id and active.device_id = target.device_id and active.upgrade_id = target.upgrade_id
     where (target.state not in ('upgraded', 'failed', 'skipped', 'cancelled')) is distinct from (active.device_id is not null)`,
  )
  return [
    ...counts
      .filter(({ recorded, found }) => recorded !== found)
      .map(
        ({ id, state, recorded, found }) => `site upgrade ${id} counts ${recorded} targets ${state}, but has ${found}`,
      ),
    ...active.map(({ mac }) => `${mac} is in an active upgrade although its target has ended, or the other way round`),
  ]
}
