import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Facts } from '../../display/layout/facts.tsx'
import { Panel } from '../../display/layout/panel.tsx'
import { Ago, ViewerTime } from '../../display/times/time.tsx'
import { REFRESH_MS, useWebhookCalls } from '../use-webhooks.ts'
import { parkedText } from '../parked.ts'
import { type Health, type WebhookPlace, pendingText, successText } from '../webhook.ts'

interface HealthPanelProps {
  readonly place: WebhookPlace
  readonly id: string
  readonly health: Health
}

/** Whether messages arrive, and when the next one is sent; then waiting and abandoned messages, and the attempts of the last hour. */
export function HealthPanel({ place, id, health }: HealthPanelProps) {
  const {
    disabled_time: disabledAt,
    oldest_pending: oldest,
    overflowed,
    first_overflow: droppedFrom,
    last_overflow: droppedAt,
  } = health
  const { state, parked, breaker, last_hour: hour } = health
  const isSilent = (hour.success_rate ?? 0) === 0
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Disabled since', disabledAt !== undefined && <Ago at={disabledAt} />],
    ['Failures in a row', breaker.failures > 0 && breaker.failures.toLocaleString('en')],
    [
      'Next attempt',
      state !== 'disabled' && breaker.open_until !== undefined && (
        <>
          <ViewerTime at={breaker.open_until} />
          {breaker.failures > 0 && ', or at once when a test message succeeds'}
        </>
      ),
    ],
    ['Last delivered', isSilent && <LastDelivery place={place} id={id} />],
    [
      'Waiting messages',
      <>
        {pendingText(health)}
        {oldest !== undefined && (
          <>
            , the oldest from <Ago at={oldest} />
          </>
        )}
      </>,
    ],
    ['Undelivered', parkedText(parked)],
    ['Attempts in the last hour', successText(hour)],
    ['Answers in the last hour', hour.p50_ms !== undefined && `median ${hour.p50_ms} ms, p99 ${hour.p99_ms ?? '–'} ms`],
    [
      'Dropped, because too many waited',
      overflowed > 0 && (
        <>
          {overflowed.toLocaleString('en')}
          {droppedAt !== undefined && (
            <>
              , the last one <Ago at={droppedAt} />
            </>
          )}
          {droppedFrom !== undefined && droppedAt !== undefined && (
            <>
              {' '}
              (since <ViewerTime at={droppedFrom} />)
            </>
          )}
          . They can't be sent again: read what you need by the API.
        </>
      ),
    ],
  ]
  return (
    <Panel title="Health">
      <Facts facts={facts} />
    </Panel>
  )
}

/** When the receiver last accepted a message, which may be long ago. */
function LastDelivery({ place, id }: Omit<HealthPanelProps, 'health'>) {
  const calls = useWebhookCalls(place)
  const { data } = useQuery({
    queryKey: ['webhook last delivery', place, id],
    queryFn: () => calls.deliveries(id, { status: 'success', period: '7d' }, 1),
    refetchInterval: REFRESH_MS,
  })
  if (data === undefined) return '–'
  const [last] = data.results
  return last === undefined ? 'nothing within 7 days' : <Ago at={last.timestamp} />
}
