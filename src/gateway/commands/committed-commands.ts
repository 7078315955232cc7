import type { Context } from '../../platform/context.ts'
import { visitAll } from '../admission/visit-all.ts'
import type { CommittedCommands, RowOfCommand } from './command-rows.ts'

interface CommittedOptions<C> {
  readonly committed: CommittedCommands<C>
  /** True while a command of the device is in flight, or its outcome is not written. */
  readonly isBusy: (deviceId: string) => boolean
  readonly send: (command: C) => void
  /** Queues a command that was not sent. */
  readonly requeue: (command: C) => void
}

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
  { committed, isBusy, send, requeue }: CommittedOptions<C>,
): CommittedSender {
  /** Ids of devices that may have a command which nobody has sent. */
  const announced = new Set<string>()
  let sending = Promise.resolve()
  let isStopped = false

  async function sendAll(found: readonly C[]): Promise<void> {
    if (found.length === 0) return
    try {
      const commands = await committed.complete(found)
      await visitAll(commands, (command) => (isStopped ? requeue(command) : send(command)))
    } catch (error) {
      ctx.log.warn({ err: error, commands: found.length }, 'committed commands could not be sent; they are queued')
      for (const command of found) requeue(command)
    }
  }

  function dropBusy(): void {
    // A busy device has been sent its command, and has no other one.
    for (const id of announced) if (isBusy(id)) announced.delete(id)
  }

  async function lookUp(): Promise<void> {
    dropBusy()
    if (announced.size === 0 || isStopped) return
    const ids = [...announced]
    const found = await committed.list(ids)
    dropBusy()
    const unsent = found.filter(({ deviceId }) => announced.has(deviceId))
    for (const id of ids) announced.delete(id)
    await sendAll(unsent)
  }

  const unsubscribe = ctx.wakes.on(committed.wake, (ids, rows) => {
    const commands = committed.commandsOf(rows)
    const known = new Set(commands.map(({ deviceId }) => deviceId))
    for (const id of ids) if (!known.has(id)) announced.add(id)
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
