import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { mxedgeEventTypes } from '../events/append-mxedge.ts'
import { mxedgeModels } from './models.ts'

/** What edge appliances are, and what is told of them. Source: contract, Constants Models and Constants Events. */
export const mxedgeConstRoutes: FastifyPluginAsyncTypebox = async (http) => {
  http.get(
    '/const/mxedge_models',
    {
      schema: {
        operationId: 'listMxEdgeModels',
        tags: ['Constants Models'],
        response: {
          200: Type.Array(
            Type.Object({
              model: Type.String(),
              display: Type.String(),
              custom_ports: Type.Boolean({ description: 'whether its ports are what somebody gives it' }),
            }),
          ),
        },
      },
    },
    async () => mxedgeModels.map(({ model, display, virtual }) => ({ model, display, custom_ports: virtual })),
  )

  http.get(
    '/const/mxedge_events',
    {
      schema: {
        operationId: 'listMxEdgeEventsDefinitions',
        tags: ['Constants Events'],
        response: { 200: Type.Array(Type.Object({ key: Type.String(), display: Type.String() })) },
      },
    },
    async () => Object.entries(mxedgeEventTypes).map(([key, display]) => ({ key, display })),
  )
}
