import { parentPort, workerData } from 'node:worker_threads'
import { createProtocols } from '../../gateway/protocols.ts'
import { startGateway } from '../../gateway/start-gateway.ts'
import { monotonicMs } from '../../platform/time/clock.ts'
import { createLog } from '../../platform/log.ts'
import { createSecrets, loadMasterKey } from '../../platform/secrets.ts'
import { createFollowingClock } from '../../platform/time/service-clock.ts'
import { type FromGateway, type GatewayThreadData, type ToGateway, wakeMessage } from './gateway-messages.ts'
import { openContext } from '../open-context.ts'

// The program of the gateway's thread; start-gateway-thread.ts starts it. An unhandled error ends it.

if (parentPort === null) throw new Error('The gateway runs in a thread of the server')
const port = parentPort
const data = workerData as GatewayThreadData // start-gateway-thread.ts passes it.

function send(message: FromGateway): void {
  port.postMessage(message)
}

const serviceClock = createFollowingClock(data.time, monotonicMs)
const context = await openContext({
  connection: data.connection,
  log: createLog(data.logLevel, { write: (line) => send({ kind: 'log', line }) }),
  secrets: createSecrets(await loadMasterKey(data.dataDir)),
  baseUrl: data.baseUrl,
  serviceClock,
})
const wakes = context.ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
const gateway = await startGateway(context.ctx, {
  protocols: createProtocols(data.protocols),
  nodeId: data.nodeId,
  localCertificates: data.localCertificates,
  ...(data.limits && { limits: data.limits }),
})

let sentLinkCount = 0

function sendLinkCount(): void {
  const count = gateway.countLinks()
  if (count !== sentLinkCount) send({ kind: 'links', count })
  sentLinkCount = count
}

async function stop(): Promise<void> {
  await gateway.stop()
  await context.close()
  // No work is left; a handle that is still open must not keep the thread alive.
  process.exit()
}

port.on('message', (message: ToGateway) => {
  switch (message.kind) {
    case 'wake':
      return wakes.receive(message.name, message.ids, message.rows)
    case 'list-refusals':
      return send({ kind: 'refusals', question: message.question, refusals: gateway.refusals.list() })
    case 'time':
      serviceClock.follow(message.reading)
      return sendLinkCount()
    case 'stop':
      return void stop()
  }
})
send({
  kind: 'listening',
  wakes: context.ctx.wakes.listened(),
  ports: {
    ucentralPort: gateway.portOf('ucentral'),
    edgePort: gateway.portOf('edge'),
    netconfPort: data.protocols.netconf ? gateway.portOf('junos') : null,
  },
})
