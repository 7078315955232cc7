import { randomUUID } from 'node:crypto'
import type { CommandOutcome } from '../../../../src/devices/commands/command.ts'
import {
  recordMxedgeCommandsSent,
  recordMxedgeOutcomes,
  sweepMxedgeCommands,
} from '../../../../src/mxedges/commands/record-commands.ts'
import type { MxedgeCommandToSend } from '../../../../src/mxedges/commands/store.ts'
import type { MxedgeReport } from '../../../../src/mxedges/sessions/facts.ts'
import { recordMxedgeConnects } from '../../../../src/mxedges/sessions/record-connect.ts'
import { recordMxedgeDisconnects, recordMxedgeNodeLost } from '../../../../src/mxedges/sessions/record-disconnect.ts'
import { recordMxedgeReport } from '../../../../src/mxedges/sessions/record-report.ts'
import { addBox, running } from '../../../edge/upgrades/upgrade-world.ts'
import { hello } from '../../../edge/world.ts'
import type { TestOrg, TestServer } from '../../../support/servers/server.ts'

/** What an agent does with a command. */
export type ApplianceReply =
  | 'obeys'
  | 'refuses'
  | 'refuses_for_good'
  /** It reports success, and has installed nothing. */
  | 'lies'
  /** Its answer is lost with its connection, and is repeated over the next one. */
  | 'loses_answer'
  /** Its connection breaks first, and it executes the command once it is back. */
  | 'executes_later'
  /** Its state is lost with its connection. */
  | 'forgets'

interface Entry {
  readonly command: MxedgeCommandToSend
  /** Null: not executed yet. */
  answer: CommandOutcome | null
}

/** An appliance as it is, whatever the service knows of it. */
export interface SimulatedAppliance {
  readonly id: string
  version: string
  /** The epoch of its session; null: it is offline. */
  epoch: string | null
  /** The commands whose answers the gateway has not got. */
  book: Entry[]
}

export interface SimulatedAppliances {
  readonly all: readonly SimulatedAppliance[]
  /** By upgrade, appliance, run and version: how often the appliance has installed it. */
  readonly installs: ReadonlyMap<string, number>
  connect(appliance: SimulatedAppliance): Promise<void>
  disconnect(appliance: SimulatedAppliance): Promise<void>
  /** The server dies and starts again; those that are online come back. */
  restart(): Promise<void>
  /** Delivers the queued commands. */
  answer(replyOf: (appliance: SimulatedAppliance) => ApplianceReply): Promise<void>
}

const methods = ['service.upgrade', 'stage']
const NO_SPACE = { kind: 'rejected', code: '1', text: 'No space' } as const
const DONE = { kind: 'done', text: null } as const

/** Simulates registered appliances of an organization with tunterm 1.0.0; every other one downloads before it installs. */
export async function simulateAppliances(
  server: TestServer,
  { org, bodies }: { readonly org: TestOrg; readonly bodies: readonly object[] },
): Promise<SimulatedAppliances> {
  const { ctx } = server
  const nodeId = randomUUID()
  const all: SimulatedAppliance[] = []
  for (const body of bodies)
    all.push({ id: await addBox(server, { body, org }), version: '1.0.0', epoch: null, book: [] })
  const installs = new Map<string, number>()

  async function install(appliance: SimulatedAppliance, { id, params }: MxedgeCommandToSend): Promise<void> {
    if (!('version' in params) || params.version === appliance.version) return
    const found = await ctx.db
      .selectFrom('mxedgeCommand as command')
      .innerJoin('mxedgeUpgradeTarget as target', (join) =>
        join.onRef('target.upgradeId', '=', 'command.upgradeId').onRef('target.mxedgeId', '=', 'command.mxedgeId'),
      )
      .select(['target.upgradeId', 'target.mxedgeId', 'target.runs'])
      .where('command.id', '=', id)
      .executeTakeFirst()
    const key = JSON.stringify([found?.upgradeId, appliance.id, found?.runs.length, params.version])
    installs.set(key, (installs.get(key) ?? 0) + 1)
    appliance.version = params.version
  }

  async function execute(appliance: SimulatedAppliance, entry: Entry, reply: ApplianceReply): Promise<void> {
    if (reply === 'refuses' || reply === 'refuses_for_good')
      entry.answer = { ...NO_SPACE, final: reply === 'refuses_for_good' }
    else {
      if (reply !== 'lies' && entry.command.kind === 'upgrade_service') await install(appliance, entry.command)
      entry.answer = DONE
    }
  }

  /** An agent reports its services before it answers. */
  async function deliver(appliance: SimulatedAppliance): Promise<void> {
    const { id: mxedgeId, epoch, version, book } = appliance
    if (epoch === null) return
    const report = running(version) as MxedgeReport
    await recordMxedgeReport(ctx, { mxedgeId, epoch }, { report, isRepeated: false })
    const ended = book.flatMap(({ command: { orgId, id, callId }, answer: outcome }) =>
      outcome === null ? [] : [{ orgId, id, callId, outcome }],
    )
    await recordMxedgeOutcomes(ctx, ended, false)
    appliance.book = book.filter(({ answer }) => answer === null)
  }

  async function connect(appliance: SimulatedAppliance): Promise<void> {
    const { id: mxedgeId, book, version } = appliance
    for (const entry of book) if (entry.answer === null) await execute(appliance, entry, 'obeys')
    const { report: _, ...said } = hello
    const commands = book.map(({ command }) => command.id)
    const opening = {
      ...{
        mxedgeId,
        registrationEpoch: 1,
        keySha256: mxedgeId.replaceAll('-', ''),
        report: running(version) as MxedgeReport,
      },
      facts: {
        ...said,
        methods: all.indexOf(appliance) % 2 === 0 ? methods : ['service.upgrade'],
        ext_ip: null,
        commands,
      },
      certificateExpiresAt: new Date('2046-01-01T00:00:00Z'),
    }
    const { opened } = await recordMxedgeConnects(ctx, nodeId, { openings: [opening], isRepeated: false })
    // None for an appliance that was deleted.
    appliance.epoch = opened[0]?.epoch ?? null
    await deliver(appliance)
  }

  async function disconnect(appliance: SimulatedAppliance): Promise<void> {
    const { id: mxedgeId, epoch } = appliance
    appliance.epoch = null
    if (epoch !== null) await recordMxedgeDisconnects(ctx, [{ mxedgeId, epoch }], false)
  }

  async function receive(appliance: SimulatedAppliance, command: MxedgeCommandToSend, reply: ApplianceReply) {
    const entry: Entry = { command, answer: null }
    appliance.book.push(entry)
    if (reply !== 'executes_later' && reply !== 'forgets') await execute(appliance, entry, reply)
    if (reply === 'forgets') appliance.book = []
    const isLost = reply === 'loses_answer' || reply === 'executes_later' || reply === 'forgets'
    await (isLost ? disconnect(appliance) : deliver(appliance))
  }

  for (const appliance of all) await connect(appliance)
  return {
    all,
    installs,
    connect,
    disconnect,
    async restart() {
      await recordMxedgeNodeLost(ctx, nodeId)
      for (const appliance of all) if (appliance.epoch !== null) await connect(appliance)
    },
    async answer(replyOf) {
      await sweepMxedgeCommands(ctx)
      for (const command of await recordMxedgeCommandsSent(ctx, nodeId, 100)) {
        const appliance = all.find(({ id }) => id === command.deviceId)
        if (appliance !== undefined) await receive(appliance, command, replyOf(appliance))
      }
    },
  }
}
