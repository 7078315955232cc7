import { supportUploadUrl } from '../../devices/support/file-url.ts'
import {
  recordMxedgeCommandsSent,
  recordMxedgeCommandsUnsent,
  recordMxedgeOutcomes,
  recordMxedgeProgress,
  sweepMxedgeCommands,
} from '../../mxedges/commands/record-commands.ts'
import { type MxedgeCommandToSend, listUnansweredCommands } from '../../mxedges/commands/store.ts'
import { type MxedgeOpening, recordMxedgeConnects } from '../../mxedges/sessions/record-connect.ts'
import {
  recordMxedgeDisconnects,
  recordMxedgeNodeLost,
  sweepLostMxedges,
} from '../../mxedges/sessions/record-disconnect.ts'
import { recordMxedgeReport } from '../../mxedges/sessions/record-report.ts'
import type { ReportedMxedge } from '../../mxedges/sessions/facts.ts'
import { type MxedgeSessionKey, listStaleSessions } from '../../mxedges/sessions/store.ts'
import type { Context } from '../../platform/context.ts'
import { lockedPauses } from '../../platform/queues/locked-pauses.ts'
import { pause } from '../../platform/time/pause.ts'
import { startPoller } from '../../platform/time/poller.ts'
import { splitByBytes } from '../../platform/database/split.ts'
import type { ApplianceHello, ApplianceLink, OrderAddresses } from './appliance-link.ts'
import { type WithImage, addImages, artifactOf } from '../commands/artifacts.ts'
import type { CommandRows } from '../commands/command-rows.ts'
import { createFailureLevel } from '../failure-level.ts'
import { linksOfStatement } from '../limits.ts'
import { type RunningSide, type SessionRows, startSide } from './link-side.ts'
import type { LinkRegistry } from './link-registry.ts'
import { gatherOpenings } from './openings.ts'
import type { ApplianceSide } from '../protocol.ts'

/** Agents resume a download that breaks, so a slow one may take hours. */
const URL_LIFE_MS = 6 * 3_600_000

export interface ApplianceOptions {
  readonly nodeId: string
  readonly tickMs: number
  readonly sweepMs: number
  readonly batchSize: number
  readonly now: () => number
}

/** The links of edge appliances. Their sessions and commands have their own rows; see decision 41. */
export interface Appliances extends Pick<
  RunningSide<ApplianceLink, ApplianceHello, MxedgeCommandToSend>,
  'dispatcher' | 'links' | 'prepareStop' | 'stop'
> {
  /** The interface for the protocols. */
  readonly host: ApplianceSide
}

export async function startAppliances(ctx: Context, options: ApplianceOptions): Promise<Appliances> {
  const { nodeId, sweepMs } = options
  await recordMxedgeNodeLost(ctx, nodeId)
  const stopping = new AbortController()
  const levelOf = createFailureLevel('warn')
  const side = startSide(ctx, {
    ...options,
    name: 'gateway-mxedge-commands',
    sessions: applianceSessions(ctx, options),
    commands: applianceCommands(ctx, nodeId),
  })
  const closer = startPoller({
    name: 'gateway-mxedges',
    ctx,
    wake: 'mxedge_registrations',
    intervalMs: sweepMs,
    async work() {
      await closeStaleLinks(ctx, side.links)
      return null
    },
  })
  return {
    ...side,
    host: {
      ...side.host,
      async connect(link, hello) {
        const result = await side.host.connect(link, hello)
        // The registration may have ended before the link could be found.
        closer.wake()
        return result
      },
      async report({ deviceId, epoch }, reported) {
        try {
          await recordReport(ctx, { mxedgeId: deviceId, epoch }, { ...reported, stopping: stopping.signal })
        } catch (error) {
          ctx.log[levelOf(error)]({ err: error, mxedgeId: deviceId }, 'a report of an edge appliance was lost')
        }
      },
    },
    async prepareStop() {
      await Promise.all([closer.stop(), side.prepareStop()])
    },
    async stop() {
      stopping.abort()
      await Promise.all([closer.stop(), side.stop()])
      await recordMxedgeNodeLost(ctx, nodeId)
    },
  }
}

