import { systemScope } from '../../access/scope.ts'
import { appendAudit } from '../../events/append.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTx, inTxByKeys, inUnflushedTx } from '../../platform/database/db.ts'
import {
  type AdvancedCommand,
  type CommandToSend,
  claimQueuedCommands,
  lockFreeCommands,
  requeueCommands,
  updateCommandProgress,
} from './store.ts'
import { type FinishedCommand, finishCommands, timeOutCommands, timeOutUpgradeCommands } from './store-ended.ts'
import { deviceIdOf } from '../device.ts'
import type { CommandProgress } from '../tables.ts'
import { appendEndedCommands, appendFailedRestores } from './append-ended.ts'
import { type InTransaction, type RowsOfBatch, skipLockedRows } from '../sessions/skip-locked.ts'
import { expireCommands } from './store-expiry.ts'
import { type IdleDevice, lockFreeLostCommands, markCommandsIdle } from './store-lost.ts'

/**
 * Records how commands ended, in one transaction, except those that another transaction has locked; stale outcomes are
 * ignored.
 * @param isRepeated True if one of them was locked before.
 * @returns The ids of the locked commands.
 */
export async function recordUnlockedOutcomes(
  ctx: Context,
  finished: readonly FinishedCommand[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const { lockedIds } = await skipLockedRows(ctx, rowsOf(finished, isRepeated), async (tx, locked) => {
    const at = ctx.clock.now()
    const free = finished.filter(({ id }) => !locked.has(id))
    await appendEndedCommands(tx, await finishCommands(tx, free, at), at)
  })
  return lockedIds
}

function rowsOf(
  commands: readonly { readonly orgId: string; readonly id: string }[],
  isRepeated: boolean,
): RowsOfBatch {
  const orgIds = [...new Set(commands.map(({ orgId }) => orgId))]
  const ids = [...new Set(commands.map(({ id }) => id))]
  return { ids, isRepeated, lockFree: (tx) => lockFreeCommands(tx, { orgIds, ids }) }
}

/** Steps that a device may repeat. Nothing is decided by their record, which may therefore be lost. */
const repeatable: ReadonlySet<CommandProgress['step']> = new Set(['check', 'clean', 'download', 'verify', 'snapshot'])

function isRepeatable({ step }: CommandProgress): boolean {
  return repeatable.has(step)
}

/**
 * Records the steps that commands have reached; those of commands that have ended are ignored.
 * @param isRepeated As for recordUnlockedOutcomes().
 * @returns The ids of the locked commands.
 */
export async function recordCommandProgress(
  ctx: Context,
  advanced: readonly AdvancedCommand[],
  isRepeated = false,
): Promise<ReadonlySet<string>> {
  const inTransaction = advanced.every(({ progress }) => isRepeatable(progress)) ? inUnflushedTx : inTx
  const byKeys: InTransaction = ({ keyDb, wakes }, work) => inTransaction({ db: keyDb, wakes }, work)
  const batch = { ...rowsOf(advanced, isRepeated), inTransaction: byKeys }
  const { lockedIds } = await skipLockedRows(ctx, batch, (tx, locked) =>
    updateCommandProgress(
      tx,
      advanced.filter(({ id }) => !locked.has(id)),
    ),
  )
  return lockedIds
}

/** Commits the intent to send before anything is sent, so that after a crash it is certain which commands may have run. */
export function recordCommandsSent(
  ctx: Context,
  nodeId: string,
  wanted: { readonly limit: number; readonly rebooting: readonly string[] },
): Promise<CommandToSend[]> {
  const { claimDb, clock, serviceClock } = ctx
  return claimQueuedCommands(claimDb, nodeId, { at: clock.now(), atMs: serviceClock.nowMs(), ...wanted })
}

/**
 * Returns commands to the queue that were not sent, except those that another transaction has locked.
 * @param isRepeated As for recordUnlockedOutcomes().
 * @returns The ids of the locked commands.
 */
export async function recordCommandsUnsent(
  ctx: Context,
  commands: readonly Pick<CommandToSend, 'orgId' | 'id' | 'epoch'>[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const { lockedIds } = await skipLockedRows(ctx, rowsOf(commands, isRepeated), (tx, locked) =>
    requeueCommands(
      tx,
      commands.filter(({ id }) => !locked.has(id)),
    ),
  )
  return lockedIds
}

/**
 * Records that devices no longer execute the commands whose connections were lost, so that upgrades need not wait; except
 * devices with such commands that another transaction has locked.
 * @param isRepeated True if one of the devices was locked before.
 * @returns The ids of the locked devices.
 */
export async function recordIdleDevices(
  ctx: Context,
  devices: readonly IdleDevice[],
  isRepeated: boolean,
): Promise<ReadonlySet<string>> {
  const batch = { ids: devices.map(({ deviceId }) => deviceId), isRepeated, lockFree: lockFreeLostCommands }
  const { lockedIds } = await skipLockedRows(ctx, batch, (tx, locked) =>
    markCommandsIdle(
      tx,
      devices.filter(({ deviceId }) => !locked.has(deviceId)),
    ),
  )
  return lockedIds
}

/** Longer than any device may take for a command, or for one step of it. */
const FORGOTTEN_AFTER_MS = 3_700_000

/** Longer than a member of a Virtual Chassis or a node of a cluster takes to restart. */
const AWAY_MS = 30 * 60_000

/** Each expired command gets its own audit record; the next sweep continues. */
const EXPIRED_PER_SWEEP = 500

/** Ends commands of people that were never sent in time, or that a failing process sent and then forgot. */
export async function sweepCommands(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  await inTxByKeys(ctx, async (tx) => {
    await recordExpired(tx, at)
    const nowMs = ctx.serviceClock.nowMs()
    const limits = { sentBeforeMs: nowMs - FORGOTTEN_AFTER_MS, awayBeforeMs: nowMs - AWAY_MS }
    await appendEndedCommands(tx, await timeOutCommands(tx, limits, at), at)
    await appendFailedRestores(tx, nowMs, at)
  })
}

/**
 * Ends commands of upgrades that a failing process sent and then forgot. Until then, or until they connect again, their devices
 * get no further commands. Upgrades end their attempts without it.
 */
export async function sweepUpgradeCommands(ctx: Context): Promise<void> {
  const at = ctx.clock.now()
  const sentBeforeMs = ctx.serviceClock.nowMs() - FORGOTTEN_AFTER_MS
  await inTx(ctx, async (tx) => appendEndedCommands(tx, await timeOutUpgradeCommands(tx, sentBeforeMs, at), at))
}

/** The audit log and its webhook topic report to the requester that the command was never sent. */
async function recordExpired(tx: Tx, at: Date): Promise<void> {
  const commands = await expireCommands(tx, { at, limit: EXPIRED_PER_SWEEP })
  const outcome = { text: 'It could not be sent in time' }
  await appendEndedCommands(
    tx,
    commands.map(({ orgId, kind, params, mac }) => ({
      orgId,
      kind,
      params,
      deviceId: deviceIdOf(mac),
      state: 'expired',
      outcome,
    })),
    at,
  )
  for (const expired of commands) {
    const { orgId, kind, mac, name, siteId, createdAt, expiresAt } = expired
    const waitedS = Math.round((expiresAt.getTime() - createdAt.getTime()) / 1000)
    await appendAudit(tx, systemScope('gateway', orgId), {
      message: `The ${kind} of device ${name ?? mac} expired: it could not be sent within ${waitedS} s`,
      siteId,
      deviceId: deviceIdOf(mac),
      after: { mac },
      at,
    })
  }
}
