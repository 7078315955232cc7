import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { uuidv7 } from 'uuidv7'
import { systemScope } from '../../src/access/scope.ts'
import type { MxedgeOrder } from '../../src/mxedges/commands/command.ts'
import { configurationOf, configurationSha256 } from '../../src/mxedges/commands/configuration.ts'
import { type NewMxedgeCommand, insertCommand } from '../../src/mxedges/commands/store.ts'
import { commonNameOf } from '../../src/mxedges/registration/identity.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { documentText } from '../../src/platform/sealing/document-column.ts'
import { hello } from '../edge/world.ts'
import { type GatewayHarness, insertImage } from '../gateway/harness.ts'
import { keySha256Of, openAgentPeer } from './agent-peer.ts'
import type { PeerRows, TestPeer } from './link-suite.ts'

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const made = { name: 'Edge', model: 'ME-VM', doc: {} }
const SEND_WITHIN_MS = 600_000

/** All methods of the agent; it has applied its configuration, so it gets none when it connects. */
export const edgeHello = {
  ...hello,
  methods: [
    ...['service.control', 'port.bounce', 'aps.disconnect', 'configure'],
    ...['stage', 'service.upgrade', 'distro.stage', 'distro.upgrade', 'support'],
  ],
  config_sha256: configurationSha256(configurationOf(made)),
}

/** Edge appliances are known by their ids. */
export const rowsOfEdges: PeerRows<MxedgeOrder> = {
  async add({ ctx, orgId }) {
    const id = randomUUID()
    const at = ctx.clock.now()
    await ctx.db
      .insertInto('mxedge')
      .values({
        ...{
          orgId,
          id,
          name: made.name,
          model: made.model,
          doc: documentText(made.doc),
          createdAt: at,
          modifiedAt: at,
        },
        ...{ siteId: null, mxclusterId: null, mac: null, serial: null, renewalKey: null },
        ...{ registrationCode: id, registeredAt: at, registeredKey: keySha256Of(keys) },
      })
      .execute()
    return id
  },
  newName: randomUUID,
  async session({ ctx }, id) {
    const session = ctx.db.selectFrom('mxedgeSession').selectAll().where('mxedgeId', '=', id).executeTakeFirst()
    const found = await session
    return found && { epoch: found.epoch, connected: found.connected, recorded: found.facts }
  },
  async queue({ ctx, orgId }, mxedgeId, order) {
    const id = uuidv7()
    const createdAt = ctx.clock.now()
    const expiresAt = new Date(createdAt.getTime() + SEND_WITHIN_MS)
    if ('image_id' in order.params) await insertImage(ctx, orgId, order.params.image_id)
    const command: NewMxedgeCommand = { ...order, id, mxedgeId, createdAt, expiresAt }
    await inTx(ctx, (tx) => insertCommand(tx, systemScope('gateway', orgId), command))
    return id
  },
  command: ({ ctx }, id) =>
    ctx.db.selectFrom('mxedgeCommand').select(['state', 'outcome']).where('id', '=', id).executeTakeFirstOrThrow(),
  async countDowns({ ctx }, id) {
    const events = ctx.db.selectFrom('mxedgeEvent').select('type').where('mxedgeId', '=', id).execute()
    return (await events).filter(({ type }) => type === 'ME_DISCONNECTED').length
  },
}

interface Target {
  readonly port: number
  /** The id of the appliance. */
  readonly name: string
  readonly harness: GatewayHarness
}

/** Opens the connection of the agent of an edge appliance. */
export function openEdgePeer({ name, ...target }: Target): Promise<TestPeer> {
  const commonName = commonNameOf({ mxedgeId: name, registrationEpoch: 1 })
  return openAgentPeer({ ...target, commonName, keys, greeting: edgeHello })
}
