import { onTestFinished } from 'vitest'
import { callHomeSecretOf } from '../../src/devices/call-home/secret.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import { type XmlElement, childOf } from '../../src/gateway/netconf/xml.ts'
import { answerRpc, rpcError } from '../../src/simulator/junos/answer-rpc.ts'
import { callHome } from '../../src/simulator/junos/call-home.ts'
import { type JunosDevice, createJunosDevice } from '../../src/simulator/junos/junos-device.ts'
import type { GatewayHarness } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import type { TestCall, TestPeer } from './link-suite.ts'

export interface JunosPeerTarget {
  readonly port: number
  readonly mac: string
  readonly harness: GatewayHarness
  readonly hostKey: string
}

/** The requests that execute a command; the device answers the others, which only read, by itself. */
const acting: ReadonlySet<string> = new Set([
  'request-reboot',
  'file-copy',
  'request-package-add',
  'request-package-rollback',
  'request-snapshot',
])

/** Opens the connection of a Junos device that lets the test answer the request that matters. */
export async function openJunosPeer({ port, mac, harness, hostKey }: JunosPeerTarget): Promise<TestPeer> {
  const { ctx, orgId } = harness
  const device = createJunosDevice({ mac, model: 'ex4100-48p', nowMs: ctx.clock.now().getTime() })
  const calls: TestCall[] = []
  const greeting = Promise.withResolvers<void>()
  const asked = Promise.withResolvers<void>()
  let isActivating = false

  async function onRpc(rpc: XmlElement): Promise<string | null> {
    asked.resolve()
    await greeting.promise
    await keepImage(harness, device, rpc)
    const follows = rpc.name === 'request-reboot' && isActivating
    if (!acting.has(rpc.name) || follows) {
      // The test requires each command to have the same effect again, so the installation is undone.
      if (follows) for (const chassis of device.chassis) chassis.pending = null
      const options = { nowMs: ctx.clock.now().getTime(), download: () => Promise.reject(new Error('unused')) }
      return (await answerRpc(device, rpc, options)).body
    }
    isActivating = rpc.name === 'request-package-add'
    return new Promise((resolve) => {
      calls.push({
        id: calls.length,
        text: JSON.stringify(rpc),
        accept() {
          for (const chassis of device.chassis) if (isActivating) chassis.pending = '2.0.0'
          resolve('<output>done</output><package-result>0</package-result>')
        },
        refuse: (reason) => resolve(rpcError(reason)),
      })
    })
  }

  const call = callHome({
    host: '127.0.0.1',
    port,
    hostKey,
    outboundSsh: { deviceId: orgId, secret: callHomeSecretOf(ctx, { orgId, generation: 0 }) },
    onRpc,
  })
  onTestFinished(() => call.end())
  await asked.promise
  return {
    closed: call.closed,
    hello: () => greeting.resolve(),
    nextCall: () => waitUntil('a request from the gateway', () => calls.shift() ?? null),
    adopt() {
      throw new Error('a reply belongs to its connection')
    },
    drop: () => call.end(),
  }
}

/** The device of `activate` has the image; that of `stage` gets it when it copies the file. */
async function keepImage({ ctx }: GatewayHarness, device: JunosDevice, rpc: XmlElement): Promise<void> {
  const path = (childOf(rpc, 'path') ?? childOf(rpc, 'destination'))?.text
  const [, prefix] = /signalbox-([0-9a-f]{16})/.exec(path ?? '') ?? []
  if (path === undefined || prefix === undefined) return
  const command = await ctx.db
    .selectFrom('deviceCommand')
    .select(['kind', 'id'])
    .where('deviceId', '=', deviceIdOf(device.mac))
    .where('state', '=', 'sent')
    .executeTakeFirstOrThrow()
  if (command.id !== device.journal.at(-1)) device.files.clear()
  device.journal.push(command.id)
  if (rpc.name !== 'file-copy' && command.kind !== 'activate') return
  const images = await ctx.db.selectFrom('firmwareImage').select('sha256').execute()
  const image = images.find(({ sha256 }) => sha256.startsWith(prefix))
  if (image !== undefined) device.files.set(path, image.sha256)
}
