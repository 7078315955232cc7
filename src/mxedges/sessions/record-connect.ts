import { systemScope } from '../../access/scope.ts'
import { type MxedgeEventInput, appendMxedgeEvents } from '../../events/append-mxedge.ts'
import type { Context } from '../../platform/context.ts'
import { type Tx, inTxByKeys } from '../../platform/database/db.ts'
import { wakeAfterCommit } from '../../platform/database/wakes.ts'
import { markMxedgeCommandsLost } from '../commands/store.ts'
import { queueConfiguration } from '../commands/queue-configuration.ts'
import { type Mxedge, mxedgeOfEvent } from '../mxedge.ts'
import type { AgentIdentity } from '../registration/identity.ts'
import { recordRenewed } from '../registration/renew-certificate.ts'
import { appendServiceChanges } from './append-service-changes.ts'
import { listServiceChanges } from './decide-service-changes.ts'
import type { MxedgeFacts, MxedgeReport } from './facts.ts'
import { type MxedgeSession, listSessions, lockConnecting, openSession } from './store.ts'

/** A connecting agent, with the identity in its certificate. */
export interface MxedgeOpening extends AgentIdentity {
  /** SHA-256 of the key of the certificate, in hex. */
  readonly keySha256: string
  readonly certificateExpiresAt: Date
  readonly facts: MxedgeFacts
  readonly report: MxedgeReport
}

/** @returns The epoch of the session; null if the registration no longer counts. */
export interface OpenedMxedge {
  readonly mxedgeId: string
  readonly epoch: string | null
}

/**
 * Opens the sessions of agents that connected at about the same time, in one transaction. It locks the appliances, as
 * the restart of a registration does: an appliance that was replaced never gets a session, even if it connects first.
 * @param openings Distinct appliances.
 */
export function recordMxedgeConnects(
  ctx: Context,
  nodeId: string,
  openings: readonly MxedgeOpening[],
): Promise<OpenedMxedge[]> {
  const at = ctx.clock.now()
  return inTxByKeys(ctx, async (tx) => {
    const mxedges = await lockConnecting(
      tx,
      openings.map(({ mxedgeId }) => mxedgeId),
    )
    const byId = new Map(mxedges.map((mxedge) => [mxedge.id, mxedge]))
    const opened: OpenedMxedge[] = []
    for (const opening of openings) {
      const mxedge = byId.get(opening.mxedgeId)
      const epoch = isRegistered(mxedge, opening) ? await open(tx, mxedge, { opening, nodeId, at }) : null
      opened.push({ mxedgeId: opening.mxedgeId, epoch })
    }
    wakeAfterCommit(tx, 'mxedges')
    return opened
  })
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
}

async function open(tx: Tx, mxedge: Mxedge, { opening, nodeId, at }: Opening): Promise<string> {
  const { facts, report, keySha256, certificateExpiresAt } = opening
  const scope = systemScope('gateway', mxedge.orgId)
  const [before] = await listSessions(tx, scope, [mxedge.id])
  const epoch = await openSession(tx, scope, { mxedgeId: mxedge.id, nodeId, facts, report, certificateExpiresAt, at })
  await markMxedgeCommandsLost(tx, [{ mxedgeId: mxedge.id, epoch }], { at, why: 'connection_lost' })
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
