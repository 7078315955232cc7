import { parentPort, workerData } from 'node:worker_threads'
import { createRunApart } from '../http/apart/run-apart.ts'
import type { ApartEnd } from '../http/apart/messages.ts'
import { threadCpuMs } from '../http/turns/thread-share.ts'
import { lowerBackend } from '../platform/embedded-postgres/lower-backend.ts'
import { createLog } from '../platform/log.ts'
import { createSecrets, loadMasterKey } from '../platform/secrets.ts'
import { monotonicMs } from '../platform/time/clock.ts'
import { createFollowingClock } from '../platform/time/service-clock.ts'
import type { ApartThreadData, FromApart, ToApart } from './apart-messages.ts'
import { apartOperations } from './apart-operations.ts'
import { wakeMessage } from './gateway-messages.ts'
import { openContext } from './open-context.ts'

// Answers expensive requests in their own thread, which apart-thread.ts begins. An unhandled error ends it.

if (parentPort === null) throw new Error('Expensive requests run in a thread of the server')
const port = parentPort
const data = workerData as ApartThreadData // start-apart-thread.ts passes it.

function send(message: FromApart, transfer: readonly ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

const serviceClock = createFollowingClock(data.time, monotonicMs)
const context = await openContext({
  connection: data.connection,
  log: createLog(data.logLevel, { write: (line) => send({ kind: 'log', line }) }),
  secrets: createSecrets(await loadMasterKey(data.dataDir)),
  limits: data.limits,
  baseUrl: data.baseUrl,
  serviceClock,
  ...(data.lowersBackends && { lowerBackend }),
})
const { ctx } = context
ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
const run = createRunApart(ctx, apartOperations(ctx), { cpuMs: threadCpuMs })

/** Long answers are buffers of their own, which can pass to the other thread without a copy. */
function transferableOf(end: ApartEnd): ArrayBuffer[] {
  if (!('answer' in end) || typeof end.answer.text === 'string') return []
  const { buffer, byteLength } = end.answer.text
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : []
}

async function stop(): Promise<void> {
  await context.close()
  // No work is left; a handle that is still open must not keep the thread alive.
  process.exit()
}

port.on('message', (message: ToApart) => {
  if (message.kind === 'stop') return void stop()
  const { id, request, time } = message
  serviceClock.follow(time)
  void run(request).then((end) => send({ kind: 'end', id, end }, transferableOf(end)))
})
