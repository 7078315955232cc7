import type { FastifyPluginAsync } from 'fastify'
import type { Context } from '../../platform/context.ts'
import { readMxedgeUpgradeSamples } from '../../mxedges/upgrades/store-metrics.ts'
import { readUpgradeSamples } from '../../rollout/store-metrics.ts'
import { readWebhookSamples } from '../../webhooks/metrics/store.ts'

/**
 * The counters and the current state of this process, for Prometheus. They cover all organizations, so they are for the
 * operator.
 */
export function metricsRoutes(ctx: Context): FastifyPluginAsync {
  return async (http) => {
    http.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
      void reply.type('text/plain; version=0.0.4; charset=utf-8')
      return ctx.metrics.encode([
        ...(await readUpgradeSamples(ctx.db)),
        ...(await readMxedgeUpgradeSamples(ctx.db)),
        ...(await readWebhookSamples(ctx.db)),
      ])
    })
  }
}
