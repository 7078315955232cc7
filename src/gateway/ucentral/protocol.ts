import { X509Certificate } from 'node:crypto'
import {
  type ConnectionPolicy,
  createConnectionGate,
  defaultConnections,
} from '../../platform/queues/connection-gate.ts'
import type { GatewayTls } from '../certificates/device-ca.ts'
import type { LinkHost, Listener, Protocol } from '../protocol.ts'
import { FAMILY } from './driver.ts'
import { type UcentralLimits, defaultLimits } from './limits.ts'
import { parseMac } from '../../devices/device.ts'
import { startWebSocketServer } from '../websockets/websocket-server.ts'
import { createSessions } from './sessions.ts'

export interface UcentralOptions {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly tls: GatewayTls
  readonly connections?: ConnectionPolicy
  readonly limits?: Partial<UcentralLimits>
}

/** TIP uCentral: access points and OLS switches. Source: wlan-cloud-ucentralgw PROTOCOL.md, and both clients' sources. */
export function ucentral(options: UcentralOptions): Protocol {
  return { family: FAMILY, listen: (host) => listen(host, options) }
}

async function listen(
  host: LinkHost,
  { limits: changed, connections, ...address }: UcentralOptions,
): Promise<Listener> {
  const limits: UcentralLimits = { ...defaultLimits, ...changed }
  const gatewayName = new X509Certificate(address.tls.cert).toLegacyObject().subject.CN
  const sessions = createSessions(host, { limits, gatewayName: String(gatewayName) })
  const server = await startWebSocketServer({
    ...address,
    gate: createConnectionGate(connections ?? defaultConnections, host.ctx.log),
    admission: limits.admission,
    now: host.monotonicMs,
    times: limits,
    identify: parseMac,
    mayOpen: (mac) => sessions.mayOpen(mac),
    onSession: (socket, peer) => sessions.open(socket, peer),
    onRefused(why, from) {
      host.counters.add(`refused_${why}`)
      host.refusals.add({ protocol: 'ucentral', why, address: from })
      host.ctx.log.debug({ why, address: from }, 'refused a connection')
    },
  })
  return {
    port: server.port,
    look() {
      server.dropLate()
      return sessions.look()
    },
    close() {
      sessions.close()
      return server.close()
    },
  }
}
