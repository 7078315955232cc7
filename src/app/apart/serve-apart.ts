import { createRunApart } from '../../http/apart/run-apart.ts'
import { lowerBackend } from '../../platform/embedded-postgres/lower-backend.ts'
import { createLog } from '../../platform/log.ts'
import { createSecrets, loadMasterKey } from '../../platform/secrets.ts'
import { monotonicMs } from '../../platform/time/clock.ts'
import { createFollowingClock } from '../../platform/time/service-clock.ts'
import type { ApartStart, FromApart, RequestApart, ToApart } from './apart-messages.ts'
import { apartOperations } from './apart-operations.ts'
import { wakeMessage } from '../gateway/gateway-messages.ts'
import { openContext } from '../open-context.ts'

/** A request that waits longer for a lock leaves its place to others, and begins again later. */
const LOCK_WAIT_MS = 100

interface Serving {
  readonly answer: (message: RequestApart) => Promise<void>
  readonly stop: () => Promise<void>
}

/** Answers the requests that the server sends to this process. An unhandled error ends it. */
export function serveApart(): void {
  let serving: Promise<Serving> | undefined
  process.on('message', (message: ToApart) => {
    if (message.kind === 'start') serving = startServing(message)
    else if (message.kind === 'request') void serving?.then(({ answer }) => answer(message))
    else void serving?.then(({ stop }) => stop())
  })
  // The server has ended.
  process.once('disconnect', () => process.exit())
}

async function startServing({ data }: ApartStart): Promise<Serving> {
  const serviceClock = createFollowingClock(data.time, monotonicMs)
  const context = await openContext({
    connection: { ...data.connection, lock_timeout: LOCK_WAIT_MS },
    log: createLog(data.logLevel, { write: (line) => send({ kind: 'log', line }) }),
    secrets: createSecrets(await loadMasterKey(data.dataDir)),
    limits: data.limits,
    baseUrl: data.baseUrl,
    serviceClock,
    ...(data.lowersBackends && { lowerBackend }),
  })
  const { ctx } = context
  ctx.wakes.connect((...wake) => send(wakeMessage(...wake)))
  const run = createRunApart(ctx, apartOperations(ctx), { cpuMs: processCpuMs })
  return {
    async answer({ id, request, time }) {
      serviceClock.follow(time)
      send({ kind: 'end', id, end: await run(request) })
    },
    async stop() {
      await context.close()
      // No work is left; a handle that is still open must not keep the process alive.
      process.exit()
    },
  }
}

function send(message: FromApart): void {
  process.send?.(message)
}

/** Milliseconds of processor time that this process has used, its collections of garbage included. */
function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
