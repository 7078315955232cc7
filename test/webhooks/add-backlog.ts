import { insertOutbox } from '../../src/events/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { epochS } from '../../src/platform/time/clock.ts'
import { uuidv7 } from '../../src/platform/uuidv7.ts'
import type { Harness } from './harness.ts'

/** Commits events in one transaction. @returns Their messages, in their order. */
export async function addBacklog({ ctx, scope: { orgId } }: Harness, count: number, name = 'm'): Promise<string[]> {
  const at = ctx.clock.now()
  const admin = { admin_id: null, admin_name: 'Ada', src_ip: '', user_agent: null }
  const messages = Array.from({ length: count }, (_, index) => `${name}${String(index).padStart(3, '0')}`)
  const rows = messages.map((message) => ({
    orgId,
    siteId: null,
    topic: 'audits' as const,
    event: { id: uuidv7(), timestamp: epochS(at), org_id: orgId, message, ...admin },
  }))
  await inTx(ctx, (tx) => insertOutbox(tx, rows, at))
  return messages
}
