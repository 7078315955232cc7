import type { InOrg } from '../../access/scope.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Tx } from '../../platform/database/db.ts'
import { listServiceCommands } from '../commands/store-services.ts'
import { type Mxedge, mxedgeOfEvent } from '../mxedge.ts'
import { type ServiceChange, decideUnexplained } from './decide-service-changes.ts'

/** The report that shows the effect of a command may be older than the end of the command. */
const SLACK_MS = 60_000

const eventTypes = {
  running: 'ME_SERVICE_STARTED',
  stopped: 'ME_SERVICE_STOPPED',
  failed: 'ME_SERVICE_FAILED',
} as const satisfies Record<ServiceChange['to'], MxedgeEventInput['type']>

interface ChangesOfReport {
  readonly changes: readonly ServiceChange[]
  /** When the former report came. */
  readonly since: Date
  readonly at: Date
}

/** Appends an event for every service that has started, stopped or failed without a command. */
export async function appendServiceChanges(
  tx: Tx,
  scope: InOrg,
  mxedge: Mxedge,
  { changes, since, at }: ChangesOfReport,
): Promise<void> {
  if (changes.length === 0) return
  const commands = await listServiceCommands(tx, scope, { mxedgeId: mxedge.id, since: addMs(since, -SLACK_MS) })
  const events = decideUnexplained(changes, commands).map(({ service, from, to }) => ({
    mxedge: mxedgeOfEvent(mxedge),
    type: eventTypes[to],
    service,
    text: `Reported as ${to}, and as ${from} before`,
  }))
  await appendMxedgeEvents(tx, scope, events, at)
}
