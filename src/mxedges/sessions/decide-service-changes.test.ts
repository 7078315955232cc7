import { expect, test } from 'vitest'
import { decideUnexplained, listServiceChanges } from './decide-service-changes.ts'
import type { MxedgeService } from './facts.ts'

const service = (name: string, state: MxedgeService['state']): MxedgeService => ({ name, state, version: '1' })

test('lists services that are in another state than before', () => {
  const before = [service('mxagent', 'running'), service('tunterm', 'running'), service('old', 'running')]
  const after = [service('mxagent', 'running'), service('tunterm', 'failed'), service('new', 'stopped')]
  expect(listServiceChanges(before, after)).toEqual([{ service: 'tunterm', from: 'running', to: 'failed' }])
})

test.each([
  { to: 'stopped', commands: [], isReported: true },
  { to: 'stopped', commands: [{ service: 'tunterm', isDone: true }], isReported: false },
  { to: 'stopped', commands: [{ service: 'mxagent', isDone: true }], isReported: true },
  { to: 'running', commands: [{ service: null, isDone: false }], isReported: false },
  { to: 'failed', commands: [{ service: 'tunterm', isDone: false }], isReported: false },
  { to: 'failed', commands: [{ service: 'tunterm', isDone: true }], isReported: true },
] as const)('reports a change to $to beside $commands: $isReported', ({ to, commands, isReported }) => {
  const change = { service: 'tunterm', from: 'running', to } as const
  expect(decideUnexplained([change], commands)).toEqual(isReported ? [change] : [])
})
