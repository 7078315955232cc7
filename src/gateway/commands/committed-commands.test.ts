import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Context } from '../../platform/context.ts'
import { createWakes } from '../../platform/database/wakes.ts'
import type { RowOfCommand } from './command-rows.ts'
import { startCommittedSender } from './committed-commands.ts'

const commandOf = (deviceId: string): RowOfCommand => ({
  orgId: 'o',
  id: `of-${deviceId}`,
  deviceId,
  epoch: '1',
  callId: 1,
})
const [first, second] = [commandOf('a'), commandOf('b')] as const
const settle = () => new Promise((resolve) => setImmediate(resolve))

function start() {
  const wakes = createWakes()
  const sent: RowOfCommand[] = []
  const requeued: RowOfCommand[] = []
  const lists: (readonly string[])[] = []
  const completed = { until: Promise.resolve() }
  const rows = { found: [] as readonly RowOfCommand[] }
  let nowMs = 0
  const sender = startCommittedSender<RowOfCommand>({ wakes, log: pino({ level: 'silent' }) } as unknown as Context, {
    committed: {
      wake: 'sent_commands',
      commandsOf: (woken) => woken as readonly RowOfCommand[],
      complete: (commands) => completed.until.then(() => commands),
      async list(deviceIds) {
        lists.push(deviceIds)
        return rows.found
      },
    },
    now: () => nowMs,
    isBusy: (deviceId) => sent.some((command) => command.deviceId === deviceId),
    send: (command) => void sent.push(command),
    requeue: (command) => void requeued.push(command),
  })
  return { wakes, sender, sent, requeued, lists, completed, rows, advance: (ms: number) => (nowMs += ms) }
}

test('a command that a look-up could find as well is sent once, and not returned to the queue', async () => {
  const { wakes, sender, sent, requeued, completed, rows } = start()
  const until = Promise.withResolvers<void>()
  completed.until = until.promise
  wakes.wake('sent_commands', ['a'])
  wakes.wake('sent_commands', ['a'], [first])
  rows.found = [first]
  const looked = sender.lookUp()
  until.resolve()
  await looked
  await settle()
  expect(sent).toEqual([first])
  expect(requeued).toEqual([])
})

test('a command is found if its commit takes longer than the first look-up, and looked for no longer than 10 s', async () => {
  const { wakes, sender, sent, lists, rows, advance } = start()
  wakes.wake('sent_commands', ['a', 'b'])
  await sender.lookUp()
  advance(9000)
  rows.found = [first]
  await sender.lookUp()
  expect(sent).toEqual([first])
  rows.found = []
  advance(2000)
  await sender.lookUp()
  await sender.lookUp()
  expect(lists).toEqual([['a', 'b'], ['a', 'b'], ['b']])
})

test('later commands return to the queue once it stops', async () => {
  const { wakes, sender, sent, requeued } = start()
  await sender.stopSending()
  wakes.wake('sent_commands', ['a'], [first])
  await sender.stop()
  wakes.wake('sent_commands', ['b'], [second])
  await settle()
  expect(sent).toEqual([])
  expect(requeued).toEqual([first])
})
