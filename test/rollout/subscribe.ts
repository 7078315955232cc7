import { uuidv7 } from 'uuidv7'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import type { Rollout } from './harness.ts'

/** Adds a webhook that subscribes to the events of upgrades. */
export async function subscribe({ ctx, org }: Rollout): Promise<void> {
  const at = ctx.clock.now()
  const times = { createdAt: at, modifiedAt: at }
  const webhook = { orgId: org.scope.orgId, id: uuidv7(), enabled: true, topics: ['upgrade-events'], ...times }
  await ctx.db
    .insertInto('webhook')
    .values({ ...webhook, doc: documentText({ url: 'http://example.test' }) })
    .execute()
}
