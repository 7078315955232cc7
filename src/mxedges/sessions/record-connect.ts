import { systemScope } from '../../access/scope.ts'
import { skipLockedRows } from '../../devices/sessions/skip-locked.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import type { Context } from '../../platform/context.ts'
import type { Tx } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { markMxedgeCommandsLost, requeueForgotten } from '../commands/store.ts'
import { queueConfiguration } from '../commands/queue-configuration.ts'
import { type Mxedge, mxedgeOfEvent } from '../mxedge.ts'
import type { AgentIdentity } from '../registration/identity.ts'
import { recordRenewed } from '../registration/renew-certificate.ts'
import { appendServiceChanges } from './append-service-changes.ts'
import { listServiceChanges } from './decide-service-changes.ts'
import type { MxedgeFacts, MxedgeReport } from './facts.ts'
import {
  type MxedgeSession,
  type MxedgeSessionKey,
  listSessions,
  lockConnecting,
  lockFreeMxedges,
  openSession,
} from './store.ts'

/** A connecting agent, with the identity in its certificate. */
export interface MxedgeOpening extends AgentIdentity {
  /** SHA-256 of the key of the certificate, in hex. */
  readonly keySha256: string
  readonly certificateExpiresAt: Date
  readonly facts: MxedgeFacts
  readonly report: MxedgeReport
}

/** Each appliance of a batch is in one of these, or its registration no longer counts. */
export interface RecordedMxedges {
  readonly opened: readonly MxedgeSessionKey[]
  /** The ids of appliances that another transaction has locked. Nothing is recorded of them. */
  readonly lockedIds: ReadonlySet<string>
}

/**
 * Opens the sessions of agents that connected at about the same time, in one transaction. It locks the appliances, as
 * the restart of a registration does: an appliance that was replaced never gets a session, even if it connects first.
 * Appliances that another transaction has locked are left out.
 * @param openings Distinct appliances.
 * @param isRepeated True if one of them was locked before.
 */
export async function recordMxedgeConnects(
  ctx: Context,
  nodeId: string,
  { openings, isRepeated }: { readonly openings: readonly MxedgeOpening[]; readonly isRepeated: boolean },
): Promise<RecordedMxedges> {
  const [at, atMs] = [ctx.clock.now(), ctx.serviceClock.nowMs()]
  const ids = openings.map(({ mxedgeId }) => mxedgeId)
  const batch = { ids, isRepeated, lockFree: lockFreeMxedges }
  const { done, lockedIds } = await skipLockedRows(ctx, batch, async (tx, locked) => {
    const free = openings.filter(({ mxedgeId }) => !locked.has(mxedgeId))
    const mxedges = await lockConnecting(
      tx,
      free.map(({ mxedgeId }) => mxedgeId),
    )
    const byId = new Map(mxedges.map((mxedge) => [mxedge.id, mxedge]))
    const opened: MxedgeSessionKey[] = []
    for (const opening of free) {
      const { mxedgeId } = opening
      const mxedge = byId.get(mxedgeId)
      if (isRegistered(mxedge, opening))
        opened.push({ mxedgeId, epoch: await open(tx, mxedge, { opening, nodeId, at, atMs }) })
    }
    wakeAfterCommit(tx, 'mxedges')
    return opened
  })
  return { opened: done ?? [], lockedIds }
}

function isRegistered(mxedge: Mxedge | undefined, opening: MxedgeOpening): mxedge is Mxedge {
  return (
    mxedge !== undefined &&
    mxedge.registrationEpoch === opening.registrationEpoch &&
    (mxedge.registeredKey === opening.keySha256 || mxedge.renewalKey === opening.keySha256)
  )
}

interface Opening {
  readonly opening: MxedgeOpening
  readonly nodeId: string
  readonly at: Date
  readonly atMs: number
}

async function open(tx: Tx, mxedge: Mxedge, { opening, nodeId, at, atMs }: Opening): Promise<string> {
  const { facts, report, keySha256, certificateExpiresAt } = opening
  const scope = systemScope('gateway', mxedge.orgId)
  const [before] = await listSessions(tx, scope, [mxedge.id])
  const session = { mxedgeId: mxedge.id, nodeId, facts, report, certificateExpiresAt, at, atMs }
  const epoch = await openSession(tx, scope, session)
  await markMxedgeCommandsLost(tx, [{ mxedgeId: mxedge.id, epoch }], { at, why: 'connection_lost' })
  if (facts.commands !== undefined) await requeueForgotten(tx, scope, { mxedge, knownIds: facts.commands, at })
  await queueConfiguration(tx, scope, { mxedge, appliedSha256: facts.config_sha256, at })
  await appendMxedgeEvents(tx, scope, eventsOf(mxedge, before, facts), at)
  if (before !== undefined) {
    const changes = listServiceChanges(before.report?.services ?? [], report.services)
    await appendServiceChanges(tx, scope, mxedge, { changes, since: before.lastSeenAt, at })
  }
  // The former key stops counting at the first use of the new one.
  if (keySha256 === mxedge.renewalKey) await recordRenewed(tx, mxedge, { keySha256, at })
  return epoch
}

function eventsOf(mxedge: Mxedge, before: MxedgeSession | undefined, { boot_id: bootId }: MxedgeFacts) {
  const events: MxedgeEventInput[] = []
  if (before !== undefined && before.facts.boot_id !== bootId)
    events.push({ mxedge: mxedgeOfEvent(mxedge), type: 'ME_RESTARTED' })
  if (before?.connected !== true) events.push({ mxedge: mxedgeOfEvent(mxedge), type: 'ME_CONNECTED' })
  return events
}
