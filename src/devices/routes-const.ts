import { Type } from 'typebox'
import { deviceEventTypes } from '../events/device-event-types.ts'
import { self } from '../http/at.ts'
import { EventTypesReply } from '../http/event-types.ts'
import { type Operation, operation } from '../http/operation.ts'
import { named } from '../http/schemas.ts'
import { invalidField } from '../platform/errors.ts'
import { deviceModels } from './registry/device-models.ts'
import { typeOfModel } from './registry/models.ts'
import { DeviceTypeName } from './wire.ts'

/** Models of devices, and definitions of their events. Source: contract, Constants Models and Constants Events. */
export const deviceConstOperations: Operation[] = [
  operation({
    id: 'listDeviceModels',
    summary: 'List the models of devices',
    method: 'GET',
    tag: 'Constants Models',
    at: self('/const/device_models'),
    reply: Type.Array(
      named(
        'DeviceModel',
        Type.Object({
          model: Type.String(),
          display: Type.String(),
          type: DeviceTypeName,
          ap_type: Type.Optional(Type.String({ description: 'of access points: the model again' })),
        }),
      ),
    ),
    run: () => deviceModels.map(presentModel),
  }),
  operation({
    id: 'listDeviceEventsDefinitions',
    summary: 'List the types of device events',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/device_events'),
    reply: EventTypesReply,
    run: deviceEventTypes,
  }),
  operation({
    id: 'getGatewayDefaultConfig',
    summary: 'Get the default configuration of a gateway model',
    method: 'GET',
    tag: 'Constants Models',
    at: self('/const/default_gateway_config'),
    query: Type.Object({
      model: Type.String({ minLength: 1, maxLength: 200 }),
      ha: Type.Optional(Type.Enum(['true', 'false', 'True', 'False'], { description: 'of a cluster of two' })),
    }),
    reply: Type.Record(Type.String(), Type.Unknown()),
    run: (_ctx, { query: { model } }) => {
      if (typeOfModel(model) !== 'gateway') throw invalidField('model', `${model} is not a model of a gateway`)
      // Signalbox configures no gateways, so a gateway has no default settings, as a single device or in a cluster.
      return {}
    },
  }),
].flat()

/** Each model of access point is its own type. */
function presentModel({ model, type }: (typeof deviceModels)[number]) {
  return { model, display: model, type, ...(type === 'ap' && { ap_type: model }) }
}
