import { systemScope } from '../../access/scope.ts'
import type { AdvancedCommand } from '../../devices/commands/store.ts'
import type { FinishedCommand } from '../../devices/commands/store-ended.ts'
import { skipLockedRows } from '../../devices/sessions/skip-locked.ts'
import { type MxedgeEventInput, type PackageUpdate, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import { noteChanges } from '../../platform/database/changes.ts'
import { addMs } from '../../platform/time/clock.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys } from '../../platform/database/db.ts'
import { type Mxedge, mxedgeOfEvent } from '../mxedge.ts'
import type { MxedgeOrder, ServiceUpgrade } from './command.ts'
import { LONGEST_SILENCE_MS } from './time-limits.ts'
import { expireCommands, timeOutCommands } from './store-expiry.ts'
import {
  type EndedCommand,
  type MxedgeCommandToSend,
  claimQueuedCommands,
  finishCommands,
  listMxedgesById,
  lockFreeCommands,
  requeueCommands,
  updateProgress,
} from './store.ts'

/**
 * Commits the intent to send before anything is sent, so that after a crash it is certain which commands may have run.
 */
export function recordMxedgeCommandsSent(ctx: Context, nodeId: string, limit: number): Promise<MxedgeCommandToSend[]> {
  return claimQueuedCommands(ctx.claimDb, nodeId, { at: ctx.clock.now(), limit })
}

/** Returns commands to the queue that were not sent, as recordMxedgeOutcomes() records outcomes. */
export function recordMxedgeCommandsUnsent(
  ctx: Context,
  commands: readonly Pick<MxedgeCommandToSend, 'orgId' | 'id' | 'epoch'>[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  return changeUnlocked(ctx, { commands, isRepeated }, requeueCommands)
}

/**
 * Records how commands ended, with their events, in one transaction, except those that another transaction has locked;
 * stale outcomes are ignored.
 * @param isRepeated True if one of them was locked before.
 * @returns The ids of the locked commands.
 */
export function recordMxedgeOutcomes(
  ctx: Context,
  finished: readonly FinishedCommand[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const at = ctx.clock.now()
  return changeUnlocked(ctx, { commands: finished, isRepeated }, async (tx, free) => {
    await appendEnds(tx, await finishCommands(tx, free, at), at)
  })
}

/** Records the steps that commands have reached, as recordMxedgeOutcomes() records outcomes. */
export function recordMxedgeProgress(
  ctx: Context,
  advanced: readonly AdvancedCommand[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const at = ctx.clock.now()
  return changeUnlocked(ctx, { commands: advanced, isRepeated }, (tx, free) => updateProgress(tx, free, at))
}

async function changeUnlocked<C extends { readonly orgId: string; readonly id: string }>(
  ctx: Context,
  { commands, isRepeated }: { readonly commands: readonly C[]; readonly isRepeated: boolean },
  change: (tx: Tx, free: readonly C[]) => Promise<void>,
): Promise<ReadonlySet<string>> {
  const orgIds = [...new Set(commands.map(({ orgId }) => orgId))]
  const ids = [...new Set(commands.map(({ id }) => id))]
  const lockFree = (tx: Tx) => lockFreeCommands(tx, { orgIds, ids })
  const { lockedIds } = await skipLockedRows(ctx, { ids, isRepeated, lockFree }, (tx, locked) =>
    change(
      tx,
      commands.filter(({ id }) => !locked.has(id)),
    ),
  )
  return lockedIds
}

/** Ends commands that were never sent in time, and commands that a failing process sent and then forgot. */
export async function sweepMxedgeCommands(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  await inTxByKeys(ctx, async (tx) => {
    await appendEnds(tx, await expireCommands(tx, at), at)
    await timeOutCommands(tx, addMs(at, -LONGEST_SILENCE_MS), at)
  })
}

/** Locks no appliance: a connect locks it before its commands, which are locked here. */
async function appendEnds(tx: Tx, ended: readonly EndedCommand[], at: Date): Promise<void> {
  const ids = ended.map(({ mxedgeId }) => mxedgeId)
  noteChanges(
    tx,
    'mxedge_stats',
    ended.map(({ orgId, mxedgeId: id }) => ({ orgId, id })),
  )
  const mxedges = new Map((await listMxedgesById(tx, ids)).map((mxedge) => [mxedge.id, mxedge]))
  for (const [orgId, some] of Map.groupBy(ended, (command) => command.orgId)) {
    const events = some.flatMap((command) => {
      const mxedge = mxedges.get(command.mxedgeId)
      return mxedge === undefined ? [] : eventOf(mxedge, command)
    })
    await appendMxedgeEvents(tx, systemScope('gateway', orgId), events, at)
  }
}

const done = { start: 'ME_SERVICE_STARTED', stop: 'ME_SERVICE_STOPPED', restart: 'ME_SERVICE_RESTARTED' } as const

/** An unknown outcome has no event: the agent answers after it has reconnected. */
function eventOf(mxedge: Mxedge, command: EndedCommand): MxedgeEventInput[] {
  const event = {
    mxedge: mxedgeOfEvent(mxedge),
    ...(command.kind === 'service' && { service: command.params.service }),
    ...(command.kind === 'bounce_port' && { component: command.params.ports.map((port) => `port ${port}`).join(', ') }),
    ...((command.kind === 'upgrade_service' || command.kind === 'stage_package') && {
      update: updateOf(command.params),
    }),
  }
  switch (command.state) {
    case 'done':
      return [{ ...event, type: doneEvent(command) }]
    case 'rejected':
      return [{ ...event, type: failureEvent(command), text: String(command.outcome?.['text']) }]
    case 'expired':
      return [{ ...event, type: failureEvent(command), text: 'The command could not be sent in time' }]
    case 'unknown':
    case 'queued':
    case 'sent':
    case 'cancelled':
      return []
  }
}

function doneEvent(order: MxedgeOrder): MxedgeEventInput['type'] {
  switch (order.kind) {
    case 'service':
      return done[order.params.action]
    case 'bounce_port':
      return 'ME_PORTS_BOUNCED'
    case 'disconnect_aps':
      return 'ME_APS_DISCONNECTED'
    case 'configure':
      return 'ME_CONFIGURED'
    case 'stage_package':
      return 'ME_PACKAGE_DOWNLOADED'
    case 'upgrade_service':
      return 'ME_PACKAGE_UPDATED'
    case 'stage_distro':
      return 'ME_DISTRO_DOWNLOADED'
    case 'upgrade_distro':
      return 'ME_DISTRO_UPGRADED'
    case 'support':
      return 'ME_SUPPORT_FILES_UPLOADED'
  }
}

function failureEvent({ kind }: MxedgeOrder): MxedgeEventInput['type'] {
  switch (kind) {
    case 'service':
      return 'ME_SERVICE_FAILED'
    case 'stage_package':
    case 'upgrade_service':
      return 'ME_PACKAGE_UPDATE_FAILED'
    case 'stage_distro':
    case 'upgrade_distro':
      return 'ME_DISTRO_UPGRADE_FAILED'
    case 'bounce_port':
    case 'disconnect_aps':
    case 'configure':
    case 'support':
      return 'ME_COMMAND_FAILED'
  }
}

function updateOf({ service, version, from_version: from }: ServiceUpgrade): PackageUpdate {
  return { package: service, from, to: version }
}
