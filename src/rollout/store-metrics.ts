import { sql } from 'kysely'
import type { Reader } from '../platform/database/db.ts'
import { type Sample, metric } from '../platform/process/prometheus.ts'
import { inFlightStates, waitingStates } from './rollout.ts'

const sitesRunning = metric({
  name: 'signalbox_upgrade_sites_running',
  help: 'Upgrades that run at a site, by status; held: those that wait for somebody',
  kind: 'gauge',
  labels: { status: ['created', 'queued', 'downloading', 'downloaded', 'upgrading'], held: ['true', 'false'] },
})
const devicesRunning = metric({
  name: 'signalbox_upgrade_devices',
  help: 'Devices in upgrades that run, by state',
  kind: 'gauge',
  labels: { state: [...waitingStates, ...inFlightStates] },
})

/** Reads the running upgrades of all organizations. */
export async function readUpgradeSamples(reader: Reader): Promise<Sample[]> {
  const sites = await sql<{ readonly status: string; readonly held: string; readonly count: number }>`
    select status, (hold is not null)::text as held, count(*)::integer as count
    from site_upgrade where finished_at is null group by 1, 2 order by 1, 2
  `.execute(reader)
  const states = [...waitingStates, ...inFlightStates]
  const devices = await sql<{ readonly state: string; readonly count: number }>`
    select state, sum(coalesce((counts->>state)::integer, 0))::integer as count
    from site_upgrade cross join unnest(${states}::text[]) as state
    where finished_at is null group by state order by state
  `.execute(reader)
  return [
    ...sites.rows.map(({ status, held, count }) => ({ metric: sitesRunning, labels: { status, held }, value: count })),
    ...devices.rows.map(({ state, count }) => ({ metric: devicesRunning, labels: { state }, value: count })),
  ]
}
