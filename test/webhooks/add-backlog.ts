import { insertOutbox } from '../../src/events/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { epochS } from '../../src/platform/time/clock.ts'
import { uuidv7 } from '../../src/platform/uuidv7.ts'
import type { Harness } from './harness.ts'

/** Commits events in one transaction. @returns Their messages, in their order. */
export async function addBacklog(harness: Harness, count: number, name = 'm'): Promise<string[]> {
  const messages = Array.from({ length: count }, (_, index) => `${name}${String(index).padStart(3, '0')}`)
  await addEvents(
    harness,
    messages.map((message) => ({ message })),
  )
  return messages
}

interface NewEvent {
  readonly message: string
  /** Default: the event is of the organization. */
  readonly siteId?: string
  /** Makes the event longer. */
  readonly after?: { readonly notes: string }
}

/** Commits these events in one transaction. */
export async function addEvents({ ctx, scope: { orgId } }: Harness, events: readonly NewEvent[]): Promise<void> {
  const at = ctx.clock.now()
  const admin = { admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const rows = events.map(({ siteId = null, ...event }) => ({
    orgId,
    siteId,
    topic: 'audits' as const,
    event: { id: uuidv7(), timestamp: epochS(at), org_id: orgId, ...event, ...admin },
  }))
  await inTx(ctx, (tx) => insertOutbox(tx, rows, at))
}
