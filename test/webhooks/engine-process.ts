/** The webhook engine as a process of its own, for tests that kill it. Connection and key come as JSON in the environment. */
import { uuidv7 } from 'uuidv7'
import { pino } from 'pino'
import { systemClock } from '../../src/platform/clock.ts'
import type { Context } from '../../src/platform/context.ts'
import { openDb, openPool } from '../../src/platform/db.ts'
import { createOutboundHttp } from '../../src/platform/outbound-http.ts'
import { createSecrets } from '../../src/platform/secrets.ts'
import { createServiceClock } from '../../src/platform/service-clock.ts'
import { createWakes } from '../../src/platform/wakes.ts'
import { startWebhookWorkers } from '../../src/webhooks/workers.ts'

const { connection, key } = JSON.parse(process.env['ENGINE'] ?? '{}')
const log = pino({ level: 'error', name: uuidv7() }, pino.destination(2))
const db = openDb(openPool({ ...connection, max: 4 }, () => {}))
const ctx: Context = {
  db,
  hotDb: db,
  clock: systemClock,
  serviceClock: createServiceClock(0, () => performance.now()),
  wakes: createWakes(),
  log,
  secrets: createSecrets(Buffer.from(key, 'hex')),
  baseUrl: '',
}
await startWebhookWorkers(ctx, { outbound: createOutboundHttp({ allowCidrs: [], allowLoopback: true }) })
process.stdout.write('started\n')
