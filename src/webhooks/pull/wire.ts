import { type Static, Type } from 'typebox'
import { Uuid, named } from '../../http/schemas.ts'
import { textOf } from '../../http/texts.ts'
import type { Handed } from './pull-messages.ts'

const Cursor = textOf('cursor', { description: 'as an answer of the messages returned it' })

export const PullQuery = Type.Object({
  cursor: Type.Optional(Cursor),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
})

export const PulledReply = named(
  'WebhookPulled',
  Type.Object({
    messages: Type.Array(
      named(
        'WebhookPulledMessage',
        Type.Object({
          id: Uuid,
          topic: Type.String(),
          headers: Type.Record(Type.String(), Type.String(), {
            description: 'those of a message that is sent, with the signatures over the UTF-8 bytes of body',
          }),
          body: Type.String({ description: 'a JSON object' }),
        }),
      ),
    ),
    cursor: Type.String({ description: 'acknowledges these messages, and requests later ones' }),
  }),
)

export const AckBody = named('WebhookAck', Type.Object({ cursor: Cursor }, { additionalProperties: false }))

export const AckReply = named('WebhookAcknowledged', Type.Object({ acknowledged: Type.Integer() }))

export function presentPulled({ messages, cursor }: Handed): Static<typeof PulledReply> {
  return {
    messages: messages.map(({ headers, ...message }) => ({ ...message, headers: { ...headers } })),
    cursor: String(cursor),
  }
}
