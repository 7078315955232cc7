import type { Context } from '../../platform/context.ts'
import { visitAll } from '../admission/visit-all.ts'
import type { CommittedCommands, RowOfCommand } from './command-rows.ts'

interface CommittedOptions<C> {
  readonly committed: CommittedCommands<C>
  /** Monotonic milliseconds. */
  readonly now: () => number
  /** True while a command of the device is in flight, its outcome is not written, or it is being returned to the queue. */
  readonly isBusy: (deviceId: string) => boolean
  /** It must not throw. */
  readonly send: (command: C) => void
  /** Queues a command that was not sent. */
  readonly requeue: (command: C) => void
}

/** A commit whose connection broke may still take this long. */
const COMMIT_WITHIN_MS = 10_000

/** Sends the commands that another thread commits as sent. */
export interface CommittedSender {
  /** Looks up the commands that a wake has announced without their rows. */
  lookUp(): Promise<void>
  /** Queues later commands. Resolves when no more are sent. */
  stopSending(): Promise<void>
  stop(): Promise<void>
}

export function startCommittedSender<C extends RowOfCommand>(
  ctx: Context,
  { committed, now, isBusy, send, requeue }: CommittedOptions<C>,
): CommittedSender {
  /** Until when devices are looked up, by their ids: they may have a command which nobody has sent. */
  const announced = new Map<string, number>()
  let sending = Promise.resolve()
  let isStopped = false

  async function complete(found: readonly C[]): Promise<readonly C[]> {
    try {
      return await committed.complete(found)
    } catch (error) {
      ctx.log.warn({ err: error, commands: found.length }, 'committed commands could not be sent; they are queued')
      for (const command of found) requeue(command)
      return []
    }
  }

  async function sendAll(found: readonly C[]): Promise<void> {
    if (found.length === 0) return
    await visitAll(await complete(found), (command) => (isStopped ? requeue(command) : send(command)))
  }

  function dropBusy(): void {
    // A busy device has been sent its command, and has no other one.
    for (const id of announced.keys()) if (isBusy(id)) announced.delete(id)
  }

  async function lookUp(): Promise<void> {
    dropBusy()
    if (announced.size === 0 || isStopped) return
    const startedMs = now()
    const found = await committed.list([...announced.keys()])
    dropBusy()
    const unsent = found.filter(({ deviceId }) => announced.delete(deviceId))
    for (const [id, untilMs] of announced) if (untilMs <= startedMs) announced.delete(id)
    await sendAll(unsent)
  }

  const unsubscribe = ctx.wakes.on(committed.wake, (ids, rows) => {
    const commands = committed.commandsOf(rows)
    const known = new Set(commands.map(({ deviceId }) => deviceId))
    for (const id of ids) {
      // A look-up at the same time would find the command that is about to be sent.
      if (known.has(id)) announced.delete(id)
      else announced.set(id, now() + COMMIT_WITHIN_MS)
    }
    const before = sending
    sending = sendAll(commands).then(() => before)
  })

  async function stopSending(): Promise<void> {
    isStopped = true
    await sending
  }

  return {
    lookUp,
    stopSending,
    async stop() {
      unsubscribe()
      await stopSending()
    },
  }
}
