import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { counted, grouped } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { REFRESH_MS, useWebhookCalls } from '../use-webhooks.ts'
import type { ParkedMessage, WebhookPlace } from '../webhook.ts'
import { Row, RowButton, RowName } from '../../display/layout/row.tsx'

const SHOWN = 20

const reasons: Readonly<Record<ParkedMessage['reason'], string>> = {
  exhausted: 'no attempt succeeded',
  expired: 'it waited for a week',
}

interface ParkedPanelProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly isEnabled: boolean
  readonly mayWrite: boolean
  /** The time zone of the webhook's site; undefined for webhooks of the organization. */
  readonly zone: string | undefined
}

/** The messages that the receiver did not accept. If there are none, it shows only what a replay has done. */
export function ParkedPanel({ place, id, isEnabled, mayWrite, zone }: ParkedPanelProps) {
  const calls = useWebhookCalls(place)
  const queries = useQueryClient()
  const query = useQuery({
    queryKey: ['webhook parked', place, id],
    queryFn: () => calls.parked(id, SHOWN),
    refetchInterval: REFRESH_MS,
  })
  const replay = useMutation({
    mutationFn: (ids?: string[]) => calls.replay(id, ids === undefined ? {} : { ids }),
    onSuccess: () => queries.invalidateQueries(),
  })
  const waits = isEnabled ? '' : ' until the webhook is enabled'
  if (query.data === undefined) return <ProblemNote problem={query.error} />
  const { rows, total } = query.data
  const list = (
    <Panel title="Undelivered messages" aside={total > SHOWN ? `the first ${SHOWN} of ${grouped(total)}` : total}>
      <ol className="log">
        {rows.map(({ id: messageId, topic, reason, attempts, events, parked_time: at }) => (
          <Row key={messageId}>
            <div className="log-head">
              <span className="mono">{topic}</span>
              <RowName>
                <SiteTime at={at} zone={zone} />
              </RowName>
            </div>
            <p>
              {counted(events, 'event')} · {counted(attempts, 'attempt')} · {reasons[reason]}{' '}
              {mayWrite && (
                <RowButton isBusy={replay.isPending} onClick={() => replay.mutate([messageId])}>
                  Send it again
                </RowButton>
              )}
            </p>
          </Row>
        ))}
      </ol>
      {mayWrite && (
        <p className="panel-buttons">
          <ConfirmButton
            action="Send all again"
            effect={`Sends ${counted(total, 'message')} again, the oldest first, with the same ids and bytes.${isEnabled ? '' : ` They wait${waits}.`}`}
            run={() => replay.mutateAsync(undefined)}
          />
        </p>
      )}
    </Panel>
  )
  return (
    <>
      <p role="status" className="muted">
        {replay.data !== undefined &&
          `${counted(replay.data.replayed, 'message waits', 'messages wait')} to be sent again${waits}.`}
      </p>
      {/* The dialog shows its own refusal. */}
      <ProblemNote problem={replay.variables === undefined ? null : replay.error} />
      {total > 0 && list}
    </>
  )
}
