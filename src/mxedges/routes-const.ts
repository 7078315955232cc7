import { Type } from 'typebox'
import { mxedgeEventTypes } from '../events/append-mxedge.ts'
import { self } from '../http/at.ts'
import { type Operation, operation } from '../http/operation.ts'
import { named } from '../http/schemas.ts'
import { mxedgeModels } from './models.ts'

/** The models of edge appliances and the types of their events. Source: contract, Constants Models and Events. */
export const mxedgeConstOperations: Operation[] = [
  operation({
    id: 'listMxEdgeModels',
    summary: 'List the models of edge appliances',
    method: 'GET',
    tag: 'Constants Models',
    at: self('/const/mxedge_models'),
    reply: Type.Array(
      named(
        'MxedgeModel',
        Type.Object({
          model: Type.String(),
          display: Type.String(),
          custom_ports: Type.Boolean({ description: 'whether its ports are what somebody gives it' }),
        }),
      ),
    ),
    run: () => mxedgeModels.map(({ model, display, virtual }) => ({ model, display, custom_ports: virtual })),
  }),
  operation({
    id: 'listMxEdgeEventsDefinitions',
    summary: 'List the types of edge appliance events',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/mxedge_events'),
    reply: Type.Array(named('EventType', Type.Object({ key: Type.String(), display: Type.String() }))),
    run: () => Object.entries(mxedgeEventTypes).map(([key, display]) => ({ key, display })),
  }),
].flat()
