import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../display/forms/button.tsx'
import { counted, grouped } from '../../display/texts/counted.ts'
import { ConfirmButton } from '../../display/forms/confirm-button.tsx'
import { ProblemNote } from '../../display/layout/notices.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { SiteTime } from '../../display/times/time.tsx'
import { REFRESH_MS, useWebhookCalls } from '../use-webhooks.ts'
import { replayEffect, replayedText } from '../parked.ts'
import { showText } from '../../display/texts/show-text.ts'
import type { ParkedMessage, WebhookPlace } from '../webhook.ts'
import { Row, RowButton, RowName } from '../../display/layout/row.tsx'

/** The deliveries below tell why. */
const SHOWN = 5
/** After they are asked for. */
const MOST = 100

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
  const [limit, setLimit] = useState(SHOWN)
  const query = useQuery({
    queryKey: ['webhook parked', place, id, limit],
    queryFn: () => calls.parked(id, limit),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  })
  const replay = useMutation({
    async mutationFn(ids?: string[]) {
      const wanted = ids === undefined ? (query.data?.total ?? 0) : 0
      const { replayed } = await calls.replay(id, ids === undefined ? {} : { ids })
      return { replayed, left: Math.max(wanted - replayed, 0) }
    },
    onSuccess: () => queries.invalidateQueries(),
  })
  if (query.data === undefined) return <ProblemNote problem={query.error} />
  const { rows, total } = query.data
  const list = (
    <Panel
      title="Undelivered messages"
      aside={total > rows.length ? `the first ${rows.length} of ${grouped(total)}` : total}
    >
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
      <p className="panel-buttons">
        {mayWrite && (
          <ConfirmButton
            action="Send all again"
            effect={replayEffect(total, isEnabled)}
            run={() => replay.mutateAsync(undefined)}
          />
        )}
        {total > rows.length && limit === SHOWN && (
          <Button variant="default" size="xs" onClick={() => setLimit(MOST)}>
            {showText(MOST, total)}
          </Button>
        )}
      </p>
    </Panel>
  )
  return (
    <>
      <p role="status" className="muted">
        {replay.data !== undefined && replayedText(replay.data.replayed, replay.data.left, isEnabled)}
      </p>
      {/* The dialog shows its own refusal. */}
      <ProblemNote problem={replay.variables === undefined ? null : replay.error} />
      {total > 0 && list}
    </>
  )
}
