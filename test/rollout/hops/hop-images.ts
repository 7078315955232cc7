import { uuidv7 } from 'uuidv7'
import { json } from '../../../src/platform/database/db.ts'
import { NEW } from '../../support/fleets/fleet.ts'
import type { Rollout } from '../harness.ts'

/** A version between OLD and NEW. */
export const MIDDLE = '1.5.0'

/**
 * Adds MIDDLE to the catalog: NEW can be installed from it only, and it can be installed on anything.
 * @returns The id of its image.
 */
export async function seedHop({ ctx, clock, org }: Rollout, model: string): Promise<string> {
  const { orgId } = org.scope
  const imageId = uuidv7()
  const image = await ctx.db.selectFrom('firmwareImage').selectAll().limit(1).executeTakeFirstOrThrow()
  await ctx.db
    .insertInto('firmwareImage')
    .values({ ...image, id: imageId, sha256: 'd'.repeat(64) })
    .execute()
  const traits = { tag: null, channel: null, minVersion: null, createdAt: clock.now() }
  await ctx.db
    .insertInto('firmwareVersion')
    .values({ orgId, imageId, model, version: MIDDLE, reported: json([`${MIDDLE}-stock`]), ...traits })
    .execute()
  await ctx.db.updateTable('firmwareVersion').set({ minVersion: MIDDLE }).where('version', '=', NEW).execute()
  return imageId
}
