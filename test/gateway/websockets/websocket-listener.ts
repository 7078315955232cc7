import { pino } from 'pino'
import { type ClientOptions, WebSocket } from 'ws'
import { issueDeviceCertificate, issueGatewayTls, makeCa } from '../../../src/gateway/certificates/device-ca.ts'
import { defaultLimits } from '../../../src/gateway/ucentral/limits.ts'
import {
  type WebSocketListener,
  type WebSocketServerOptions,
  startWebSocketServer,
} from '../../../src/gateway/websockets/websocket-server.ts'
import { createConnectionGate, defaultConnections } from '../../../src/platform/queues/connection-gate.ts'

export interface TestListener extends WebSocketListener {
  /** Connects a device. @param port Default: that of the listener. */
  connect(port?: number, options?: ClientOptions): WebSocket
}

/** Starts a listener without a gateway; the test closes it. */
export async function startTestListener(
  options: Pick<WebSocketServerOptions<string>, 'onSession'> & Partial<WebSocketServerOptions<string>>,
): Promise<TestListener> {
  const ca = await makeCa()
  const server = await startWebSocketServer<string>({
    host: '127.0.0.1',
    port: 0,
    tls: await issueGatewayTls(ca, ['127.0.0.1']),
    gate: createConnectionGate(defaultConnections, pino({ level: 'silent' })),
    admission: defaultLimits.admission,
    now: () => performance.now(),
    times: defaultLimits,
    identify: (name) => name,
    mayOpen: () => true,
    onRefused: () => {},
    ...options,
  })
  const { certificatePem: cert, keyPem: key } = await issueDeviceCertificate(ca, '020000000001')
  return {
    ...server,
    connect: (port = server.port, rest = {}) =>
      new WebSocket(`wss://127.0.0.1:${port}/`, { ca: ca.certificatePem, cert, key, ...rest }),
  }
}
