import { Panel } from '../../display/layout/panel.tsx'
import { Ago, ViewerTime } from '../../display/times/time.tsx'
import { type Health, pendingText } from '../webhook.ts'

/** Waiting and abandoned messages, and the deliveries of the last hour. */
export function HealthPanel({ health }: { readonly health: Health }) {
  const {
    state,
    disabled_time: disabledAt,
    oldest_pending: oldest,
    parked,
    overflowed,
    last_overflow: droppedAt,
    breaker,
    last_hour: hour,
  } = health
  return (
    <Panel title="Health">
      <dl className="facts">
        {disabledAt !== undefined && (
          <div>
            <dt>Disabled since</dt>
            <dd>
              <Ago at={disabledAt} />
            </dd>
          </div>
        )}
        <div>
          <dt>Waiting messages</dt>
          <dd>
            {pendingText(health)}
            {oldest !== undefined && (
              <>
                , the oldest from <Ago at={oldest} />
              </>
            )}
          </dd>
        </div>
        <div>
          <dt>Undelivered</dt>
          <dd>{parked.toLocaleString('en')}</dd>
        </div>
        <div>
          <dt>Attempts in the last hour</dt>
          <dd>
            {hour.attempts.toLocaleString('en')}
            {hour.success_rate !== undefined && `, ${(100 * hour.success_rate).toFixed(1)} % successful`}
          </dd>
        </div>
        <div>
          <dt>Answers in the last hour</dt>
          <dd>{hour.p50_ms === undefined ? '–' : `median ${hour.p50_ms} ms, p99 ${hour.p99_ms ?? '–'} ms`}</dd>
        </div>
        {overflowed > 0 && (
          <div>
            <dt>Dropped, because too many waited</dt>
            <dd>
              {overflowed.toLocaleString('en')}
              {droppedAt !== undefined && (
                <>
                  , the last one <Ago at={droppedAt} />
                </>
              )}
            </dd>
          </div>
        )}
        {breaker.open_until !== undefined && (
          <div>
            <dt>Failures in a row</dt>
            <dd>
              {breaker.failures}
              {state !== 'disabled' && (
                <>
                  ; the next attempt is due <ViewerTime at={breaker.open_until} />
                </>
              )}
            </dd>
          </div>
        )}
      </dl>
    </Panel>
  )
}
