import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { deviceEventTypes } from '../events/append.ts'
import { deviceModels } from './registry/device-models.ts'
import { DeviceTypeName } from './wire.ts'

/** What devices are, and what is told of them. Source: contract, Constants Models and Constants Events. */
export const deviceConstRoutes: FastifyPluginAsyncTypebox = async (http) => {
  http.get(
    '/const/device_models',
    {
      schema: {
        operationId: 'listDeviceModels',
        tags: ['Constants Models'],
        response: {
          200: Type.Array(
            Type.Object({
              model: Type.String(),
              display: Type.String(),
              type: DeviceTypeName,
              ap_type: Type.Optional(Type.String({ description: 'of access points: the model again' })),
            }),
          ),
        },
      },
    },
    async () => deviceModels.map(presentModel),
  )

  http.get(
    '/const/device_events',
    {
      schema: {
        operationId: 'listDeviceEventsDefinitions',
        tags: ['Constants Events'],
        response: { 200: Type.Array(Type.Object({ key: Type.String(), display: Type.String() })) },
      },
    },
    async () => deviceEventTypes().map(({ type, display }) => ({ key: type, display })),
  )

  http.get(
    '/const/alarm_defs',
    {
      schema: {
        operationId: 'listAlarmDefinitions',
        tags: ['Constants Events'],
        response: {
          200: Type.Array(
            Type.Object({
              key: Type.String(),
              display: Type.String(),
              group: Type.String(),
              severity: Type.String(),
              fields: Type.Array(Type.String()),
            }),
          ),
        },
      },
    },
    // Nothing raises an alarm yet.
    async () => [],
  )
}

/** Every access point has a type of its own. */
function presentModel({ model, type }: (typeof deviceModels)[number]) {
  return { model, display: model, type, ...(type === 'ap' && { ap_type: model }) }
}
