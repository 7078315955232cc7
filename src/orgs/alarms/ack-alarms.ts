import type { SitesScope } from '../../access/scope.ts'
import { siteIdOf } from '../../access/scope.ts'
import { type ChosenAlarms, ackAlarms, findUnknownAlarm, unackAlarms } from '../../events/alarms/store.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx } from '../../platform/database/db.ts'
import { notFound } from '../../platform/errors.ts'

interface Acknowledgment {
  readonly chosen: ChosenAlarms
  /** The reason; the record in the audit log has it, too. */
  readonly note: string | undefined
}

/**
 * Acknowledges alarms. Those that are already acknowledged are left unchanged, unless they are named and `note` is given.
 * @throws AppError not_found for an alarm that the scope does not have.
 */
export function acknowledge(ctx: Context, scope: SitesScope, { chosen, note }: Acknowledgment): Promise<void> {
  const at = ctx.clock.now()
  return changeAlarms(ctx, scope, {
    at,
    chosen,
    note,
    change: (tx) => ackAlarms(tx, scope, { chosen, note: note ?? null, at }),
    verb: 'Acknowledge',
  })
}

/**
 * Withdraws the acknowledgments of alarms.
 * @throws AppError not_found for an alarm that the scope does not have.
 */
export function unacknowledge(ctx: Context, scope: SitesScope, { chosen, note }: Acknowledgment): Promise<void> {
  const at = ctx.clock.now()
  return changeAlarms(ctx, scope, {
    at,
    chosen,
    note,
    change: (tx) => unackAlarms(tx, scope, chosen, at),
    verb: 'Unacknowledge',
  })
}

interface AlarmChange extends Acknowledgment {
  readonly at: Date
  /** Returns how many alarms it changed. */
  readonly change: (tx: Tx) => Promise<number>
  readonly verb: string
}

async function changeAlarms(ctx: Context, scope: SitesScope, alarms: AlarmChange): Promise<void> {
  const { at, chosen, note, change, verb } = alarms
  await inTx(ctx, async (tx) => {
    const unknown = chosen === 'all' ? undefined : await findUnknownAlarm(tx, scope, chosen)
    if (unknown !== undefined) throw notFound(unknown)
    const changed = await change(tx)
    const message = `${verb} ${changed} ${changed === 1 ? 'Alarm' : 'Alarms'}`
    const after = note === undefined ? {} : { after: { note } }
    if (changed > 0) await appendAudit(tx, scope, { message, siteId: siteIdOf(scope), at, ...after })
  })
}
