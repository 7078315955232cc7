import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import { type Sample, metric } from '../../platform/process/prometheus.ts'
import { inFlightStates, waitingStates } from './upgrade.ts'

const states = [...waitingStates, ...inFlightStates]

const upgradesRunning = metric({
  name: 'signalbox_mxedge_upgrades_running',
  help: 'Upgrades of edge appliances that run, by status; held: those that wait for somebody',
  kind: 'gauge',
  labels: { status: ['queued', 'upgrading'], held: ['true', 'false'] },
})
const appliancesRunning = metric({
  name: 'signalbox_mxedge_upgrade_appliances',
  help: 'Edge appliances in upgrades that run, by state',
  kind: 'gauge',
  labels: { state: states },
})

/** Reads the running upgrades of edge appliances of all organizations. */
export async function readMxedgeUpgradeSamples(reader: Reader): Promise<Sample[]> {
  const upgrades = await sql<{ readonly status: string; readonly held: string; readonly count: number }>`
    select status, (hold is not null)::text as held, count(*)::integer as count
    from mxedge_upgrade where finished_at is null group by 1, 2 order by 1, 2
  `.execute(reader)
  const appliances = await sql<{ readonly state: string; readonly count: number }>`
    select state, sum(coalesce((counts->>state)::integer, 0))::integer as count
    from mxedge_upgrade cross join unnest(${states}::text[]) as state
    where finished_at is null group by state order by state
  `.execute(reader)
  return [
    ...upgrades.rows.map(({ status, held, count }) => ({
      metric: upgradesRunning,
      labels: { status, held },
      value: count,
    })),
    ...appliances.rows.map(({ state, count }) => ({ metric: appliancesRunning, labels: { state }, value: count })),
  ]
}
