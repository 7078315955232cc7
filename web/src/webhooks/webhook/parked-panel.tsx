import { useQuery, useQueryClient } from '@tanstack/react-query'
import { counted } from '../../display/counted.ts'
import { ConfirmButton } from '../../display/confirm-button.tsx'
import { Panel } from '../../display/panel.tsx'
import { SiteTime } from '../../display/time.tsx'
import { REFRESH_MS, useWebhookCalls } from '../use-webhooks.ts'
import type { ParkedMessage, WebhookPlace } from '../webhook.ts'

const SHOWN = 20

const reasons: Readonly<Record<ParkedMessage['reason'], string>> = {
  exhausted: 'no attempt succeeded',
  expired: 'it waited for a week',
}

interface ParkedPanelProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly mayWrite: boolean
  /** Of the site of the webhook; undefined for those of the organization. */
  readonly zone: string | undefined
}

/** The messages that the receiver did not accept. If there are none, it shows nothing. */
export function ParkedPanel({ place, id, mayWrite, zone }: ParkedPanelProps) {
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['webhook parked', place, id],
    queryFn: () => calls.parked(id, SHOWN),
    refetchInterval: REFRESH_MS,
  })
  if (query.data === undefined || query.data.total === 0) return null
  const { rows, total } = query.data
  return (
    <Panel title="Undelivered messages" aside={total > SHOWN ? `the first ${SHOWN} of ${total}` : total}>
      <ol className="log">
        {rows.map(({ id: messageId, topic, reason, attempts, events, parked_time: at }) => (
          <li key={messageId}>
            <div className="log-head">
              <span className="mono">{topic}</span>
              <SiteTime at={at} zone={zone} />
            </div>
            <p>
              {counted(events, 'event')} · {counted(attempts, 'attempt')} · {reasons[reason]}
            </p>
          </li>
        ))}
      </ol>
      {mayWrite && (
        <p className="panel-buttons">
          <ConfirmButton
            action="Send all again"
            effect={`Sends ${counted(total, 'message')} again, the oldest first, with the same ids and bytes.`}
            run={async () => {
              await calls.replay(id, {})
              await queries.invalidateQueries()
            }}
          />
        </p>
      )}
    </Panel>
  )
}
