import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { createWakes } from '../../platform/database/wakes.ts'
import type { RowOfCommand } from '../commands/command-rows.ts'
import { type Link, NO_EPOCH } from './device-link.ts'
import { startSide } from './link-side.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** So many that their ends are spaced. */
const MANY = 100

class TestLink implements Link {
  readonly deviceId: string
  epoch: string = NO_EPOCH
  isClosed = false

  constructor(deviceId: string) {
    this.deviceId = deviceId
  }
  close(): void {
    this.isClosed = true
  }
}

/** A side whose rows are in memory, with what was written of ended commands and sessions. */
function start() {
  const written: string[] = []
  /** The ids of commands that another transaction has locked. */
  const locked = new Set<string>()
  let queued: RowOfCommand[] = []
  const parts = {
    log: pino({ level: 'silent' }),
    wakes: createWakes(),
    clock: systemClock,
    serviceClock: { nowMs: () => 0 },
  }
  const side = startSide<TestLink, null, RowOfCommand, null>(parts as unknown as Context, {
    name: 'test',
    sessions: {
      open: async () => ({ kind: 'opened', epoch: '1' }),
      async close(keys) {
        written.push(...keys.map(({ deviceId }) => `session of ${deviceId}`))
        return new Set()
      },
      stop: async () => undefined,
    },
    commands: {
      wake: 'commands',
      claim: async () => queued.splice(0),
      async finish(finished) {
        written.push(...finished.map(({ id }) => `command of ${id}`))
        return new Set()
      },
      async advance(advanced) {
        const free = advanced.filter(({ id }) => !locked.has(id))
        written.push(...free.map(({ id }) => `step of ${id}`))
        return locked
      },
      async requeue(commands) {
        const free = commands.filter(({ id }) => !locked.has(id))
        written.push(...free.map(({ id }) => `return of ${id}`))
        return locked
      },
      listUnanswered: async () => [],
      send: () => ({ kind: 'sent', timeoutMs: 60_000 }),
      sentOf: () => null,
    },
    tickMs: 1000,
    batchSize: 200,
    now: () => performance.now(),
  })
  async function connect(deviceId: string): Promise<TestLink> {
    const link = new TestLink(deviceId)
    await side.host.connect(link, null)
    return link
  }
  return {
    side,
    written,
    locked,
    connect,
    /** Sends a command to each device, whose id the command has too. */
    command: async (links: readonly Pick<TestLink, 'deviceId' | 'epoch'>[]) => {
      queued = links.map(({ deviceId, epoch }) => ({ orgId: 'org', id: deviceId, deviceId, epoch, callId: 1 }))
      side.dispatcher.kick()
      await vi.advanceTimersByTimeAsync(1)
    },
    reply: (link: TestLink) => side.host.onReply(link, 1, () => ({ kind: 'done', text: null })),
    advance: (link: TestLink) => side.host.onProgress(link, 1, { progress: { step: 'reboot' }, timeoutMs: 60_000 }),
    end: (link: TestLink) => {
      link.close()
      side.host.onClosed(link)
    },
  }
}

test('writes what has ended for a device at once when the device is back, and spaces it otherwise', async () => {
  const { side, written, connect, command, reply, end } = start()
  const links = await Promise.all(Array.from({ length: MANY }, (_, index) => connect(`d${index}`)))
  const [first, second, third] = await Promise.all([connect('first'), connect('second'), connect('third')])
  await command([...links, first, second, third])
  for (const link of links) await reply(link)
  for (const link of links) end(link)
  await vi.advanceTimersByTimeAsync(1)
  expect(written).toHaveLength(2 * MANY)
  written.length = 0
  await reply(first)
  end(second)
  await vi.advanceTimersByTimeAsync(5)
  expect(written).toEqual([])
  await connect('first')
  await vi.advanceTimersByTimeAsync(1)
  expect(written).toEqual(['command of first'])
  await connect('second')
  await vi.advanceTimersByTimeAsync(1)
  expect(written).toEqual(['command of first', 'session of second'])
  await reply(third)
  await vi.advanceTimersByTimeAsync(1)
  expect(written).not.toContain('command of third')
  await vi.advanceTimersByTimeAsync(151)
  expect(written).toContain('command of third')
  await side.stop()
})

test('writes the step of a locked command before the end of the command and of its session', async () => {
  const { side, written, locked, connect, command, advance, reply, end } = start()
  const [replies, leaves, other] = [await connect('replies'), await connect('leaves'), await connect('other')]
  await command([replies, leaves, other])
  locked.add('replies').add('leaves')
  for (const link of [replies, leaves, other]) void advance(link)
  await reply(replies)
  end(leaves)
  end(other)
  await vi.advanceTimersByTimeAsync(1000)
  expect(written).toEqual(['step of other', 'session of other'])
  written.length = 0
  locked.clear()
  await vi.advanceTimersByTimeAsync(1000)
  expect(written.filter((one) => one.endsWith('replies'))).toEqual(['step of replies', 'command of replies'])
  expect(written.filter((one) => one.endsWith('leaves'))).toEqual(['step of leaves', 'session of leaves'])
  await side.stop()
})

test('writes the return of a locked command that was not sent before the end of its session', async () => {
  const { side, written, locked, connect, command, end } = start()
  const [returns, other] = [await connect('returns'), await connect('other')]
  locked.add('returns')
  await command([{ deviceId: 'returns', epoch: 'another' }])
  await vi.advanceTimersByTimeAsync(1000)
  end(returns)
  end(other)
  await vi.advanceTimersByTimeAsync(20)
  locked.clear()
  await vi.advanceTimersByTimeAsync(1000)
  expect(written).toEqual(['session of other', 'return of returns', 'session of returns'])
  await side.stop()
})
