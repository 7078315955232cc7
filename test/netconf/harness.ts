import { onTestFinished } from 'vitest'
import { callHomeSecretOf } from '../../src/devices/call-home/secret.ts'
import { sshUserKey } from '../../src/devices/call-home/ssh-user.ts'
import { deviceIdOf } from '../../src/devices/device.ts'
import type { NetconfLimits } from '../../src/gateway/netconf/limits.ts'
import { netconf } from '../../src/gateway/netconf/protocol.ts'
import type { Context } from '../../src/platform/context.ts'
import { generateHostKey } from '../../src/simulator/junos/host-key.ts'
import { type JunosDeviceOptions, createJunosDevice } from '../../src/simulator/junos/junos-device.ts'
import {
  type SimulatedJunos,
  type SimulatedJunosOptions,
  startSimulatedJunos,
} from '../../src/simulator/junos/simulated-junos.ts'
import { type GatewayHarness, newMac } from '../gateway/harness.ts'
import { waitUntil } from '../support/wait-until.ts'

/** Returns the protocol with a free port. */
export function testNetconf(ctx: Context, limits: Partial<NetconfLimits> = {}) {
  const { privateKey } = sshUserKey(ctx.secrets)
  return netconf({ host: '127.0.0.1', port: 0, privateKey, limits: { lookMs: 1, ...limits } })
}

/** Returns a host key in the format of OpenSSH. */
export function newHostKey(): string {
  return generateHostKey().private
}

export interface TestJunos extends SimulatedJunos {
  readonly mac: string
}

export interface JunosStart extends Partial<Omit<JunosDeviceOptions, 'nowMs'>> {
  readonly port: number
  readonly ctx: Context
  readonly orgId: string
  readonly hostKey?: string
  readonly call?: Partial<SimulatedJunosOptions>
}

/** Starts a device of the organization that calls home until the test ends. */
export function startJunos({ port, ctx, orgId, hostKey = newHostKey(), call = {}, ...device }: JunosStart): TestJunos {
  const { mac = newMac(), model = 'ex4100-48p' } = device
  const now = (): number => ctx.clock.now().getTime()
  const running = startSimulatedJunos({
    device: createJunosDevice({ ...device, mac, model, nowMs: now() }),
    host: '127.0.0.1',
    port,
    hostKey,
    outboundSsh: { deviceId: orgId, secret: callHomeSecretOf(ctx, { orgId, generation: 0 }) },
    authorizedKey: sshUserKey(ctx.secrets).publicKey,
    bootMs: 5,
    retryMs: 20,
    now,
    ...call,
  })
  onTestFinished(() => running.stop())
  return { ...running, mac }
}

/** Resolves with the session of the device once it has one after the epoch. */
export function untilSession(harness: Pick<GatewayHarness, 'ctx'>, mac: string, after = '0') {
  return waitUntil('the session', async () => {
    const row = await harness.ctx.db
      .selectFrom('deviceSession')
      .selectAll()
      .where('deviceId', '=', deviceIdOf(mac))
      .executeTakeFirst()
    return row?.connected === true && BigInt(row.epoch) > BigInt(after) ? row : null
  })
}
