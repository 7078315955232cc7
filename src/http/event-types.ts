import { Type } from 'typebox'
import { named } from './schemas.ts'

/** The types of events of one kind. Source: contract, Constants Events. */
export const EventTypesReply = Type.Array(
  named(
    'EventType',
    Type.Object({
      key: Type.String(),
      display: Type.String(),
      description: Type.Optional(Type.String({ description: 'when such an event is reported' })),
      example: Type.Optional(Type.Record(Type.String(), Type.Unknown(), { description: 'such an event' })),
    }),
  ),
)
