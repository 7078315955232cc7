import { sql } from 'kysely'
import type { Reader } from '../../platform/database/db.ts'
import { type Sample, metric } from '../../platform/process/prometheus.ts'

/** Counting a longer backlog would make each scrape slow. */
const MAX_COUNTED = 100_000

const states = ['working', 'failing', 'disabled'] as const

const webhooks = metric({
  name: 'signalbox_webhooks',
  help: 'Webhooks by state; failing: the last attempt failed, or the receiver acknowledges none of the messages that it should fetch',
  kind: 'gauge',
  labels: { state: states },
})
const waiting = metric({
  name: 'signalbox_webhook_messages_waiting',
  help: 'Messages that wait for receivers of webhooks, by the state of the webhook',
  kind: 'gauge',
  labels: { state: states },
})
const unrouted = metric({
  name: 'signalbox_webhook_events_unrouted',
  help: `Events that have yet to become messages, and those that were set aside, at most ${MAX_COUNTED} of each`,
  kind: 'gauge',
  labels: { set_aside: ['true', 'false'] },
})

/** Reads the state of the webhooks of all organizations. */
export async function readWebhookSamples(reader: Reader): Promise<Sample[]> {
  const byState = await sql<{ readonly state: string; readonly count: number; readonly pending: number }>`
    select case when not webhook.enabled then 'disabled' when lane.failures > 0 or (lane.pulled and lane.failing_since is not null) then 'failing' else 'working' end as state,
      count(*)::integer as count, sum(lane.pending)::float8 as pending
    from webhook join webhook_lane lane on lane.org_id = webhook.org_id and lane.webhook_id = webhook.id
    group by 1
  `.execute(reader)
  // Apart, so that a backlog does not hide the ones that were set aside.
  const events = await sql<{ readonly waiting: number; readonly setAside: number }>`
    select
      (select count(*)::integer from (
        select from webhook_outbox where set_aside_at is null limit ${MAX_COUNTED}) o) as waiting,
      (select count(*)::integer from (
        select from webhook_outbox where set_aside_at is not null limit ${MAX_COUNTED}) o) as set_aside
  `.execute(reader)
  // A series that is missing while it is zero would be no answer for a rule that waits for it.
  const ofStates = states.map((state) => ({ labels: { state }, row: byState.rows.find((row) => row.state === state) }))
  const { waiting: unroutedCount, setAside } = events.rows[0] ?? { waiting: 0, setAside: 0 }
  return [
    ...ofStates.map(({ labels, row }) => ({ metric: webhooks, labels, value: row?.count ?? 0 })),
    ...ofStates.map(({ labels, row }) => ({ metric: waiting, labels, value: row?.pending ?? 0 })),
    { metric: unrouted, labels: { set_aside: 'false' }, value: unroutedCount },
    { metric: unrouted, labels: { set_aside: 'true' }, value: setAside },
  ]
}
