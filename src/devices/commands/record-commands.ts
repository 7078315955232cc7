import type { Context } from '../../platform/context.ts'
import { inTx } from '../../platform/db.ts'
import {
  type CommandToSend,
  type FinishedCommand,
  claimQueuedCommands,
  expireCommands,
  finishCommands,
  requeueCommands,
  timeOutCommands,
} from './store.ts'

/** Writes how commands ended, in one transaction; stale outcomes write nothing. */
export async function recordCommandOutcomes(ctx: Context, finished: readonly FinishedCommand[]): Promise<void> {
  await inTx(ctx, (tx) => finishCommands(tx, finished, ctx.clock.now()))
}

/** Commits the intent to send before anything is sent: after a crash it is known what may have run. */
export function recordCommandsSent(ctx: Context, nodeId: string, limit: number): Promise<CommandToSend[]> {
  return inTx(ctx, (tx) =>
    claimQueuedCommands(tx, nodeId, { at: ctx.clock.now(), atMs: ctx.serviceClock.nowMs(), limit }),
  )
}

export async function recordCommandsUnsent(
  ctx: Context,
  commands: readonly Pick<CommandToSend, 'id' | 'epoch'>[],
): Promise<void> {
  await inTx(ctx, (tx) => requeueCommands(tx, commands))
}

/** The longest that a device may take, and then some. */
const FORGOTTEN_AFTER_MS = 2_000_000

/** Ends the commands that were never sent in time, and those that were sent and then forgotten by a failing process. */
export async function sweepCommands(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  await inTx(ctx, async (tx) => {
    await expireCommands(tx, at)
    await timeOutCommands(tx, ctx.serviceClock.nowMs() - FORGOTTEN_AFTER_MS, at)
  })
}
