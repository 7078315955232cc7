import { recordCommandsUnsent, recordUnlockedOutcomes } from '../../../src/devices/commands/record-commands.ts'
import type { CommandToSend } from '../../../src/devices/commands/store.ts'
import type { FinishedCommand } from '../../../src/devices/commands/store-ended.ts'
import { recordDisconnects } from '../../../src/devices/sessions/record-disconnect.ts'
import type { SessionKey } from '../../../src/devices/sessions/store.ts'
import { type SessionReport, recordUnlockedReports } from '../../../src/devices/stats/record-report.ts'
import type { Context } from '../../../src/platform/context.ts'
import { waitUntil } from '../wait-until.ts'

/** Records how commands ended, as the gateway does: those that another transaction has locked are recorded after it. */
export function recordOutcomes(ctx: Context, finished: readonly FinishedCommand[]): Promise<unknown> {
  return untilNoneLocked((isRepeated) => recordUnlockedOutcomes(ctx, finished, isRepeated))
}

/** Records that connections were closed, in the same way. */
export function recordEnds(ctx: Context, keys: readonly SessionKey[]): Promise<unknown> {
  return untilNoneLocked((isRepeated) => recordDisconnects(ctx, keys, isRepeated))
}

/** Records that commands were not sent, in the same way. */
export function recordUnsent(ctx: Context, commands: readonly CommandToSend[]): Promise<unknown> {
  return untilNoneLocked((isRepeated) => recordCommandsUnsent(ctx, commands, isRepeated))
}

/** Records what devices report, in the same way. */
export function recordReports(ctx: Context, reports: readonly SessionReport[]): Promise<unknown> {
  return untilNoneLocked((isRepeated) => recordUnlockedReports(ctx, reports, isRepeated))
}

/** @param record Returns the ids of locked rows, of which it has recorded nothing. What is recorded already, it ignores. */
function untilNoneLocked(record: (isRepeated: boolean) => Promise<ReadonlySet<string>>): Promise<unknown> {
  let isRepeated = false
  return waitUntil('rows that nobody has locked', async () => {
    const locked = await record(isRepeated)
    isRepeated = true
    return locked.size === 0
  })
}
