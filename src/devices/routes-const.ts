import { Type } from 'typebox'
import { deviceEventTypes } from '../events/append.ts'
import { self } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { named } from '../http/schemas.ts'
import { deviceModels } from './registry/device-models.ts'
import { DeviceTypeName } from './wire.ts'

/**
 * Models of devices, and definitions of their events and alarms. Source: contract, Constants Models and Constants
 * Events.
 */
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
    reply: Type.Array(named('EventType', Type.Object({ key: Type.String(), display: Type.String() }))),
    run: () => deviceEventTypes().map(({ type, display }) => ({ key: type, display })),
  }),
  operation({
    id: 'listAlarmDefinitions',
    summary: 'List the types of alarms',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/alarm_defs'),
    reply: Type.Array(
      named(
        'AlarmType',
        Type.Object({
          key: Type.String(),
          display: Type.String(),
          group: Type.String(),
          severity: Type.String(),
          fields: Type.Array(Type.String()),
        }),
      ),
    ),
    // No alarm exists yet.
    run: () => [],
  }),
].flat()

/** Every access point has a type of its own. */
function presentModel({ model, type }: (typeof deviceModels)[number]) {
  return { model, display: model, type, ...(type === 'ap' && { ap_type: model }) }
}
