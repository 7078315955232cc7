import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { DEFAULT_PERIOD, type DeliverySearch, periodWords } from '../delivery-search.ts'
import { replayedText } from '../parked.ts'
import { useWebhookCalls } from '../use-webhooks.ts'
import type { WebhookPlace } from '../webhook.ts'

interface ReplayPeriodButtonProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly isEnabled: boolean
  readonly search: DeliverySearch
}

/** Sends again what the receiver accepted within the period that is shown, for one that lost it afterwards. */
export function ReplayPeriodButton({ place, id, isEnabled, search }: ReplayPeriodButtonProps) {
  const { status, topic, period = DEFAULT_PERIOD } = search
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const [replayed, setReplayed] = useState<number | null>(null)
  // A failed message is sent again anyway, or among the undelivered ones.
  if (status !== 'success' || topic === 'ping') return null
  const within = periodWords.find(({ value }) => value === period)?.label.toLowerCase() ?? ''
  const what = topic === undefined ? 'all messages' : `all messages of ${topic}`
  const waits = isEnabled ? '' : ' They wait until the webhook is enabled.'
  return (
    <>
      <ConfirmButton
        action="Send all of them again"
        effect={`Sends ${what} again that the receiver accepted within ${within}, the oldest first, with the same ids and bytes. It gets them twice.${waits}`}
        run={async () => {
          let count = 0
          let range: { start: string | number; end?: number } | null = { start: `-${period}` }
          while (range !== null) {
            const body = { status: 'delivered', ...range, ...(topic !== undefined && { topic }) } as const
            const { replayed: more, next_start: start, next_end: end } = await calls.replay(id, body)
            count += more
            setReplayed(count)
            range = start === undefined || end === undefined ? null : { start, end }
          }
          await queries.invalidateQueries()
        }}
      />
      <span role="status" className="muted">
        {replayed !== null && replayedText(replayed, 0, isEnabled)}
      </span>
    </>
  )
}
