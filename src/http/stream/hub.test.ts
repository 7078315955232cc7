import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { noteChanges } from '../../platform/database/changes.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { createLog } from '../../platform/log.ts'
import { createWakes, publishWakes, runCollectingWakes } from '../../platform/database/wakes.ts'
import type { ChangeSource } from './channel.ts'
import { createHub, type Listener } from './hub.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const [ours, theirs] = ['00000000-0000-7000-8000-000000000001', '00000000-0000-7000-8000-000000000002']
const channel = { name: '/sites/1/devices', orgId: ours, kinds: ['device'] } as const

function setUp(source: Pick<ChangeSource, 'perRead'> = {}) {
  const wakes = createWakes()
  const clock: Clock = { now: () => new Date(Date.now()) }
  const reads: string[][] = []
  // A hub needs no more of the context.
  const ctx = { wakes, clock, log: createLog('silent') } as unknown as Context
  const hub = createHub(ctx, [
    {
      ...source,
      kind: 'device',
      read(_ctx, _scope, ids) {
        reads.push([...ids])
        return ids.map((id) => ({ channels: [channel.name], data: { id } }))
      },
    },
  ])
  const heard: string[] = []
  const listener: Listener = {
    onMessage: (_name, { text }) => heard.push(text.toString('utf8')),
    onMissed: () => heard.push('missed'),
  }
  const change = (id: string, orgId = ours, kind = 'device'): void => wakes.wake('changes', [`${kind} ${orgId} ${id}`])
  return { hub, reads, heard, listener, change, wakes, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) }
}

it('reads nothing for channels without subscribers, however many changes there are', async () => {
  const { hub, reads, listener, change, pass } = setUp()
  for (let count = 0; count < 1000; count += 1) change(String(count))
  await pass(1000)
  hub.subscribe(channel, listener, null)
  for (let count = 0; count < 1000; count += 1) {
    change(String(count), theirs)
    change(String(count), ours, 'alarm')
  }
  await pass(1000)
  expect(reads).toEqual([])
  await hub.stop()
})

it('reads changes of a tenth of a second once, for all who hear the channel', async () => {
  const { hub, reads, heard, listener, change, pass } = setUp()
  for (const one of [listener, { ...listener }, { ...listener }]) hub.subscribe(channel, one, null)
  for (const id of ['1', '2', '1', '1']) change(id)
  await pass(150)
  expect(reads).toEqual([['1', '2']])
  expect(heard).toHaveLength(6)
  await hub.stop()
})

it('reads as many changes at once as their source can present', async () => {
  const { hub, reads, listener, change, pass } = setUp({ perRead: 2 })
  hub.subscribe(channel, listener, null)
  for (const id of ['1', '2', '3']) change(id)
  await pass(150)
  expect(reads).toEqual([['1', '2'], ['3']])
  await hub.stop()
})

it('reads a part of each organization in turn', async () => {
  const { hub, reads, listener, change, pass } = setUp({ perRead: 1 })
  hub.subscribe(channel, listener, null)
  hub.subscribe({ ...channel, name: '/sites/2/devices', orgId: theirs }, listener, null)
  for (const id of ['1', '2', '3']) change(id)
  change('4', theirs)
  await pass(150)
  expect(reads).toEqual([['1'], ['4'], ['2'], ['3']])
  await hub.stop()
})

it('lets connections write between the messages of one read', async () => {
  const { hub, heard, listener, change, pass } = setUp()
  const written: number[] = []
  const write = () => {
    written.push(heard.length)
    if (heard.length < 120) setImmediate(write)
  }
  hub.subscribe(
    channel,
    {
      ...listener,
      onMessage: (...message) => {
        if (heard.length === 0) setImmediate(write)
        listener.onMessage(...message)
      },
    },
    null,
  )
  for (let count = 0; count < 120; count += 1) change(String(count))
  await pass(150)
  expect(written).toEqual([50, 100, 120])
  await hub.stop()
})

it('stops reading a minute after the last listener has gone, and not before', async () => {
  const { hub, reads, heard, listener, change, pass } = setUp()
  const { seq } = hub.subscribe(channel, listener, null)
  hub.unsubscribe(channel.name, listener)
  change('1')
  await pass(30_000)
  expect(reads).toHaveLength(1)
  // One who comes back within the minute has missed nothing.
  expect(hub.subscribe(channel, listener, seq).missed?.map(({ text }) => JSON.parse(text.toString()).data)).toEqual([
    { id: '1' },
  ])
  hub.unsubscribe(channel.name, listener)
  await pass(61_000)
  change('2')
  await pass(1000)
  change('3')
  await pass(1000)
  expect(reads.length).toBeLessThanOrEqual(2)
  expect(heard).toEqual([])
  await hub.stop()
})

it('makes listeners read again if more changes wait than are kept', async () => {
  const { hub, reads, heard, listener, change, pass } = setUp()
  hub.subscribe(channel, listener, null)
  for (let count = 0; count <= 20_000; count += 1) change(String(count))
  expect(heard).toEqual(['missed'])
  await pass(1000)
  expect(reads).toEqual([])
  await hub.stop()
})

it('makes listeners read again after a commit that changes more than it names', async () => {
  const { hub, reads, heard, listener, change, pass, wakes } = setUp()
  hub.subscribe(channel, listener, null)
  change('1')
  const { wakes: collected } = await runCollectingWakes(async (collect) => {
    const tx = {}
    collect(tx)
    const objects = Array.from({ length: 1000 }, (_, index) => ({ orgId: ours, id: String(index) }))
    for (let part = 0; part < 21; part += 1) noteChanges(tx, 'device', objects)
  })
  publishWakes(wakes, collected)
  expect(heard).toEqual(['missed'])
  await pass(1000)
  expect(reads).toEqual([])
  await hub.stop()
})

it('names each of fewer changes', async () => {
  const { hub, reads, listener, pass, wakes } = setUp()
  hub.subscribe(channel, listener, null)
  const { wakes: collected } = await runCollectingWakes(async (collect) => {
    const tx = {}
    collect(tx)
    noteChanges(tx, 'device', [{ orgId: ours, id: '1' }])
    noteChanges(tx, 'device', [{ orgId: ours, id: '2' }])
  })
  publishWakes(wakes, collected)
  await pass(1000)
  expect(reads).toEqual([['1', '2']])
  await hub.stop()
})
