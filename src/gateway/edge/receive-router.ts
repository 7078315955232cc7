import { isIP } from 'node:net'
import { routerNameOf } from '../../devices/routers/identity.ts'
import { renewRouterCertificate } from '../../devices/routers/renew-certificate.ts'
import { isKeyOf, listRouterKeys } from '../../devices/routers/store.ts'
import type { DeviceFacts } from '../../devices/device.ts'
import { closeCodes } from '../websockets/close-codes.ts'
import type { DeviceCall } from '../websockets/frame-session.ts'
import type { LinkHost } from '../protocol.ts'
import { errorCodes } from './messages.ts'
import { type Receivers, dropMessage } from './receive.ts'
import { type EdgeHost, welcome } from './renew.ts'
import { routerDriver } from './router-driver.ts'
import { type RouterHello, type RouterReport, isRouterHello, isRouterReport } from './router-messages.ts'
import type { RouterSession } from './router-session.ts'

export const routerReceivers: Receivers<RouterSession> = {
  onHello,
  onReport,
  onProgress: (host, session, { callId, step }) => host.onProgress(session, callId, step),
  async admitKey({ ctx }, { mac, deviceId, keySha256: present, epoch }, keySha256) {
    const isAdmitted = await renewRouterCertificate(ctx, { deviceId, keySha256: present, epoch }, keySha256)
    return isAdmitted ? routerNameOf(mac) : null
  },
}

async function onHello(host: EdgeHost, session: RouterSession, { id, params }: DeviceCall): Promise<void> {
  if (id === null || !isRouterHello(params)) {
    dropMessage(host, session, { what: 'invalid_message', detail: 'hello' })
    session.refuse(id, { code: errorCodes.invalidParams, message: 'The params are not those of hello' })
    return session.closeWith(closeCodes.policy, "hello can't be understood")
  }
  if (params.mac !== session.mac) {
    dropMessage(host, session, { what: 'wrong_serial', detail: params.mac })
    return session.closeWith(closeCodes.policy, 'hello must name the MAC of the certificate')
  }
  const [key] = await listRouterKeys(host.ctx.db, [session.deviceId])
  session.orgId = key?.orgId ?? null
  const isRegistered = key !== undefined && isKeyOf(key, session.routerKey)
  const result = isRegistered ? await host.connect(session, factsOf(params, session.address)) : 'refused'
  if (result === 'replaced') return
  if (result === 'refused') {
    host.counters.add('refused_identity')
    host.refusals.add({ protocol: 'edge', why: 'identity', address: session.address, mac: session.mac })
    return session.close('unregistered')
  }
  if (params.commands !== undefined) host.onIdle(session, params.commands)
  welcome(host, session, id)
  await report(host, session, params.report, { isOfHello: true })
}

async function onReport(host: LinkHost, session: RouterSession, { id, params }: DeviceCall): Promise<void> {
  if (isRouterReport(params)) return report(host, session, params, { isOfHello: false })
  dropMessage(host, session, { what: 'invalid_message', detail: 'report' })
  session.refuse(id, { code: errorCodes.invalidParams, message: 'The params are not those of report' })
}

/** Copies only the known members: any others are unbounded and would be stored. */
function factsOf(hello: RouterHello, address: string | null): DeviceFacts {
  const { version, model, serial, boot_id } = hello
  return {
    firmware: version,
    model: model.toUpperCase(),
    type: 'gateway',
    serial,
    capabilities: routerDriver.capabilitiesOf(hello),
    members: null,
    reason: null,
    boot_id,
    ext_ip: address,
  }
}

async function report(
  host: LinkHost,
  { deviceId, epoch }: RouterSession,
  { uptime_s: uptimeS, cpu_percent: cpu, memory, addresses }: RouterReport,
  { isOfHello }: { readonly isOfHello: boolean },
): Promise<void> {
  await host.report({
    deviceId,
    epoch,
    // A boot is never later than it can be.
    uptimeS: Math.floor(uptimeS),
    isOfHello,
    boot: null,
    firmware: null,
    load: {
      ...(cpu !== null && { cpu_percent: cpu }),
      ...(memory !== null && { memory_total: memory.total, memory_free: memory.free }),
      // It lists all of them, so that a router without any loses the one that it had.
      ip: addresses.find((address) => isIP(address) !== 0) ?? null,
    },
    telemetry: null,
  })
}
