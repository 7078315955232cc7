import { generateKeyPairSync } from 'node:crypto'
import { systemScope } from '../../src/access/scope.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { routerNameOf } from '../../src/devices/routers/identity.ts'
import { insertRouterKey } from '../../src/devices/routers/store.ts'
import { inTx } from '../../src/platform/database/db.ts'
import { routerHello } from '../edge/routers.ts'
import type { GatewayHarness } from '../gateway/harness.ts'
import { type AgentPeer, keySha256Of, openAgentPeer } from './agent-peer.ts'

interface Target {
  readonly port: number
  readonly mac: string
  readonly harness: GatewayHarness
  /** The params of its hello; by default those of an agent without open commands. */
  readonly greeting?: object
}

const keys = generateKeyPairSync('ec', { namedCurve: 'P-256' })

/** Opens the connection of a router's agent; a claimed device registers first. */
export async function openRouterPeer({ mac, greeting = routerHello(mac), ...target }: Target): Promise<AgentPeer> {
  await ensureRegistered(target.harness, mac)
  return openAgentPeer({ ...target, commonName: routerNameOf(mac), keys, greeting })
}

async function ensureRegistered({ ctx, orgId }: GatewayHarness, own: string): Promise<void> {
  const deviceId = deviceIdOf(own)
  const isRegistered = await ctx.db.selectFrom('routerKey').select('orgId').where('deviceId', '=', deviceId).execute()
  const isClaimed = await ctx.db.selectFrom('device').select('orgId').where('id', '=', deviceId).execute()
  if (isRegistered.length > 0 || isClaimed.length === 0) return
  const key = { deviceId, keySha256: keySha256Of(keys), at: ctx.clock.now() }
  await inTx(ctx, (tx) => insertRouterKey(tx, systemScope('gateway', orgId), key))
}