/** Records a report once its appliance is not locked, until the gateway stops: the agent sends the next one after this one. */
async function recordReport(
  ctx: Context,
  key: MxedgeSessionKey,
  { stopping, ...reported }: ReportedMxedge & { readonly stopping: AbortSignal },
): Promise<void> {
  const nextPauseMs = lockedPauses()
  for (let isRepeated = false; !stopping.aborted; isRepeated = true) {
    if (await recordMxedgeReport(ctx, key, { ...reported, isRepeated })) return
    await pause(nextPauseMs(), stopping)
  }
}

/** Does the regular work on the rows of edge appliances. */
export async function sweepAppliances(ctx: Context): Promise<void> {
  await sweepLostMxedges(ctx)
  await sweepMxedgeCommands(ctx)
}

function applianceSessions(
  ctx: Context,
  { nodeId, batchSize }: ApplianceOptions,
): SessionRows<Pick<ApplianceLink, 'identity'>, ApplianceHello> {
  const openings = gatherOpenings<MxedgeOpening>(ctx, {
    name: 'connections of edge appliances',
    batchSize,
    idOf: ({ mxedgeId }) => mxedgeId,
    async record(some, isRepeated) {
      const { opened, lockedIds } = await recordMxedgeConnects(ctx, nodeId, { openings: some, isRepeated })
      return { opened: opened.map(({ mxedgeId, epoch }) => ({ deviceId: mxedgeId, epoch })), lockedIds }
    },
  })
  return {
    open: ({ identity }, hello) => openings.open({ ...identity, ...hello }),
    close: (keys, isRepeated) =>
      recordMxedgeDisconnects(
        ctx,
        keys.map(({ deviceId, epoch }) => ({ mxedgeId: deviceId, epoch })),
        isRepeated,
      ),
    stop: () => openings.stop(),
  }
}

function applianceCommands(
  ctx: Context,
  nodeId: string,
): CommandRows<ApplianceLink, WithImage<MxedgeCommandToSend>, MxedgeCommandToSend> {
  return {
    wake: 'mxedges',
    async claim(limit, _rebooting, requeue) {
      const commands = await recordMxedgeCommandsSent(ctx, nodeId, limit)
      try {
        return await addImages(ctx, commands)
      } catch (error) {
        for (const command of commands) requeue(command)
        throw error
      }
    },
    advance: (advanced, isRepeated) => recordMxedgeProgress(ctx, advanced, isRepeated),
    finish: (finished, isRepeated) => recordMxedgeOutcomes(ctx, finished, isRepeated),
    requeue: (commands, isRepeated) => recordMxedgeCommandsUnsent(ctx, commands, isRepeated),
    listUnanswered: (calls) => listUnansweredCommands(ctx.db, calls),
    send: (link, command) => link.send(command, addressesOf(ctx, command)),
    sentOf: (command) => command,
  }
}

function addressesOf(ctx: Context, command: WithImage<MxedgeCommandToSend>): OrderAddresses {
  const { orgId, id: commandId } = command
  return {
    image: artifactOf(ctx, command, URL_LIFE_MS),
    uploadUri: () => supportUploadUrl(ctx, { orgId, commandId }),
  }
}

/** Closes the links of appliances that another one may replace, that were deleted, or that connected elsewhere. */
async function closeStaleLinks(ctx: Context, links: LinkRegistry<ApplianceLink>): Promise<void> {
  const open = [...links.all()].map(({ deviceId, epoch, identity }) => ({
    mxedgeId: deviceId,
    epoch,
    registrationEpoch: identity.registrationEpoch,
  }))
  for (const part of splitByBytes(open, () => 0, linksOfStatement))
    for (const { mxedgeId, epoch, why } of await listStaleSessions(ctx.db, part)) {
      const link = links.find(mxedgeId)
      if (link?.epoch === epoch) link.close(why)
    }
}
