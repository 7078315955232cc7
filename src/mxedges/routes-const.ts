import { Type } from 'typebox'
import { mxedgeEventTypes } from '../events/append-mxedge.ts'
import { self } from '../http/at.ts'
import { EventTypesReply } from '../http/event-types.ts'
import { type Operation, operation } from '../http/operation.ts'
import { named } from '../http/schemas.ts'
import { type MxedgeModel, mxedgeModels } from './models.ts'

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
          custom_ports: Type.Boolean({ description: 'true if its ports are configurable' }),
          ports: Type.Optional(
            Type.Record(
              Type.String(),
              Type.Object({ display: Type.Optional(Type.String()), speed: Type.Optional(Type.Integer()) }),
              { description: 'by name; empty for a virtual machine, and absent where the ports are not known' },
            ),
          ),
        }),
      ),
    ),
    run: () => mxedgeModels.map(presentModel),
  }),
  operation({
    id: 'listMxEdgeEventsDefinitions',
    summary: 'List the types of edge appliance events',
    method: 'GET',
    tag: 'Constants Events',
    at: self('/const/mxedge_events'),
    reply: EventTypesReply,
    run: mxedgeEventTypes,
  }),
].flat()

function presentModel({ model, display, virtual }: MxedgeModel) {
  return { model, display, custom_ports: virtual, ...(virtual && { ports: {} }) }
}
