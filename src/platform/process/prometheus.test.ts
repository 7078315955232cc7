import { expect, test } from 'vitest'
import { createMetrics, metric } from './prometheus.ts'

const ended = metric({
  name: 'signalbox_ended_total',
  help: 'What has ended',
  kind: 'counter',
  labels: { result: ['good', 'bad'] },
})
const seconds = metric({
  name: 'signalbox_wait_seconds',
  help: 'How long it took',
  kind: 'histogram',
  labels: { step: ['boot'] },
  buckets: [1, 10],
})
const running = metric({ name: 'signalbox_running', help: 'What runs', kind: 'gauge', labels: {} })

test('counters, histograms and gauges are encoded as Prometheus reads them', () => {
  const metrics = createMetrics()
  metrics.add(ended, { result: 'good' })
  metrics.add(ended, { result: 'good' }, 2)
  for (const value of [0.5, 1, 5, 100]) metrics.observe(seconds, { step: 'boot' }, value)
  expect(metrics.encode([{ metric: running, labels: {}, value: 7 }]).split('\n')).toEqual([
    '# HELP signalbox_ended_total What has ended',
    '# TYPE signalbox_ended_total counter',
    'signalbox_ended_total{result="good"} 3',
    '# HELP signalbox_wait_seconds How long it took',
    '# TYPE signalbox_wait_seconds histogram',
    'signalbox_wait_seconds_bucket{step="boot",le="1"} 2',
    'signalbox_wait_seconds_bucket{step="boot",le="10"} 3',
    'signalbox_wait_seconds_bucket{step="boot",le="+Inf"} 4',
    'signalbox_wait_seconds_sum{step="boot"} 106.5',
    'signalbox_wait_seconds_count{step="boot"} 4',
    '# HELP signalbox_running What runs',
    '# TYPE signalbox_running gauge',
    'signalbox_running 7',
    '',
  ])
})

test('a value that is not declared makes no series of its own', () => {
  const metrics = createMetrics()
  for (let n = 0; n < 1000; n += 1) metrics.add(ended, { result: `no space: ${n} bytes "left"\n` })
  expect(metrics.encode([]).split('\n').slice(2)).toEqual(['signalbox_ended_total{result="other"} 1000', ''])
})
