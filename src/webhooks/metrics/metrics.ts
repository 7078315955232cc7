import { type Metrics, metric } from '../../platform/process/prometheus.ts'
import type { Verdict } from '../delivery/decide-retry.ts'

/** The results of attempts by the verdict on each. */
const results = {
  delivered: 'delivered',
  retry: 'retry',
  pause: 'pause',
  give_up: 'given_up',
  gone: 'gone',
} as const satisfies Readonly<Record<Verdict['kind'], string>>

const attempts = metric({
  name: 'signalbox_webhook_attempts_total',
  help: 'Attempts to deliver messages of webhooks, by result',
  kind: 'counter',
  labels: { result: Object.values(results) },
})
const attemptSeconds = metric({
  name: 'signalbox_webhook_attempt_seconds',
  help: 'How long receivers of webhooks took to answer, or to fail',
  kind: 'histogram',
  labels: {},
  buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
})

export function countAttempt(metrics: Metrics, verdict: Verdict, durationMs: number): void {
  metrics.add(attempts, { result: results[verdict.kind] })
  metrics.observe(attemptSeconds, {}, durationMs / 1000)
}
