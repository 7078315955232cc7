import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { RepeatedRefusal } from '../../gateway/admission/refusals.ts'
import { epochS } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { version } from '../../platform/version.ts'
import { findDatabaseStatus } from './store-status.ts'

/** How the service itself stands, and why devices can't connect. */
export function statusRoutes(
  ctx: Context,
  listRefusals: () => Promise<readonly RepeatedRefusal[]>,
): FastifyPluginAsyncTypebox {
  const startedAt = ctx.clock.now()
  return async (http) => {
    http.get('/status', { schema: { hide: true } }, async () => {
      const database = await findDatabaseStatus(ctx.db)
      return {
        version,
        node_version: process.versions.node,
        started_time: epochS(startedAt),
        memory_bytes: process.memoryUsage.rss(),
        database: {
          version: database.version,
          bytes: database.bytes,
          connections: database.connections,
          max_connections: database.maxConnections,
          migration: database.migration,
        },
      }
    })
    http.get('/refused-devices', { schema: { hide: true } }, async () => {
      const refusals = await listRefusals()
      return refusals.map(presentRefusal)
    })
  }
}

function presentRefusal({ protocol, why, address, mac, detail, count, firstMs, lastMs }: RepeatedRefusal) {
  return {
    protocol,
    reason: why,
    ...(address !== null && { address }),
    ...(mac !== undefined && { mac }),
    ...(detail !== undefined && { detail }),
    count,
    first_time: firstMs / 1000,
    last_time: lastMs / 1000,
  }
}
